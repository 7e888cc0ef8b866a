/* Variants that have no kernel and pick another variant for each shape, by a table of rules. */
#ifndef ATTNBENCH_KERNELS_PICK_H
#define ATTNBENCH_KERNELS_PICK_H

#include "kernels/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The features of a problem and a device that rules depend on. */
enum pick_feature {
  PICK_NOTHING,
  PICK_CC,          /* compute capability, 90 for 9.0 */
  PICK_DTYPE_BYTES, /* 2 or 4 */
  PICK_D,
  PICK_SQ,
  PICK_SKV,
  PICK_RAGGED,         /* 0 or 1 */
  PICK_CAUSAL,         /* 0 or 1 */
  PICK_GROUP_ROWS,     /* query rows that share their keys: Sq * Hq / Hkv */
  PICK_SHARED_PERCENT, /* percentage of all keys that belong to sequences with at most 64 query rows for a KV head
                        * (Sq * Hq / Hkv), as in decoding; 0 if Hq equals Hkv */
  PICK_PACKED_PERCENT, /* q tiles of 128 rows with all query heads of a KV head, B * Hkv * ceil(Sq * Hq / Hkv / 128),
                        * in percent of the SMs, rounded up; 0 where Hq / Hkv is not a power of two from 2 to 64 */
  PICK_KV_PERCENT,     /* B * Hkv in percent of the SMs, rounded up */
  PICK_PAGE,           /* tokens of a page; 0: K and V are contiguous */
  PICK_ROWS_PER_SM,    /* B * Hq * Sq over the SMs, rounded up */
  PICK_TILES_PERCENT,  /* tiles of 64 query rows, B * Hq * ceil(Sq / 64), in percent of the SMs, rounded up */
  PICK_DRAM_PER_SM,    /* an SM's share of the DRAM's peak, GB/s, rounded down: 25 on an H100, 36 on an H200 */
};

/* A feature must be within [least, most]. */
struct pick_limit {
  enum pick_feature feature;
  uint64_t least, most;
};

struct pick_setting {
  const char *tunable;
  int32_t value;
};

enum { PICK_LIMITS_MAX = 7, PICK_SETTINGS_MAX = 2, PICK_SPEC_MAX = 96 };

/* The first rule whose limits hold, and whose variant takes the shape on the device, is taken. */
struct pick_rule {
  const char *variant;
  struct pick_setting set[PICK_SETTINGS_MAX]; /* other tunables keep their defaults */
  struct pick_limit when[PICK_LIMITS_MAX];    /* empty: always */
  const char *why;                            /* for reports: why the variant is the fastest there */
};

struct pick_table {
  const char *version; /* for reports: number, and the GPU that it was measured on */
  const struct pick_rule *rules;
  size_t count;
};

/* NULL when no rule's variant takes the shape. */
const struct pick_rule *pick_rule_for(const struct pick_table *, const struct attn_problem *,
                                      const struct device_info *);
/* The variant that the rule picks, and its tuning. The rule's name and settings must exist; a test checks all tables.
 */
const struct attn_variant *pick_variant(const struct pick_rule *, struct attn_tuning *);
/* "scalar_quad:vec=1", as sweeps write it. */
void pick_spec(const struct pick_rule *, char out[PICK_SPEC_MAX]);

/* The hooks of such a variant, with its table as the first argument. Its plan is that of the picked variant, and
 * bind() and run() call the hooks of the picked variant. */
const char *pick_supports(const struct pick_table *, const struct attn_problem *, const struct device_info *);
void pick_plan(const struct pick_table *, const struct attn_problem *, const struct device_info *,
               struct attn_plan *);
struct status pick_bind(const struct attn_problem *, const struct attn_plan *, const struct attn_buffers *,
                        struct attn_pass_args args[ATTN_PASSES_MAX]);
void pick_run(const struct attn_problem *, const struct attn_plan *, const struct attn_buffers *, unsigned threads);

#ifdef __cplusplus
}
#endif
#endif
