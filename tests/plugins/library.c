/* Launches its own kernels, if it had any: sound but for a GPU. Its plan names what it knows of its tiles. */
#define NAME    "library"
#define RUNS_ON DEVICE_CUDA
#define VENDOR  (&vendor)
#define HOOKS                                                                                                      \
  static const char *missing(void) { return NULL; }                                                                \
  static const char *library(void) { return "library 1.0+cu"; }                                                    \
  static struct status open_shape(const struct attn_problem *shape, const struct attn_tuning *tuning,              \
                                  const struct device_info *device, void *stream, void **state, uint64_t *bytes) { \
    (void)shape, (void)tuning, (void)device, (void)stream, (void)state, (void)bytes;                               \
    return status_make(STATUS_UNSUPPORTED, "has no kernels");                                                      \
  }                                                                                                                \
  static struct status attach(void *state, const struct attn_buffers *buffers) {                                   \
    (void)state, (void)buffers;                                                                                    \
    return status_ok();                                                                                            \
  }                                                                                                                \
  static struct status enqueue(void *state) {                                                                      \
    (void)state;                                                                                                   \
    return status_ok();                                                                                            \
  }                                                                                                                \
  static void close_state(void *state) { (void)state; }                                                            \
  static const struct attn_vendor vendor = {missing, library, open_shape, attach, enqueue, close_state, NULL, NULL};
#include "tests/plugins/plugin.h"
