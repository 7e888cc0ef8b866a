/* Writes and matches the names of cells, and the short names of cases. */
#include "cli/sweep/variant_spec.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/base/text.h"

void cell_name(const char *key, const char *variant, char out[CELL_NAME_MAX]) {
  snprintf(out, CELL_NAME_MAX, "%s/%s", key, variant);
}

bool cell_name_matches(const char *glob, const char *key, const char *variant) {
  char name[CELL_NAME_MAX];
  cell_name(key, variant, name);
  return fnmatch(glob, name, 0) == 0;
}

void cell_name_short_case(const char *key, char *out, size_t size) {
  uint32_t b, heads, kv_heads, queries, keys, d;
  int used = 0;
  snprintf(out, size, "%s", key);
  if (sscanf(key, "B%" SCNu32 ".H%" SCNu32 ".Hkv%" SCNu32 ".Sq%" SCNu32 ".Skv%" SCNu32 ".D%" SCNu32 "%n", &b, &heads,
             &kv_heads, &queries, &keys, &d, &used) != 6)
    return;
  snprintf(out, size, "%" PRIu32 ",%" PRIu32, b, heads);
  if (kv_heads != heads) text_append(out, size, "/%" PRIu32, kv_heads);
  text_append(out, size, ",");
  if (queries != keys) text_append(out, size, "%" PRIu32 "x", queries);
  text_append(out, size, "%" PRIu32 ",%" PRIu32, keys, d);
  /* A dot before a digit is one of a number. */
  for (const char *at = key + used; *at != '\0'; ++at)
    text_append(out, size, "%c", at[0] == '.' && !(at[1] >= '0' && at[1] <= '9') ? ' ' : at[0]);
}
