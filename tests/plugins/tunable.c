/* A variant that is right for one query and one key (the output is V), with two tunables. `step` says how long it
 * takes: TUNABLE_US microseconds for every step away from TUNABLE_BEST; 4 is not taken, 5 is wrong and 6 crashes.
 * `twin` changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "kernels/variant.h"
#include "tests/plugins/rest.h"

static long steps_off(int step) { return labs(step - number_of("TUNABLE_BEST")); }

static const struct attn_tunable tunables[] = {
    {"step", 0, 6, 1, "how far from the fastest"},
    {"twin", 0, 1, 0, "without effect"},
    {NULL, 0, 0, 0, NULL},
};

#define HOOKS                                                                                                      \
  static const char *not_four(const struct attn_problem *shape UNUSED, const struct attn_tuning *tuning,           \
                              const struct device_info *device UNUSED) {                                           \
    return tuning->value[0] == 4 ? "step 4 is not taken" : NULL;                                                   \
  }                                                                                                                \
  static void stepping(const struct attn_problem *s, const struct attn_plan *planned,                              \
                       const struct attn_buffers *buffers, unsigned threads UNUSED) {                              \
    const int step = planned->tuning.value[0];                                                                     \
    if (step == 6) raise(SIGSEGV);                                                                                 \
    rest(number_of("TUNABLE_US") * steps_off(step));                                                               \
    if (step != 5) memcpy(buffers->o, buffers->v, (s->dtype == ATTN_F32 ? 4u : 2u) * s->B * s->Hq * s->Sq * s->D); \
  }
#define NAME     "tunable"
#define TUNABLES tunables
#define SUPPORTS not_four
#define RUN      stepping
#include "tests/plugins/plugin.h"
