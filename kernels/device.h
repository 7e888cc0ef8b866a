/* The boundary to the GPU. Everything that calls CUDA, NVML or NVTX is behind these functions, and none of them takes
 * or returns a CUDA type. A device is used by one thread of a worker process. After a failure that names the device
 * (STATUS_DEVICE) the process must not use the device again: CUDA errors are sticky.
 *
 * Order of use:  device_open -> bench_open -> bench_reference
 *                  -> { bench_bind -> bench_poison -> bench_launch -> bench_compare -> bench_guard
 *                       -> bench_settle -> bench_sample ... -> again poison/launch/compare/guard }*
 *                -> (bench_swap -> the same for a second variant, to be timed in turns with the first)
 *                -> bench_close -> device_close */
#ifndef ATTNBENCH_KERNELS_DEVICE_H
#define ATTNBENCH_KERNELS_DEVICE_H

#include "kernels/status.h"
#include "kernels/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

struct device;
struct bench;

/* Opens "cpu" or "cuda:N". STATUS_NO_GPU when a GPU was asked for and there is none (or this build has no CUDA);
 * the text says which. On success *out is the caller's, for device_close. */
struct status device_open(const char *spec, struct device **out);
void device_close(struct device *);
/* How many devices of the same kind this process could open: "cuda:0" to "cuda:N-1" for N of them. */
uint32_t device_count(const struct device *);
const struct device_info *device_info(const struct device *);

/* The device's administrative settings, and the host that it is in. Together with device_info they say whether two
 * measurements can be compared. A text is empty and a number NAN when the device does not report it. Locked clocks
 * (nvidia-smi -lgc) are missing here, since NVML has no query for them; they show in the measured SM clock only. */
struct device_policy {
  bool known;
  char mig[16];         /* "off", "on"; the profile is part of device_info's name */
  char ecc[16];         /* "off", "on" */
  double power_limit_w; /* enforced: the lowest of all that are set */
  double application_sm_clock_mhz, application_memory_clock_mhz; /* the clocks requested under load */
  double max_sm_clock_mhz, max_memory_clock_mhz;                 /* the highest that can be requested */
  double idle_power_w;     /* as read here, before the first launch; the device may have worked just before */
  char compute_mode[24];   /* "default", "exclusive_process", ... */
  char persistence[16];    /* "off", "on" */
  char virtualization[24]; /* "none", "passthrough", "vgpu", ... */
  char host_cpu[64], host_kernel[64]; /* the host's processor; its system and release */
};
void device_policy_read(struct device *, struct device_policy *out);

/* The CUDA version that this binary was built with, "13.0", or "none". */
const char *device_build_cuda(void);
/* The architectures that its kernels were compiled for, 900 for compute capability 9.0; a 0 ends the array. */
const uint32_t *device_build_archs(void);

/* A tensor map (CUtensorMap): how the Tensor Memory Accelerator of compute capability 9.0 and up copies boxes of a
 * dense tensor. The outermost dimension comes first, and the last one is contiguous. Elements of a box that lie
 * outside of the tensor are read as zeros. */
enum { DEVICE_TENSOR_MAP_DIMS_MAX = 4, DEVICE_TENSOR_MAP_BYTES = 128, DEVICE_TENSOR_MAP_ALIGNMENT = 64 };
struct device_tensor_map {
  const void *tensor;
  enum attn_dtype dtype;
  uint32_t dims;
  uint64_t extent[DEVICE_TENSOR_MAP_DIMS_MAX];
  uint32_t box[DEVICE_TENSOR_MAP_DIMS_MAX];
  uint32_t swizzle_bytes; /* 0, 32, 64 or 128 */
};
/* Writes the CUtensorMap, DEVICE_TENSOR_MAP_BYTES bytes, that a kernel takes; needs an open GPU. STATUS_UNSUPPORTED
 * when the driver does not accept the map. */
struct status device_tensor_map_write(const struct device_tensor_map *, void *out);

/* Bytes that can be allocated now; UINT64_MAX when unknown. */
uint64_t device_memory_free(const struct device *);

