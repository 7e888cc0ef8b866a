/* Its library can be opened, and never closed. */
#define NAME    "half_library"
#define RUNS_ON DEVICE_CUDA
#define VENDOR  (&vendor)
#define HOOKS                                                                                                      \
  static const char *missing(void) { return NULL; }                                                                \
  static struct status open_shape(const struct attn_problem *shape, const struct attn_tuning *tuning,              \
                                  const struct device_info *device, void *stream, void **state, uint64_t *bytes) { \
    (void)shape, (void)tuning, (void)device, (void)stream, (void)state, (void)bytes;                               \
    return status_ok();                                                                                            \
  }                                                                                                                \
  static const struct attn_vendor vendor = {.missing = missing, .library = missing, .open = open_shape};
#include "tests/plugins/plugin.h"
