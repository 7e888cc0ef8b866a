/* A workspace whose size overflows with what is around it. */
#define NAME "endless_workspace"
#define PLAN ask_for_all
#define HOOKS                                                                                 \
  static void ask_for_all(const struct attn_problem *shape, const struct attn_tuning *tuning, \
                          const struct device_info *device, struct attn_plan *out) {          \
    plan(shape, tuning, device, out);                                                         \
    out->workspace_bytes = UINT64_MAX;                                                        \
  }
#include "tests/plugins/plugin.h"