/* NVTX range in domain "attnbench", nested; NAME is registered once and must match [A-Za-z0-9_.=-]+.
 * No effect without a GPU. */
void device_range_push(struct device *, const char *name);
void device_range_pop(struct device *);

/* Tells a profiler attached to this process to start capturing (cudaProfilerStart), and to stop. No effect without a
 * GPU. Some tools collect only the first such span, and may end the process when it stops. */
struct status device_profile_start(struct device *);
struct status device_profile_stop(struct device *);

/* ---- a bench: the tensors of one problem, their reference, and the variant bound to them --------------------- */

/* Bytes that bench_open + reference + a workspace of this size will allocate, redzones included. 0 on overflow. */
uint64_t bench_bytes(const struct attn_problem *, uint64_t workspace_bytes);

/* Allocates the tensors of the problem between redzones and fills the inputs from the seed with the random values of
 * launch 0 of pattern.h, which are the same bytes on every machine. On success *out is the caller's, for
 * bench_close. */
struct status bench_open(struct device *, const struct attn_problem *, uint64_t seed, struct bench **out);
void bench_close(struct bench *);

/* What rounding the inputs to e4m3 changes in O, whatever the kernel: fp64 on the numbers and scales against fp64 on
 * the floats that they were made of. */
struct quantisation {
  uint64_t rows;    /* that were compared, of the random inputs; 0: nothing is e4m3 */
  double rmse, max; /* root mean square and largest difference of an element; NAN without rows */
};

/* Which oracle computed the reference, and how well the GPU oracle agrees with the CPU oracle. */
struct oracle_result {
  const char *name;       /* "cpu_fp64" or "gpu_fp64" */
  uint64_t rows_verified; /* rows of the GPU reference compared with the CPU oracle; all rows for "cpu_fp64" */
  double max_difference;  /* largest |gpu - cpu| over those rows; 0 for "cpu_fp64" */
  struct quantisation quantisation;
};

/* Fills the inputs with those of launch `launch` of pattern.h, or with those of PATTERN_GROWING, on which samples are
 * compared with nothing unless bench_reference was called. bench_reference, bench_compare and bench_guard then
 * refer to these. */
struct status bench_fill(struct bench *, uint32_t launch);

/* Computes the fp64 reference of the current inputs, and the struct reference_row of each row (bounds.h). A second
 * call for the same launch of pattern.h computes nothing. */
struct status bench_reference(struct bench *, struct oracle_result *out);

/* The resources of the kernel of one bound pass. */
struct pass_facts {
  char kernel_name[192]; /* demangled, cut; "" on a CPU */
  uint32_t registers;    /* per thread; 0 = unknown */
  uint32_t static_smem_bytes;
  uint32_t local_bytes;     /* per thread: spills and stack */
  uint32_t resident_blocks; /* blocks that fit on one SM at once, from the occupancy API; 0 = unknown */
  uint32_t choice, choices; /* of a library that chose among plans of its own: attn_vendor.choice(); else 0 */
};

/* Prepares `variant` with `plan` for launching: workspace between redzones, kernel arguments, shared-memory opt-in,
 * graph invalidated. facts[] has plan->pass_count entries. Replaces an earlier binding. The plan of a vendor's
 * variant is empty before the call; bench_bind writes the launches and the workspace of the library into it, and no
 * launches when they cannot be read. STATUS_UNSUPPORTED: the vendor's library does not take this shape, or the GPU
 * has no room for a cluster of the plan; then nothing is bound, and the device can still be used. */
struct status bench_bind(struct bench *, const struct attn_variant *, struct attn_plan *plan,
                         struct pass_facts facts[ATTN_PASSES_MAX]);

/* Why the launches of the library that was bound last could not be captured, so that each is timed with its host
 * time;
 * "" when they could, and for variants without a library. Valid until the next call of bench_bind. */
const char *bench_uncaptured(const struct bench *);

/* Exchanges the two bindings of a bench. Both use the same tensors, and each has its own workspace and graph. All
 * other calls use the active binding; the inactive one is empty at first. Launches nothing on the device. */
