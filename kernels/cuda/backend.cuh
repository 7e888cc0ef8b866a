/* Inside the CUDA backend: its device and bench, and the parts it is made of.
 *   backend.cu    opening, info, benches, binding, launching
 *   vendor.cu         variants that are a vendor's library
 *   image.cu          kernels in files
 *   oracle_check.cu   inputs, poison, redzones, comparing
 *   reference.cuh     the fp64 reference, and whether it is that of the CPU
 *   timer.cu          blocker, L2 flush, clock stamps, graphs, sampling
 *   timer_test.cu     the timer held against launches whose duration is known
 *   nvtx.cu           what profilers are told: NVTX ranges, start and stop */
#ifndef ATTNBENCH_KERNELS_CUDA_BACKEND_CUH
#define ATTNBENCH_KERNELS_CUDA_BACKEND_CUH

#include <algorithm>

#include "kernels/cuda/errors.cuh"
#include "kernels/cuda/nvml.h"
#include "kernels/device_ops.h"
#include "kernels/timing.h"

namespace attn {

/* ---- timer --------------------------------------------------------------------------------------------------- */

/* One SM's clock against the global timer. seen is 0 until some block of the stamp kernel ran on that SM. */
struct clock_stamp {
  unsigned long long cycles, nanoseconds;
  unsigned int seen;
};

/* Cold samples behind one blocking kernel. On an H200 a launch of 10 us takes 0.3 to 0.7 us longer where two more
 * samples, some 15 launches, are queued behind it. In chains of 5 the first three samples were longer than the last
 * two for this reason, and a confidence interval of the same width took twice as many samples as in chains of 2.
 * Samples in chains of 1 scatter least, but a sweep then takes longer. */
constexpr uint32_t kColdChain = 2;
constexpr uint32_t kTimerEvents =
    std::max<uint32_t>({2 * kColdChain, ATTN_PASSES_MAX + 1, TIMING_CUDA_STEADY_CHAIN + 1});

struct cuda_timer {
  cudaEvent_t event[kTimerEvents];
  uint4 *flush; /* read before every cold launch; flush_bytes is 3x L2 */
  size_t flush_bytes;
  unsigned int *sink;             /* where the flush kernel may write, so that its reads are not dropped */
  volatile unsigned int *release; /* mapped: the blocking kernel ends when *release reaches its ticket */
  volatile unsigned int *expired; /* mapped: set by a blocking kernel that gave up */
  unsigned int ticket;
  bool blocker_works;  /* false under tools that serialise launches: then host gaps are not hidden */
  clock_stamp *stamps; /* mapped: [2][sms], before and after a batch */
};

/* ---- device and bench ---------------------------------------------------------------------------------------- */

struct cuda_device {
  struct device base;
  int ordinal;
  cudaStream_t stream;
  struct cuda_timer timer;
  struct nvml_device *nvml; /* NULL when there is no NVML */
};

enum { COMPARE_BLOCKS = 1056, COMPARE_THREADS = 128 };

/* What belongs to one binding beside its variant and plan. */
struct cuda_binding {
  unsigned char *workspace; /* an allocation like those of the tensors */
  uint64_t workspace_bytes;
  struct attn_pass_args args[ATTN_PASSES_MAX];
  void *image[ATTN_PASSES_MAX];        /* of a pass whose kernel is in a file: what image_open() opened; else NULL */
  const void *handle[ATTN_PASSES_MAX]; /* what this runtime launches; differs from the plan's in loaded variants */
  void *vendor_state;                  /* of a vendor's library, from its open(); else NULL */
  cudaGraph_t captured;                /* the launch of a library with outputs of its own; else NULL */
  cudaGraphExec_t captured_exec;
  bool is_synchronous;   /* its launches cannot be captured: each is timed with its host time */
  cudaGraphExec_t graph; /* of hot_launches launches; NULL until time_prepare, and for slow launches */
  uint32_t hot_launches;
  void *verified[ATTN_ROLE_COUNT]; /* copies of the outputs that were found right on the inputs of launch 0; NULL: not
                                      yet, or no memory, and the reference has to do */
  uint64_t looks;                  /* at this binding's outputs, since the last time the witness was asked */
  unsigned long long delay_cycles[TIME_MODE_COUNT]; /* of the spin behind every timed launch; 0: none */
};

/* The oracle's answer for the rows of one launch's sample. */
struct cuda_reference {
  double *o; /* [count][columns of V]; NULL until the reference was asked for */
  struct reference_row *rows;
  struct pattern_sample sample;
  struct oracle_result oracle; /* its name is NULL until the reference was computed and verified */
};

/* What was seen at the outputs of timed samples. */
struct cuda_seen {
  unsigned long long wrong; /* samples whose output was wrong */
  unsigned long long last;  /* the number of the last look that saw one, from 1 */
};

constexpr unsigned kCounters = unsigned{BENCH_BLOCKS} + unsigned{ATTN_ROLE_COUNT};

struct cuda_bench {
  struct bench base;
  unsigned char *block[BENCH_BLOCKS]; /* allocations, redzones included; data at + DEVICE_REDZONE_BYTES */
  uint64_t bytes[BENCH_BLOCKS];       /* of data */
  struct cuda_reference reference[PATTERN_INPUTS];
  struct compare_partial *partials; /* [COMPARE_BLOCKS] */
  unsigned long long *counters; /* [kCounters]: changed redzone bytes by block, then changed input elements by role */
  struct cuda_seen *witness;    /* [2], by `swapped` */
  uint64_t looks;               /* at outputs of timed samples, of both bindings */
  cudaGraphExec_t changed;      /* while sample_changed or sample_memsets runs */
  bool swapped;                 /* whether `bound` started as the inactive one */
  struct cuda_binding bound, inactive; /* bound.workspace stands in block[] and bytes[] */
};

inline struct cuda_device *as_cuda(struct device *d) { return reinterpret_cast<struct cuda_device *>(d); }
inline const struct cuda_device *as_cuda(const struct device *d) {
  return reinterpret_cast<const struct cuda_device *>(d);
}
inline struct cuda_bench *as_cuda(struct bench *p) { return reinterpret_cast<struct cuda_bench *>(p); }
inline cudaStream_t stream_of(const struct cuda_bench *p) { return as_cuda(p->base.device)->stream; }
/* The data of a tensor, or of the workspace; NULL: there is none. */
inline void *data_of(const struct cuda_bench *p, unsigned t) {
  struct attn_tensor tensor = {};
  if (t != BENCH_WORKSPACE && !attn_tensor_of(&p->base.shape, static_cast<enum attn_role>(t), &tensor))
    return nullptr;
  const unsigned block = t == BENCH_WORKSPACE ? t : static_cast<unsigned>(tensor.memory);
  if (p->block[block] == nullptr) return nullptr;
  return p->block[block] + DEVICE_REDZONE_BYTES + tensor.offset * attn_dtype_bytes(tensor.dtype);
}

/* Whether a kernel may start ahead of the end of the one before it; graphs take such an edge since CUDA 12.3. */
inline bool launches_ahead(const struct device_info *info) {
  constexpr uint32_t kSince = 12030;
  return info->cc_major >= 9 && info->driver_version >= kSince && info->runtime_version >= kSince;
}

/* Enqueues one pass / all passes of the bound plan. alone: whatever attn_pass.early_start says, after all that came
 * before. */
struct status enqueue_pass(struct cuda_bench *, uint32_t pass, bool alone);
struct status enqueue_plan(struct cuda_bench *);

/* What `enqueue` puts on the stream in so many calls, as a graph. On success *out is the caller's, for
 * cudaGraphDestroy; on failure nothing is left. */
struct status capture_launches(struct cuda_bench *, uint32_t launches, struct status (*enqueue)(struct cuda_bench *),
                               cudaGraph_t *out);

/* A mangled name for people; as it is when it is none. */
void write_demangled(const char *symbol, char *out, size_t size);

/* ---- vendor.cu ----------------------------------------------------------------------------------------------- */

/* Opens the library's state and sets plan->workspace_bytes. The state goes with the binding. */
struct status vendor_open(struct cuda_bench *, const struct attn_vendor *, struct attn_plan *);
/* Launches once, and writes the launches that this made into *plan and facts[]. */
struct status vendor_attach(struct cuda_bench *, const struct attn_vendor *, const struct attn_buffers *,
                            struct attn_plan *, struct pass_facts *facts);
/* One launch on the stream, or in what the stream captures. */
struct status vendor_enqueue(struct cuda_bench *);
/* Behind launches whose outputs are looked at. */
struct status vendor_collect(struct cuda_bench *);
void vendor_close(struct cuda_bench *);

/* ---- image.cu ------------------------------------------------------------------------------------------------ */

/* Loads the file for this GPU and finds the kernel, which takes what the image says or is refused. *library is the
 * caller's, for image_close; *handle is for this runtime's launch and attribute functions. */
struct status image_open(const struct attn_image *, void **library, const void **handle);
void image_close(void *library); /* NULL: nothing */

/* ---- cuda_check.cu ------------------------------------------------------------------------------------------- */

/* Writes the redzone pattern around a tensor's data. */
struct status fill_redzones(struct cuda_bench *, unsigned block);
struct status fill_inputs(struct cuda_bench *);
struct status check_fill(struct bench *);
void drop_references(struct cuda_bench *);
struct status check_poison(struct bench *);
struct status check_reference(struct bench *, struct oracle_result *);
struct status check_compare(struct bench *, const struct tolerance *, struct compare_result *);
struct status check_guard(struct bench *, struct guard_result *);
struct status check_witness(struct bench *, struct witness_result *);

/* Around a timed sample: inputs are changed or O poisoned before it, a part of O compared after it. */
struct status witness_prepare(struct cuda_bench *);
struct status witness_look(struct cuda_bench *);
/* Changes all inputs to values that they did not have before. Captured, it makes the same change at every launch of
 * the graph; the caller then updates the record of what they hold. */
struct status witness_change(struct cuda_bench *);
/* Loads the kernels of the three above: a kernel's first launch must not stand behind the blocking kernel. */
struct status witness_load();

/* ---- cuda_timer.cu ------------------------------------------------------------------------------------------- */

struct status timer_open(struct cuda_device *);
void timer_close(struct cuda_timer *);
struct status timer_prepare(struct bench *, uint32_t *hot_launches, double *estimate_us);
struct status timer_sample(struct bench *, enum time_mode, uint32_t n, double *us, double *sm_clock_mhz);
struct status timer_sample_changed(struct bench *, double estimate_us, double *us);
struct status timer_sample_memsets(struct bench *, double *us);
struct status timer_sample_passes(struct bench *, uint32_t n, double *us);
struct status timer_delay(struct bench *, enum time_mode, double delay_us);

/* The parts that a sample is made of, for the timer's own test. One sample of whatever `enqueue` puts on the stream,
 * between two events and behind the blocker. */
struct status timer_one_sample(struct cuda_bench *, bool flush, struct status (*enqueue)(struct cuda_bench *),
                               double *us);
/* Makes the binding's graph anew, of this many launches, and runs it once. */
struct status timer_capture(struct cuda_bench *, uint32_t launches);

/* The global timer, nanoseconds. */
inline __device__ unsigned long long global_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

/* Reads all of it past L1; the result is what keeps the reads from being dropped. */
inline __device__ unsigned int read_all(const uint4 *data, size_t count) {
  unsigned int sum = 0;
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint4 x = __ldcg(data + i);
    sum ^= x.x ^ x.y ^ x.z ^ x.w;
  }
  return sum;
}

/* ---- timer_test.cu    ---------------------------------------------------------------------------------------- */

struct status selftest_run(struct device *, struct selftest_facts *out);

/* ---- cuda_nvtx.cu -------------------------------------------------------------------------------------------- */

void range_push(struct device *, const char *name);
void range_pop(struct device *);
struct status profile_start(struct device *);
struct status profile_stop(struct device *);

}  // namespace attn

#endif
