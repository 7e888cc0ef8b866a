#define NAME "bad_plan"
#define PLAN wild
#define HOOKS                                                                          \
  static void wild(const struct attn_problem *shape, const struct attn_tuning *tuning, \
                   const struct device_info *device, struct attn_plan *out) {          \
    (void)shape, (void)tuning, (void)device;                                           \
    out->pass_count = 1000;                                                            \
  }
#include "tests/plugins/plugin.h"