void bench_swap(struct bench *);

/* Reads the facts of a pass from the resource table of the build (kernel_resources.h) and needs no GPU. False when
 * the table has no row for this kernel and compute capability. */
bool device_static_facts(const struct attn_pass *, const struct device_info *, struct pass_facts *out);

/* Fills O, LSE and the workspace with NaN bytes. */
struct status bench_poison(struct bench *);
/* Launches the bound plan once and waits for it. */
struct status bench_launch(struct bench *);

/* The error bounds of a dtype. bounds.h applies them; results/check.md derives them. */
struct tolerance {
  double relative;  /* unit roundoff of the dtype */
  double absolute;  /* added to the bound of each element: the dtype's smallest number */
  double frobenius; /* factor of the bound of the whole output's error norm */
  double step_keys; /* keys that a truncating tensor core adds to a sum over keys at once; 0: sums are rounded */
};
/* Of the bound variant: sums are truncated where it declares tensor cores, and on a GPU where it may use them unseen,
 * as a library's or a loaded kernel for a 16-bit dtype may. */
struct tolerance bench_tolerance(const struct bench *);

/* The comparison of LSE; all zero where the problem has no such output. */
struct lse_result {
  uint64_t rows;          /* rows that were compared */
  uint64_t bad_rows;      /* rows outside their bound, those of not_finite included */
  uint64_t not_finite;    /* rows with NaN, or with an infinity where the reference is another value */
  uint64_t first_bad;     /* linear index in [B][Hq][Sq]; UINT64_MAX when none */
  double max_abs_error;   /* over finite values */
  double max_bound_ratio; /* largest error / its bound; > 1 is wrong */
};

struct compare_result {
  uint64_t elements, rows; /* compared; rows without a defined output are left out */
  uint64_t nan_count, inf_count;
  uint64_t bad_count;     /* elements outside their bound, NaN and Inf included */
  uint64_t bad_rows;      /* rows with such an element, or whose norm is outside its bound */
  uint64_t first_bad;     /* linear index in [B][Hq][Sq][Dv]; for a norm the row's first; UINT64_MAX: none */
  double max_abs_error;   /* over finite elements */
  double max_bound_ratio; /* largest error of an element / its bound; > 1 is wrong */
  double max_row_ratio;   /* largest error norm of a row / its bound; > 1 is wrong */
  double norm_ratio;      /* error norm of the whole output / its bound; > 1 is wrong in launch 0 */
  double rel_frobenius;   /* error norm / norm of the reference */
  struct lse_result lse;
};
/* Whether every element, every row's norm and every LSE is within its bound. norm_ratio is not looked at. */
static inline bool compare_is_within(const struct compare_result *c) {
  return c->bad_count == 0 && c->bad_rows == 0 && c->nan_count == 0 && c->inf_count == 0 && c->lse.bad_rows == 0;
}
/* Compares O and LSE with the reference of the current inputs. */
struct status bench_compare(struct bench *, const struct tolerance *, struct compare_result *out);

struct guard_result {
  uint64_t redzone_bytes_changed;  /* over all tensors and the workspace */
  uint64_t input_elements_changed; /* over all input tensors */
  const char *first;               /* "o", "workspace", ...: the first tensor whose redzone was hit; NULL when none */
};
struct status bench_guard(struct bench *, struct guard_result *out);

/* ---- timing -------------------------------------------------------------------------------------------------- */

enum time_mode { TIME_COLD, TIME_HOT, TIME_STEADY, TIME_MODE_COUNT };

/* Clocks, power, temperature and throttling as NVML reports them, read between batches of samples. */
struct device_health {
  double sm_clock_mhz, memory_clock_mhz, power_w, temperature_c; /* NAN when unknown */
  uint64_t throttle_reasons; /* NVML clocks-event-reason bits; 0 = none or unknown */
  bool known;                /* false: NVML is not available */
};
void device_health_read(struct device *, struct device_health *out);
/* The energy in joules that the device has used since its driver was loaded; NAN when unknown. Reading this counter
 * takes 3 ms on an H200; device_health_read takes 0.1 ms. */
