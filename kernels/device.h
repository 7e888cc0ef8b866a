/* THE boundary to the GPU. Everything that touches CUDA, NVML or NVTX is behind these functions; no CUDA type
 * crosses them. A device is used by one thread of a worker process. After a failure that names the device
 * (STATUS_DEVICE) the process must not use the device again: CUDA errors are sticky.
 *
 * Order of use:  device_open -> problem_open -> problem_reference
 *                  -> { problem_bind -> problem_poison -> problem_launch -> problem_compare -> problem_guard
 *                       -> problem_settle -> problem_sample ... -> again poison/launch/compare/guard }*
 *                -> (problem_swap -> the same for a second variant, to be timed in turns with the first)
 *                -> problem_close -> device_close */
#ifndef ATTNBENCH_KERNELS_DEVICE_H
#define ATTNBENCH_KERNELS_DEVICE_H

#include "kernels/status.h"
#include "kernels/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

struct device;
struct problem;

/* Opens "cpu" or "cuda:N". STATUS_NO_GPU when a GPU was asked for and there is none (or this build has no CUDA);
 * the text says which. On success *out is the caller's, for device_close. */
struct status device_open(const char *spec, struct device **out);
void device_close(struct device *);
/* How many devices of its kind this process could open: spec 0 to that, less one. */
uint32_t device_count(const struct device *);
const struct device_info *device_info(const struct device *);

/* What the machine's owner told the device to do, and where it runs: with device_info the identity by which two
 * measurements can be compared. Texts are empty and numbers NAN when the device does not tell. A clock that is locked
 * (nvidia-smi -lgc) cannot be asked for: NVML has no query for it; it shows in the measured SM clock alone. */
struct device_policy {
  bool known;
  char mig[16];         /* "off", "on"; the profile is part of device_info's name */
  char ecc[16];         /* "off", "on" */
  double power_limit_w; /* enforced: the lowest of all that are set */
  double application_sm_clock_mhz, application_memory_clock_mhz; /* the clocks that are asked for under load */
  double max_sm_clock_mhz, max_memory_clock_mhz;                 /* the highest that the device may be asked for */
  char compute_mode[24];                                         /* "default", "exclusive_process", ... */
  char persistence[16];                                          /* "off", "on" */
  char virtualization[24];                                       /* "none", "passthrough", "vgpu", ... */
  char host_cpu[64], host_kernel[64];                            /* the host's processor; its system and release */
};
void device_policy_read(struct device *, struct device_policy *out);

/* "13.0" or "none": the CUDA this binary was built with. */
const char *device_build_cuda(void);
/* What its kernels were compiled for: 900 for compute capability 9.0; ends with 0. */
const uint32_t *device_build_archs(void);

/* A tensor map: how the copy engine of compute capability 9.0 and up fetches boxes of a dense tensor. Dimensions come
 * outermost first, the last one is contiguous; what a box holds outside of the tensor reads as zeros. */
enum { DEVICE_TENSOR_MAP_DIMS_MAX = 4, DEVICE_TENSOR_MAP_BYTES = 128, DEVICE_TENSOR_MAP_ALIGNMENT = 64 };
struct device_tensor_map {
  const void *tensor;
  enum attn_dtype dtype;
  uint32_t dims;
  uint64_t extent[DEVICE_TENSOR_MAP_DIMS_MAX];
  uint32_t box[DEVICE_TENSOR_MAP_DIMS_MAX];
  uint32_t swizzle_bytes; /* 0, 32, 64 or 128 */
};
/* Writes what a kernel takes as its CUtensorMap, with a GPU open. STATUS_UNSUPPORTED when the driver does not take
 * it. */
struct status device_tensor_map_write(const struct device_tensor_map *, void *out);

/* Bytes that can be allocated now; UINT64_MAX when unknown. */
uint64_t device_memory_free(const struct device *);

/* NVTX range in domain "attnbench", nested; NAME is registered once and must match [A-Za-z0-9_.=-]+.
 * No effect without a GPU. */
void device_range_push(struct device *, const char *name);
void device_range_pop(struct device *);

/* Tells a profiler that watches this process to capture from here (cudaProfilerStart), and to stop. No effect without
 * a GPU. Some tools collect only the first such span, and may end the process at its stop. */
struct status device_profile_start(struct device *);
struct status device_profile_stop(struct device *);

