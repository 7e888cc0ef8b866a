/* Inside the device boundary: what a backend implements, and what all backends share so that they cannot disagree.
 * Included by device.c, by the backends (cpu/backend.c, cuda/backend.cu) and by nothing in cli/. Valid C++ and CUDA.
 *
 * A backend derives its own device and problem by putting struct device / struct problem first, and reaches its own
 * data by casting the pointer back. device.c owns the public functions of device.h and only dispatches.
 *
 * Memory layout of every tensor and of the workspace, one allocation each:
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

/* The backend's problem_open fills device, shape and inputs; its problem_bind fills variant and plan. */
struct problem {
  struct device *device;
  struct attn_shape shape;
  struct pattern inputs;              /* what Q, K and V hold now */
  uint64_t changes;                   /* that were made to them: the next one is unlike all of these */
  const struct attn_variant *variant; /* NULL until bound */
  struct attn_plan plan;
  const struct attn_variant *parked_variant; /* of the other binding */
  struct attn_plan parked_plan;
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
  void (*policy_read)(struct device *, struct device_policy *); /* fills what it knows; NULL: nothing */

  struct status (*problem_open)(struct device *, const struct attn_shape *, uint64_t seed, struct problem **out);
  void (*problem_close)(struct problem *); /* frees the problem itself too */
  struct status (*fill)(struct problem *); /* writes what problem->inputs says */
  /* Of the inputs as they are. A second call for the same launch returns the first one's result without computing
   * again. */
  struct status (*reference)(struct problem *, struct oracle_result *out);
  struct status (*bind)(struct problem *, const struct attn_variant *, struct attn_plan *,
                        struct pass_facts facts[ATTN_PASSES_MAX]);
  void (*swap)(struct problem *); /* exchanges the backend's own part of the two bindings; device.c does the rest */
  struct status (*poison)(struct problem *);
  struct status (*launch)(struct problem *);
  struct status (*compare)(struct problem *, const struct tolerance *, struct compare_result *out);
  /* Repairs what it reports (redzones and inputs), so that damage is charged to the variant that did it and the next
   * one on the same problem starts clean. */
  struct status (*guard)(struct problem *, struct guard_result *out);

  struct status (*time_prepare)(struct problem *, uint32_t *hot_launches, double *estimate_us);
  struct status (*sample)(struct problem *, enum time_mode, uint32_t n, double *us, double *sm_clock_mhz);
  struct status (*sample_changed)(struct problem *, double estimate_us, double *us); /* *us arrives as NAN */
  struct status (*witness)(struct problem *, struct witness_result *out);
  struct status (*sample_passes)(struct problem *, uint32_t n,
                                 double *us);                             /* pass_count > 1 and no vendor: checked */
  struct status (*selftest)(struct device *, struct selftest_facts *out); /* *out arrives with nothing known */
  struct status (*delay)(struct problem *, enum time_mode, double delay_us); /* finite and not negative: checked */
};

/* The backends. device_cuda_open is that of cuda/backend.cu, or of cuda/no_cuda.c in a build without CUDA. */
struct status device_cpu_open(struct device **out);
struct status device_cuda_open(int ordinal, struct device **out);
struct status cpu_selftest(struct device *, struct selftest_facts *out);

/* ---- sizes --------------------------------------------------------------------------------------------------- */

enum problem_tensor {
  PROBLEM_Q,
  PROBLEM_K,
  PROBLEM_V,
  PROBLEM_O,
  PROBLEM_LSE,
  PROBLEM_WORKSPACE,
  PROBLEM_TENSOR_COUNT
};

/* "q", "k", "v", "o", "lse", "workspace": guard_result.first. */
const char *problem_tensor_name(enum problem_tensor);

/* Elements of Q, K, V, O or LSE; 0 for an LSE that is not asked for, for the workspace and on overflow. */
uint64_t problem_elements(const struct attn_shape *, enum problem_tensor);
/* The same in bytes. */
uint64_t problem_tensor_bytes(const struct attn_shape *, enum problem_tensor);

/* Size of the allocation around `bytes` bytes of data: padding and both redzones. 0 on overflow. */
uint64_t problem_block_bytes(uint64_t bytes);

/* What a redzone or padding byte holds, by its offset from the start of the allocation: read as elements of any dtype
 * it is NaN, so that a kernel which lets keys beyond the last one into its sums shows it. */
static inline ATTN_HD unsigned char problem_redzone_byte(uint64_t offset) {
  const unsigned mixed = (unsigned)(offset ^ offset >> 7);
  return (unsigned char)(offset % 2 != 0 ? 0x7fu | (mixed & 2u) << 6 : 0x81u | (mixed & 0x7eu));
}

#ifdef __cplusplus
}
#endif
#endif
