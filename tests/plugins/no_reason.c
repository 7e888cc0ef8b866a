#define NAME     "no_reason"
#define SUPPORTS refuse
#define HOOKS                                                                                   \
  static const char *refuse(const struct attn_problem *shape, const struct attn_tuning *tuning, \
                            const struct device_info *device) {                                 \
    (void)shape, (void)tuning, (void)device;                                                    \
    return "";                                                                                  \
  }
#include "tests/plugins/plugin.h"