/* ---- a problem: the tensors of one shape, their reference, and the variant bound to them --------------------- */

/* Bytes that problem_open + reference + a workspace of this size will allocate, redzones included. 0 on overflow. */
uint64_t problem_bytes(const struct attn_shape *, uint64_t workspace_bytes);

/* Allocates Q, K, V, O and, where the shape asks for it, LSE between redzones and fills Q, K, V from the seed with
 * launch 0 of pattern.h, random numbers (same bytes on every machine). On success *out is the caller's, for
 * problem_close. */
struct status problem_open(struct device *, const struct attn_shape *, uint64_t seed, struct problem **out);
void problem_close(struct problem *);

/* What the reference was and how far it is to be trusted. */
struct oracle_result {
  const char *name;       /* "cpu_fp64" or "gpu_fp64" */
  uint64_t rows_verified; /* rows of the GPU reference compared with the CPU oracle; all rows for "cpu_fp64" */
  double max_difference;  /* largest |gpu - cpu| over those rows; 0 for "cpu_fp64" */
};

/* Makes Q, K and V what launch `launch` of pattern.h holds; compare, guard and reference then mean these. */
struct status problem_fill(struct problem *, uint32_t launch);

/* Computes the fp64 reference of the inputs as they are, and what errors are measured with, once per launch of the
 * problem. */
struct status problem_reference(struct problem *, struct oracle_result *out);

/* What the runtime says of one pass once it is bound. */
struct pass_facts {
  char kernel_name[192]; /* demangled, cut; "" on a CPU */
  uint32_t registers;    /* per thread; 0 = unknown */
  uint32_t static_smem_bytes;
  uint32_t local_bytes;     /* per thread: spills and stack */
  uint32_t resident_blocks; /* blocks that fit on one SM at once, from the occupancy API; 0 = unknown */
};

/* Prepares `variant` with `plan` for launching: workspace between redzones, kernel arguments, shared-memory opt-in,
 * graph invalidated. facts[] has plan->pass_count entries. Replaces an earlier binding. A vendor's variant comes with
 * an empty plan: its library's launches and workspace are written into it, no launch at all when they cannot be read.
 * STATUS_UNSUPPORTED: the vendor's library does not take this shape, or the GPU has no room for a cluster of the
 * plan; nothing is bound, the device is as good as before. */
struct status problem_bind(struct problem *, const struct attn_variant *, struct attn_plan *plan,
                           struct pass_facts facts[ATTN_PASSES_MAX]);

/* A problem has room for two bindings over the same tensors, each with its own workspace and graph: the one that
 * every other call works on, and a parked one, at first empty. Exchanges the two; costs no device work. */
void problem_swap(struct problem *);

/* The same facts from the resource table that the build extracted from the compiled kernels; false when the build
 * has none for this kernel on this compute capability. No GPU needed. */
bool device_static_facts(const struct attn_pass *, const struct device_info *, struct pass_facts *out);

/* Fills O, LSE and the workspace with NaN bytes. */
struct status problem_poison(struct problem *);
/* Launches the bound plan once and waits for it. */
struct status problem_launch(struct problem *);

/* A dtype's bounds; bounds.h applies them, check.h derives them. */
struct tolerance {
  double relative;  /* unit roundoff of the dtype */
  double absolute;  /* of an element, whatever its size: the dtype's smallest number */
  double frobenius; /* of the whole output: error norm over the norm of what it is measured with, in roundoffs */
};

/* Of the log-sum-exp of the rows; all zero where the shape does not ask for it. */
struct lse_result {
  uint64_t rows;          /* that were compared */
  uint64_t bad_rows;      /* outside their bound, what follows included */
  uint64_t not_finite;    /* NaN, or an infinity that is not the right one */
  uint64_t first_bad;     /* linear index in [B][Hq][Sq]; UINT64_MAX when none */
  double max_abs_error;   /* over finite values */
  double max_bound_ratio; /* largest error / its bound; > 1 is wrong */
};

