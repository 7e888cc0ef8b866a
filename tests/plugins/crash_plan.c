#define NAME "crash_plan"
#define PLAN crash
#define HOOKS                                                                           \
  static void crash(const struct attn_problem *shape, const struct attn_tuning *tuning, \
                    const struct device_info *device, struct attn_plan *out) {          \
    (void)shape, (void)tuning, (void)device, (void)out;                                 \
    raise(SIGSEGV);                                                                     \
  }
#include "tests/plugins/plugin.h"
