/* Support for objects of plugin ABI 5 (attnbench 0.2.0), whose hooks take the structs below. Used by plugin_load.c.
 */
#ifndef ATTNBENCH_KERNELS_PLUGIN_V5_H
#define ATTNBENCH_KERNELS_PLUGIN_V5_H

#include "kernels/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLUGIN_V5 = 5 };

struct attn_shape_v5 {
  uint32_t B, Hq, Hkv, Sq, Skv, D;
  enum attn_dtype dtype;
  bool causal, lse;
};

struct attn_buffers_v5 {
  const void *q, *k, *v;
  void *o;
  float *lse;
  void *workspace;
};

struct attn_vendor_v5 {
  const char *(*missing)(void);
  const char *(*library)(void);
  struct status (*open)(const struct attn_shape_v5 *, const struct attn_tuning *, const struct device_info *,
                        void *stream, void **state, uint64_t *workspace_bytes);
  struct status (*attach)(void *state, const struct attn_buffers_v5 *);
  struct status (*enqueue)(void *state);
  void (*close)(void *state);
};

struct attn_variant_v5 {
  const char *name, *summary, *limits;
  enum device_kind runs_on;
  enum attn_math math;
  bool writes_lse;
  const struct attn_tunable *tunables;
  const char *(*supports)(const struct attn_shape_v5 *, const struct attn_tuning *, const struct device_info *);
  void (*plan)(const struct attn_shape_v5 *, const struct attn_tuning *, const struct device_info *,
               struct attn_plan *);
  struct status (*bind)(const struct attn_shape_v5 *, const struct attn_plan *, const struct attn_buffers_v5 *,
                        struct attn_pass_args args[ATTN_PASSES_MAX]);
  void (*run)(const struct attn_shape_v5 *, const struct attn_plan *, const struct attn_buffers_v5 *,
              unsigned threads);
  const struct attn_vendor_v5 *vendor;
  const struct pick_table *picks;
};

/* The type of the symbol attn_plugin in such an object. */
struct attn_plugin_v5 {
  uint32_t abi;
  uint32_t bytes[14]; /* of the structs in the order of ATTN_PLUGIN_STRUCTS */
  uint32_t variant_count;
  const struct attn_variant_v5 *const *variants;
  const void *(*launch_handle)(const void *kernel);
};

/* The sizes of the ABI 5 structs, in that order. */
extern const uint32_t plugin_v5_bytes[14];

/* Makes a current variant whose hooks call those of the ABI 5 variant. Each variant needs a `slot` of its own, from 0
 * to the number of variants that can be loaded, less one. */
struct attn_variant plugin_v5_variant(const struct attn_variant_v5 *, uint32_t slot);

#ifdef __cplusplus
}
#endif
#endif