struct compare_result {
  uint64_t elements, rows; /* that were compared: rows without a defined output are not */
  uint64_t nan_count, inf_count;
  uint64_t bad_count;     /* elements outside their bound, NaN and Inf included */
  uint64_t bad_rows;      /* rows with such an element, or whose norm is outside its bound */
  uint64_t first_bad;     /* linear index in [B][Hq][Sq][D], a row's first for a norm; UINT64_MAX when none */
  double max_abs_error;   /* over finite elements */
  double max_bound_ratio; /* largest error of an element / its bound; > 1 is wrong */
  double max_row_ratio;   /* largest error norm of a row / its bound; > 1 is wrong */
  double norm_ratio;      /* error norm of the whole output / its bound; > 1 is wrong where it is asked for */
  double rel_frobenius;   /* error norm / norm of the reference */
  struct lse_result lse;
};
/* Compares O and LSE with the reference of the inputs as they are. */
struct status problem_compare(struct problem *, const struct tolerance *, struct compare_result *out);

struct guard_result {
  uint64_t redzone_bytes_changed;  /* over all tensors and the workspace */
  uint64_t input_elements_changed; /* of Q, K, V */
  const char *first;               /* "o", "workspace", ...: the first tensor whose redzone was hit; NULL when none */
};
struct status problem_guard(struct problem *, struct guard_result *out);

/* ---- timing -------------------------------------------------------------------------------------------------- */

enum time_mode { TIME_COLD, TIME_HOT, TIME_MODE_COUNT };

/* NVML's view, sampled between batches; -1 or 0 where it is not available. */
struct device_health {
  double sm_clock_mhz, memory_clock_mhz, power_w, temperature_c; /* NAN when unknown */
  uint64_t throttle_reasons; /* NVML clocks-event-reason bits; 0 = none or unknown */
  bool known;
};
void device_health_read(struct device *, struct device_health *out);

/* Chooses how many launches one hot sample averages over and builds what it needs; cold samples are one launch.
 * Also returns a first estimate of one launch. Call after problem_bind and before problem_sample. */
struct status problem_time_prepare(struct problem *, uint32_t *hot_launches, double *estimate_us);

/* Takes n samples in microseconds per launch of the whole plan.
 * TIME_COLD: caches flushed before every launch, one launch per sample, host gaps hidden by a blocking kernel.
 * TIME_HOT:  hot_launches back-to-back launches on the same buffers per sample, as one graph.
 * *sm_clock_mhz: SM clock measured on the SMs over the batch, NAN when it could not be.
 * A sample that the blocker's timeout spoiled is an error, never a number. */
struct status problem_sample(struct problem *, enum time_mode, uint32_t n, double *us, double *sm_clock_mhz);

/* What was seen of the outputs that timed launches left. */
struct witness_result {
  uint64_t samples; /* after which a part of O was compared, since the problem was opened or last asked */
  uint64_t wrong;   /* of these, samples that left O stale or wrong */
};

/* Shortest time of a launch, microseconds, whose Q, K and V were changed right before it, to what they never were,
 * with hot caches else: what a hot launch takes of a kernel that computes every time. NAN where the difference would
 * not tell: launches of more than a millisecond. A sample is an odd number of launches, so that a kernel which
 * computes in every second one is seen. */
struct status problem_sample_changed(struct problem *, double estimate_us, double *us);

/* Every sample of problem_sample and problem_sample_changed starts with inputs that never were (pattern.h), so that O
 * is stale, or with O and LSE poisoned, by a choice that looks random; after it, a part of them that looks random is
 * compared with the reference. Both are outside what is timed. Fetches what was found and starts anew. The inputs
 * must be launch 0's. */
struct status problem_witness(struct problem *, struct witness_result *out);

/* A known slowdown, for tests of what reads times: behind the last pass of every launch that problem_sample takes in
 * this mode comes a kernel (on a CPU: a loop) that spins for delay_us. The least delay costs what one more kernel
 * costs. 0 takes it away. It belongs to the binding, and touches no tensor; problem_launch and problem_sample_passes
 * are without it. Call problem_time_prepare afterwards. */
struct status problem_delay(struct problem *, enum time_mode, double delay_us);

/* Cold time of each pass alone: n samples for each of the plan's passes, us[pass * n + i]; pass_count > 1 only. */
struct status problem_sample_passes(struct problem *, uint32_t n, double *us);

/* The constant inside a cold sample: median time between two events around an empty kernel, microseconds; 0 on a CPU.
 * Measured at device_open and reported, never subtracted. */
double device_event_overhead_us(const struct device *);

#ifdef __cplusplus
}
#endif
#endif
