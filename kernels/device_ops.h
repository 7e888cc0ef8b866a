/* Inside the device boundary: what a backend implements, and what all backends share so that they cannot disagree.
 * Included by device.c, by the backends (cpu/backend.c, cuda/backend.cu) and by nothing in cli/. Valid C++ and CUDA.
 *
 * A backend derives its own device and bench by putting struct device / struct bench first, and reaches its own
 * data by casting the pointer back. device.c owns the public functions of device.h and only dispatches.
 *
 * Memory layout of the workspace and of every tensor that has memory of its own, one allocation each:
 *
 *   | front redzone, 4096 bytes | data, `bytes` bytes | padding up to 256 bytes | back redzone, 4096 bytes |
 *                               ^ 256-byte aligned
 *
 * The padding holds the pattern too, so a write one byte past the data is seen. */
#ifndef ATTNBENCH_KERNELS_DEVICE_OPS_H
#define ATTNBENCH_KERNELS_DEVICE_OPS_H

#include "kernels/bounds.h"
#include "kernels/pattern.h"
#include "kernels/timer_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DEVICE_REDZONE_BYTES = 4096, DEVICE_ALIGN_BYTES = 256, DEVICE_POISON_BYTE = 0xFF };

struct device_ops;

struct device {
  const struct device_ops *ops;
  struct device_info info;
  double event_overhead_us;
};

/* The backend's bench_open fills device, shape and inputs; its bench_bind fills variant and plan. */
struct bench {
  struct device *device;
  struct attn_problem shape;
  struct pattern inputs;              /* what the input tensors hold now */
  uint64_t changes;                   /* number of changes so far (pattern_fresh_flips); no two are equal */
  const struct attn_variant *variant; /* NULL until bound */
  struct attn_plan plan;
  char uncaptured[240]; /* why the launches of the library that was bound last are not captured; "" when they are */
  const struct attn_variant *inactive_variant; /* of the inactive binding (bench_swap) */
  struct attn_plan inactive_plan;              /* of the inactive binding */
};

/* One entry per function of device.h, with its contract. device.c has checked nothing but NULL objects on close and
 * that launch, time_prepare, sample, sample_passes and delay come after a successful bind and compare after
 * reference. */
struct device_ops {
  void (*close)(struct device *);           /* frees the device itself too */
  uint32_t (*count)(const struct device *); /* NULL: one */
  uint64_t (*memory_free)(const struct device *);
  void (*range_push)(struct device *, const char *name); /* NULL: ranges have no effect */
  void (*range_pop)(struct device *);
  struct status (*profile_start)(struct device *); /* NULL: no effect */
  struct status (*profile_stop)(struct device *);
  void (*health_read)(struct device *, struct device_health *out);
  double (*energy_j)(struct device *);
  void (*policy_read)(struct device *, struct device_policy *); /* fills what it knows; NULL: nothing */

  struct status (*bench_open)(struct device *, const struct attn_problem *, uint64_t seed, struct bench **out);
  void (*bench_close)(struct bench *);   /* frees the bench itself too */
  struct status (*fill)(struct bench *); /* writes the tensors that bench->inputs describes */
  /* Computes the reference of the current inputs. A second call for the same launch of pattern.h returns the result
   * of the first without computing again. */
  struct status (*reference)(struct bench *, struct oracle_result *out);
  struct status (*bind)(struct bench *, const struct attn_variant *, struct attn_plan *,
                        struct pass_facts facts[ATTN_PASSES_MAX]);
  void (*swap)(struct bench *); /* exchanges the backend's own part of the two bindings; device.c does the rest */
  struct status (*poison)(struct bench *);
  struct status (*launch)(struct bench *);
  struct status (*compare)(struct bench *, const struct tolerance *, struct compare_result *out);
  /* Restores the redzones and inputs whose changes it reports, so that the next variant on the same bench starts with
   * intact ones. */
  struct status (*guard)(struct bench *, struct guard_result *out);

  struct status (*time_prepare)(struct bench *, uint32_t *hot_launches, double *estimate_us);
  struct status (*sample)(struct bench *, enum time_mode, uint32_t n, double *us, double *sm_clock_mhz);
  struct status (*sample_changed)(struct bench *, double estimate_us, double *us); /* *us arrives as NAN */
  struct status (*sample_memsets)(struct bench *, double *us); /* *us arrives as NAN; NULL: launches have none */
  struct status (*witness)(struct bench *, struct witness_result *out);
  struct status (*sample_passes)(struct bench *, uint32_t n,
                                 double *us); /* called with pass_count > 1 and no vendor */
  struct status (*selftest)(struct device *, struct selftest_facts *out);  /* *out arrives with nothing known */
  struct status (*delay)(struct bench *, enum time_mode, double delay_us); /* called with delay_us finite and >= 0 */
};

/* The backends. device_cuda_open is that of cuda/backend.cu, or of cuda/no_cuda.c in a build without CUDA. */
struct status device_cpu_open(struct device **out);
struct status device_cuda_open(int ordinal, struct device **out);
struct status cpu_selftest(struct device *, struct selftest_facts *out);

/* ---- sizes --------------------------------------------------------------------------------------------------- */

/* Allocations of a bench: the tensors by enum attn_role, then the workspace of the binding. */
enum { BENCH_WORKSPACE = ATTN_ROLE_COUNT, BENCH_BLOCKS };

/* "q", "k", "v", "o", "lse", "workspace": guard_result.first. */
const char *bench_block_name(unsigned block);

/* Size of the allocation around `bytes` bytes of data: padding and both redzones. 0 on overflow. */
uint64_t bench_block_bytes(uint64_t bytes);

/* What of the workspace is zeroed when a plan is bound, and poisoned never: a launch that does not leave it zero
 * makes the next one wrong. */
static inline uint64_t bench_zeroed_bytes(const struct attn_plan *plan) {
  return plan->zeroed_bytes < plan->workspace_bytes ? plan->zeroed_bytes : plan->workspace_bytes;
}

/* What a redzone or padding byte holds, by its offset from the start of the allocation: read as elements of any dtype
 * it is NaN, so that a kernel which lets keys beyond the last one into its sums shows it. */
static inline ATTN_HD unsigned char bench_redzone_byte(uint64_t offset) {
  const unsigned mixed = (unsigned)(offset ^ offset >> 7);
  return (unsigned char)(offset % 2 != 0 ? 0x7fu | (mixed & 2u) << 6 : 0x81u | (mixed & 0x7eu));
}

#ifdef __cplusplus
}
#endif
#endif
