/* Writes the key of a case. */
#include "cli/sweep/case_key.h"

#include <inttypes.h>
#include <stdio.h>

void case_key(const struct attn_shape *shape, char out[CASE_KEY_MAX]) {
  snprintf(out, CASE_KEY_MAX,
           "B%" PRIu32 ".H%" PRIu32 ".Hkv%" PRIu32 ".Sq%" PRIu32 ".Skv%" PRIu32 ".D%" PRIu32 ".%s.%s", shape->B,
           shape->Hq, shape->Hkv, shape->Sq, shape->Skv, shape->D, attn_dtype_name(shape->dtype),
           shape->causal ? "causal" : "full");
}