double device_energy_j(struct device *);

/* Chooses how many launches one hot sample averages over and builds the graph of them; a cold sample is one launch.
 * Also estimates the time of one launch, in microseconds. Call after bench_bind and before bench_sample. */
struct status bench_time_prepare(struct bench *, uint32_t *hot_launches, double *estimate_us);

/* Takes n samples in microseconds per launch of the whole plan.
 * TIME_COLD: caches flushed before every launch, one launch per sample, host gaps hidden by a blocking kernel.
 * TIME_HOT:  hot_launches back-to-back launches on the same buffers per sample, as one graph.
 * TIME_STEADY: the samples of TIME_HOT, up to TIMING_CUDA_STEADY_CHAIN of them queued at once, so that the device is
 *   never idle between them and works at the clock and power that it can keep.
 * *sm_clock_mhz: SM clock measured on the SMs over the batch, NAN when it could not be.
 * Fails when the blocking kernel timed out during a sample, since host time is then in it. */
struct status bench_sample(struct bench *, enum time_mode, uint32_t n, double *us, double *sm_clock_mhz);

/* The comparisons of outputs that timed launches wrote. */
struct witness_result {
  uint64_t samples;  /* after which the outputs were compared, since bench_open or the last bench_witness */
  uint64_t wrong;    /* of these, samples that left the outputs stale or wrong */
  double rows_ratio; /* the part of the query rows that was compared after each sample: 1 on a GPU */
};

/* Measures hot launches whose inputs change: Q, K and V get new values before each launch (pattern.h), and
 * the time of changing them is subtracted. *us is the time of a launch in the shortest sample, in microseconds. A
 * kernel that skips work on unchanged inputs has a shorter hot time than this. If a launch takes more than a
 * millisecond, only one is timed. A sample is an odd number of launches, so that a kernel that computes in every
 * second launch is noticed too. */
struct status bench_sample_changed(struct bench *, double estimate_us, double *us);

/* Returns the counts of the checks beside timing and sets them to zero. Before every sample of bench_sample, either
 * the inputs are changed (pattern.h), scores and signs, so that O is stale, or O and LSE are poisoned; which one is
 * pseudo-random. After every sample of bench_sample and bench_sample_changed O and LSE, as its last launch left them,
 * are compared in all rows with the first output of the binding that bench_compare found right on the unchanged
 * inputs of launch 0; where a bit differs, with the reference. Where O is large, a CPU compares a pseudo-random part
 * of the rows. On a GPU both are done once per chain of TIME_STEADY samples. Both are outside the timed interval. The
 * inputs must be those of launch 0. */
struct status bench_witness(struct bench *, struct witness_result *out);

/* Injects a slowdown of known size, to test tools that read times: every launch that bench_sample takes in this mode
 * is followed by a kernel (on a CPU: a loop) that spins for delay_us. The shortest possible delay is the cost of one
 * more kernel; 0 removes the delay. The delay belongs to the active binding and changes no tensor. bench_launch and
 * bench_sample_passes do not contain it. TIME_STEADY has the delay of TIME_HOT. Call bench_time_prepare afterwards.
 */
struct status bench_delay(struct bench *, enum time_mode, double delay_us);

/* Measures what the memsets in a launch of the active binding (attn_launched) add to its hot time: *us is how much
 * longer a launch takes with as many again of the same sizes behind it, median over turns with and without. The
 * kernels need what a memset writes, so that it cannot be left out. NAN where a launch has none, or none that is
 * small, or is too slow for a graph. Call after bench_time_prepare. */
struct status bench_sample_memsets(struct bench *, double *us);

/* Measures the cold time of each pass: n samples in microseconds per pass, us[pass * n + i]. The plan must have more
 * than one pass. */
struct status bench_sample_passes(struct bench *, uint32_t n, double *us);

/* The overhead in every cold sample, in microseconds: the median time between two events around an empty kernel; 0 on
 * a CPU. device_open measures it. bench_sample does not subtract it. */
double device_event_overhead_us(const struct device *);

#ifdef __cplusplus
}
#endif
#endif
