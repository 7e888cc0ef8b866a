#define NAME     "bad_reason"
#define SUPPORTS refuse
#define HOOKS                                                                                   \
  static const char *refuse(const struct attn_problem *shape, const struct attn_tuning *tuning, \
                            const struct device_info *device) {                                 \
    (void)shape, (void)tuning, (void)device;                                                    \
    return "not\x01 \xff text";                                                                 \
  }
#include "tests/plugins/plugin.h"
