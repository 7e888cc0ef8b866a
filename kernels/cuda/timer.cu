/* Timing. A few cold samples, all on one stream:
 *
 *   blocking kernel | flush L2 | event | passes of the plan | event | flush L2 | ...     then release the blocker
 *
 * The blocking kernel spins until the host has queued everything behind it, so that event, kernels and event run back
 * to back and no host time is in the sample (the idea is nvbench's). A hot sample is a graph of many launches between
 * two events, without a flush; launches of milliseconds need no graph. Every sample is checked for a blocker that
 * gave up waiting; such a sample is an error. */
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda/backend.cuh"
#include "kernels/timing.h"

namespace attn {

namespace {

constexpr uint64_t kBlockerLimitNs = 5'000'000'000; /* longer than any host stall between queueing and release */
constexpr uint64_t kProbeLimitNs = 100'000'000;     /* for finding out that launches are serialised */
constexpr double kSlowUs = 5000.0;                  /* one launch of more is estimate enough */
constexpr double kStampMinNs = 200e3;               /* the global timer may tick only every microsecond */
/* Clocks outside of these, the upper one a share of the highest, are misread. */
constexpr double kClockLeastMhz = 100, kClockMost = 1.03;
constexpr double kChangedMaxUs = 1000.0; /* of launches of more, one is tried with changed inputs */
constexpr double kChangedUs = 100.0;     /* a graph of launches with changing inputs lasts about this long */
constexpr double kChangedLaunchesMax = 7.0;
constexpr uint64_t kMemsetBytesMax = 64 << 10; /* of one memset; a larger one takes its time by its bytes */

/* ---- kernels ------------------------------------------------------------------------------------------------- */

__global__ void blocking_kernel(volatile unsigned int *release, volatile unsigned int *expired, unsigned int ticket,
                                uint64_t limit_ns) {
  const unsigned long long start = global_ns();
  while (static_cast<int>(*release - ticket) < 0) {
    if (global_ns() - start < limit_ns) continue;
    *expired = 1;
    __threadfence_system();
    return;
  }
}

__global__ void empty_kernel() {}

/* Reads more than L2 holds: evicts everything, writes back what was dirty, and leaves only clean lines. */
__global__ void flush_kernel(const uint4 *data, size_t count, unsigned int *sink) {
  const unsigned int sum = read_all(data, count);
  if (sum == 0x9e3779b9u) *sink = sum; /* never true for the zeros in the buffer, but the compiler cannot know */
}

/* Behind the plan's last pass: a slowdown of known size. Where it can be, it is launched ahead of that pass's end and
 * waits for it here, which halves the price of a launch, the least delay there is. */
__global__ void delay_kernel(unsigned long long cycles) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const long long start = clock64();
  while (static_cast<unsigned long long>(clock64() - start) < cycles) continue;
}

/* One stamp per SM that a block lands on; more blocks than SMs, so that nearly all get one. SMs need not be numbered
 * without gaps: one with a number from `sms` on gets none. */
__global__ void stamp_kernel(struct clock_stamp *stamps, unsigned int sms) {
  unsigned int sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (sm >= sms) return;
  stamps[sm] = {static_cast<unsigned long long>(clock64()), global_ns(),
                1u}; /* of several blocks on one SM any will do */
}

/* ---- blocker ------------------------------------------------------------------------------------------------- */

struct status block_stream(struct cuda_device *d, uint64_t limit_ns) {
  struct cuda_timer *t = &d->timer;
  ++t->ticket;
  if (!t->blocker_works) return status_ok();
  blocking_kernel<<<1, 1, 0, d->stream>>>(t->release, t->expired, t->ticket, limit_ns);
  CUDA_TRY(cudaGetLastError());
  return status_ok();
}

/* A launch that waits for the device would wait for the blocker. */
struct status block_launches(struct cuda_bench *p) {
  struct cuda_device *d = as_cuda(p->base.device);
  if (!p->bound.is_synchronous) return block_stream(d, kBlockerLimitNs);
  ++d->timer.ticket;
  return status_ok();
}

/* Releases the blocker, waits for the stream, and fails when the blocker did not hold. */
struct status release_and_wait(struct cuda_device *d) {
  struct cuda_timer *t = &d->timer;
  *t->release = t->ticket;
  CUDA_TRY(cudaStreamSynchronize(d->stream));
  if (*t->expired == 0) return status_ok();
  *t->expired = 0;
  return status_make(STATUS_DEVICE,
                     "the blocking kernel timed out: something serialises launches; sample not usable");
}

/* Under tools that wait for each kernel before the next launch (ncu, sanitizers) the blocker can never be released
 * in time: find out once, with a short limit. */
struct status probe_blocker(struct cuda_device *d) {
  struct cuda_timer *t = &d->timer;
  t->blocker_works = true;
  TRY(block_stream(d, kProbeLimitNs));
  empty_kernel<<<1, 1, 0, d->stream>>>();
  CUDA_TRY(cudaGetLastError());
  *t->release = t->ticket;
  CUDA_TRY(cudaStreamSynchronize(d->stream));
  t->blocker_works = *t->expired == 0;
  *t->expired = 0;
  d->base.info.hides_launches = t->blocker_works;
  return status_ok();
}

/* ---- SM clock ------------------------------------------------------------------------------------------------- */

struct status stamp(struct cuda_device *d, int which) {
  const uint32_t sms = d->base.info.sms;
  struct clock_stamp *stamps = d->timer.stamps + size_t{sms} * which;
  for (uint32_t i = 0; i < sms; ++i) stamps[i].seen = 0;
  stamp_kernel<<<4 * sms, 1, 0, d->stream>>>(stamps, sms);
  CUDA_TRY(cudaGetLastError());
  return status_ok();
}

/* Median over the SMs that were stamped twice. NAN where there are none, or where the global timer was set between
 * the stamps, so that no GPU has such a clock. Call after the stream is idle. */
double clock_between_stamps(const struct cuda_device *d) {
  const uint32_t sms = d->base.info.sms;
  std::vector<double> mhz;
  for (uint32_t i = 0; i < sms; ++i) {
    const struct clock_stamp &a = d->timer.stamps[i], &b = d->timer.stamps[sms + i];
    if (a.seen == 0 || b.seen == 0) continue;
    const double ns = static_cast<double>(b.nanoseconds - a.nanoseconds);
    if (b.nanoseconds > a.nanoseconds && ns >= kStampMinNs) mhz.push_back((b.cycles - a.cycles) / ns * 1e3);
  }
  if (mhz.empty()) return NAN;
  std::nth_element(mhz.begin(), mhz.begin() + mhz.size() / 2, mhz.end());
  const double median = mhz[mhz.size() / 2], most = d->base.info.sm_clock_max_mhz;
  return median < kClockLeastMhz || (most > 0 && median > kClockMost * most) ? NAN : median;
}

/* ---- samples -------------------------------------------------------------------------------------------------- */

struct status flush_l2(struct cuda_device *d) {
  const struct cuda_timer *t = &d->timer;
  flush_kernel<<<8 * d->base.info.sms, 256, 0, d->stream>>>(t->flush, t->flush_bytes / sizeof(uint4), t->sink);
  CUDA_TRY(cudaGetLastError());
  return status_ok();
}

struct status elapsed_us(const struct cuda_timer *t, uint32_t from, uint32_t to, double *us) {
  float ms = 0;
  CUDA_TRY(cudaEventElapsedTime(&ms, t->event[from], t->event[to]));
  *us = ms * 1e3;
  return status_ok();
}

struct status enqueue_delay(struct cuda_bench *p, enum time_mode mode) {
  const unsigned long long cycles = p->bound.delay_cycles[mode];
  if (cycles == 0) return status_ok();
  cudaLaunchAttribute ahead = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = config.blockDim = dim3(1);
  config.stream = stream_of(p);
  /* Not behind a captured library: what it launched last may be no kernel. */
  if (launches_ahead(&p->base.device->info) && p->bound.captured == nullptr) {
    ahead.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    ahead.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &ahead;
    config.numAttrs = 1;
  }
  CUDA_TRY(cudaLaunchKernelEx(&config, delay_kernel, cycles));
  return status_ok();
}

struct status enqueue_cold(struct cuda_bench *p) {
  TRY(enqueue_plan(p));
  return enqueue_delay(p, TIME_COLD);
}

struct status enqueue_in_graph(struct cuda_bench *p) {
  TRY(enqueue_plan(p));
  return enqueue_delay(p, TIME_HOT);
}

struct status enqueue_hot(struct cuda_bench *p) {
  if (p->bound.graph == nullptr) return enqueue_in_graph(p);
  CUDA_TRY(cudaGraphLaunch(p->bound.graph, stream_of(p)));
  return status_ok();
}

/* Behind the blocker. The empty kernel stands where the blocker stands in other samples: the first event is behind a
 * single thread, not behind the last blocks of the flush. */
struct status enqueue_cold_sample(struct cuda_bench *p, uint32_t i) {
  struct cuda_device *d = as_cuda(p->base.device);
  TRY(witness_prepare(p));
  TRY(flush_l2(d));
  empty_kernel<<<1, 1, 0, d->stream>>>();
  CUDA_TRY(cudaGetLastError());
  CUDA_TRY(cudaEventRecord(d->timer.event[2 * i], d->stream));
  TRY(enqueue_cold(p));
  CUDA_TRY(cudaEventRecord(d->timer.event[2 * i + 1], d->stream));
  return witness_look(p);
}

/* Up to kColdChain samples. */
struct status cold_samples(struct cuda_bench *p, uint32_t n, double *us) {
  struct cuda_device *d = as_cuda(p->base.device);
  TRY(block_launches(p));
  for (uint32_t i = 0; i < n; ++i) TRY(enqueue_cold_sample(p, i));
  TRY(release_and_wait(d));
  for (uint32_t i = 0; i < n; ++i) TRY(elapsed_us(&d->timer, 2 * i, 2 * i + 1, &us[i]));
  return status_ok();
}

struct status hot_sample(struct cuda_bench *p, double *us) {
  TRY(witness_prepare(p));
  TRY(timer_one_sample(p, false, enqueue_hot, us));
  *us /= p->bound.hot_launches;
  return witness_look(p);
}

/* Up to TIMING_CUDA_STEADY_CHAIN samples, with one event between two of them. The first one may wait for the host,
 * which queues the rest while it runs. */
struct status steady_samples(struct cuda_bench *p, uint32_t n, double *us) {
  struct cuda_timer *t = &as_cuda(p->base.device)->timer;
  TRY(witness_prepare(p));
  CUDA_TRY(cudaEventRecord(t->event[0], stream_of(p)));
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t k = 0; k < (p->bound.graph == nullptr ? p->bound.hot_launches : 1); ++k) TRY(enqueue_hot(p));
    CUDA_TRY(cudaEventRecord(t->event[i + 1], stream_of(p)));
  }
  TRY(witness_look(p));
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  for (uint32_t i = 0; i < n; ++i) {
    TRY(elapsed_us(t, i, i + 1, &us[i]));
    us[i] /= p->bound.hot_launches;
  }
  return status_ok();
}

/* Events between the passes: their cost is in the sample, so passes are sampled apart from the whole. */
struct status one_pass_sample(struct cuda_bench *p, uint32_t n, uint32_t i, double *us) {
  struct cuda_device *d = as_cuda(p->base.device);
  const uint32_t passes = p->base.plan.pass_count;
  TRY(flush_l2(d));
  TRY(block_stream(d, kBlockerLimitNs));
  CUDA_TRY(cudaEventRecord(d->timer.event[0], d->stream));
  for (uint32_t pass = 0; pass < passes; ++pass) {
    TRY(enqueue_pass(p, pass, true));
    CUDA_TRY(cudaEventRecord(d->timer.event[pass + 1], d->stream));
  }
  TRY(release_and_wait(d));
  for (uint32_t pass = 0; pass < passes; ++pass) {
    TRY(elapsed_us(&d->timer, pass, pass + 1, &us[size_t{pass} * n + i]));
  }
  return status_ok();
}

/* A chain of samples of a mode. */
struct status take_samples(struct cuda_bench *p, enum time_mode mode, uint32_t n, double *us) {
  switch (mode) {
    case TIME_COLD: return cold_samples(p, n, us);
    case TIME_HOT: return hot_sample(p, us);
    case TIME_STEADY: return steady_samples(p, n, us);
    case TIME_MODE_COUNT: break;
  }
  return status_make(STATUS_INTERNAL, "there is no such mode of timing");
}

void drop_graph(struct cuda_bench *p) {
  if (p->bound.graph != nullptr) cudaGraphExecDestroy(p->bound.graph);
  p->bound.graph = nullptr;
}

struct status capture_graph(struct cuda_bench *p, uint32_t launches) {
  cudaGraph_t graph;
  TRY(capture_launches(p, launches, enqueue_in_graph, &graph));
  const cudaError_t made = cudaGraphInstantiate(&p->bound.graph, graph, 0);
  cudaGraphDestroy(graph);
  CUDA_TRY(made);
  CUDA_TRY(cudaGraphUpload(p->bound.graph, stream_of(p)));
  return enqueue_hot(p); /* the first launch may still set things up: never behind the blocker */
}

/* ---- launches whose inputs change ---------------------------------------------------------------------------- */

struct status enqueue_changed(struct cuda_bench *p) {
  TRY(witness_change(p));
  return enqueue_in_graph(p);
}

struct status launch_changed(struct cuda_bench *p) {
  CUDA_TRY(cudaGraphLaunch(p->changed, stream_of(p)));
  return status_ok();
}

/* Runs the graph some times, the first time to set it up. It makes the same changes every time, in all `change`, so
 * that another one before it keeps its launches from inputs that an earlier run of it had. */
struct status sample_graph(struct cuda_bench *p, const struct pattern &change, bool computes, double *best_us) {
  constexpr int kSamples = 4;
  for (int i = 0; i < kSamples; ++i) {
    double us = 0;
    TRY(witness_change(p));
    p->base.inputs.flips ^= change.flips;
    p->base.inputs.swapped ^= change.swapped;
    if (i == 0) {
      TRY(launch_changed(p));
    } else {
      TRY(timer_one_sample(p, false, launch_changed, &us));
      *best_us = std::min(*best_us, us);
    }
    if (computes) TRY(witness_look(p));
  }
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  return status_ok();
}

/* The shortest time of a graph of so many changes, each with a launch of the plan behind it or none. */
struct status time_changed(struct cuda_bench *p, uint32_t launches, struct status (*enqueue)(struct cuda_bench *),
                           double *best_us) {
  cudaGraph_t graph;
  const struct pattern before = p->base.inputs;
  const struct status captured = capture_launches(p, launches, enqueue, &graph);
  struct pattern change = p->base.inputs;
  change.flips ^= before.flips;
  change.swapped ^= before.swapped;
  p->base.inputs = before; /* nothing was run */
  TRY(captured);
  const cudaError_t made = cudaGraphInstantiate(&p->changed, graph, 0);
  cudaGraphDestroy(graph);
  CUDA_TRY(made);
  const struct status status = sample_graph(p, change, enqueue == enqueue_changed, best_us);
  cudaGraphExecDestroy(p->changed);
  p->changed = nullptr;
  return status;
}

/* One change with a launch behind it, and one without, which leaves O stale. */
struct status time_one_changed(struct cuda_bench *p, double *us) {
  double with_us = 0, without_us = 0;
  TRY(timer_one_sample(p, false, witness_change, &without_us));
  TRY(timer_one_sample(p, false, enqueue_changed, &with_us));
  *us = std::max(with_us - without_us, 0.0);
  return witness_look(p);
}

/* ---- memsets in a launch --------------------------------------------------------------------------------------- */

uint64_t memset_bytes(const struct cuda_bench *p) {
  const struct attn_launched &launched = p->base.plan.launched;
  return std::max(launched.memset_bytes / std::max(launched.memsets, 1u), uint64_t{1});
}

/* The same number again, of memory that is zero already. */
struct status enqueue_with_memsets(struct cuda_bench *p) {
  TRY(enqueue_in_graph(p));
  for (uint32_t i = 0; i < p->base.plan.launched.memsets; ++i)
    CUDA_TRY(cudaMemsetAsync(as_cuda(p->base.device)->timer.flush, 0, memset_bytes(p), stream_of(p)));
  return status_ok();
}

/* In turns with the graph that hot samples launch. The graph was launched once before, which sets it up. */
struct status time_memsets(struct cuda_bench *p, double *us) {
  constexpr int kTurns = 9;
  double more_us[kTurns];
  TRY(launch_changed(p));
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  for (double &more : more_us) {
    double with_us = 0, without_us = 0;
    TRY(timer_one_sample(p, false, enqueue_hot, &without_us));
    TRY(timer_one_sample(p, false, launch_changed, &with_us));
    more = with_us - without_us;
  }
  std::nth_element(more_us, more_us + kTurns / 2, more_us + kTurns);
  *us = std::max(more_us[kTurns / 2], 0.0) / p->bound.hot_launches;
  return status_ok();
}

/* What the two events cost themselves: an empty kernel between them, median of 31. 0, not known, where a tool inside
 * the process stops launches. */
struct status measure_event_overhead(struct cuda_device *d) {
  constexpr int kSamples = 31;
  double us[kSamples];
  for (double &sample : us) {
    TRY(block_stream(d, kBlockerLimitNs));
    CUDA_TRY(cudaEventRecord(d->timer.event[0], d->stream));
    empty_kernel<<<1, 1, 0, d->stream>>>();
    CUDA_TRY(cudaEventRecord(d->timer.event[1], d->stream));
    TRY(release_and_wait(d));
    TRY(elapsed_us(&d->timer, 0, 1, &sample));
  }
  std::nth_element(us, us + kSamples / 2, us + kSamples);
  d->base.event_overhead_us = us[kSamples / 2] <= TIMING_EVENT_OVERHEAD_MOST_US ? us[kSamples / 2] : 0;
  return status_ok();
}

struct status allocate(struct cuda_device *d) {
  struct cuda_timer *t = &d->timer;
  unsigned int *flags;
  for (cudaEvent_t &event : t->event) CUDA_TRY(cudaEventCreate(&event));
  CUDA_TRY(cudaMallocHost(&flags, 2 * sizeof *flags));
  flags[0] = flags[1] = 0;
  t->release = flags;
  t->expired = flags + 1;
  CUDA_TRY(cudaMallocHost(&t->stamps, 2 * size_t{d->base.info.sms} * sizeof *t->stamps));
  t->flush_bytes = size_t{TIMING_FLUSH_OVER_L2} * d->base.info.l2_bytes;
  CUDA_TRY(cudaMalloc(&t->flush, t->flush_bytes));
  CUDA_TRY(cudaMemsetAsync(t->flush, 0, t->flush_bytes, d->stream)); /* which the default stream does not order */
  CUDA_TRY(cudaMalloc(&t->sink, sizeof *t->sink));
  return status_ok();
}

}  // namespace

struct status timer_one_sample(struct cuda_bench *p, bool flush, struct status (*enqueue)(struct cuda_bench *),
                               double *us) {
  struct cuda_device *d = as_cuda(p->base.device);
  if (flush) TRY(flush_l2(d));
  TRY(block_launches(p));
  CUDA_TRY(cudaEventRecord(d->timer.event[0], d->stream));
  TRY(enqueue(p));
  CUDA_TRY(cudaEventRecord(d->timer.event[1], d->stream));
  TRY(release_and_wait(d));
  return elapsed_us(&d->timer, 0, 1, us);
}

struct status timer_capture(struct cuda_bench *p, uint32_t launches) {
  drop_graph(p);
  p->bound.hot_launches = launches;
  TRY(capture_graph(p, launches));
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  return status_ok();
}

struct status timer_delay(struct bench *bench, enum time_mode mode, double delay_us) {
  struct cuda_bench *p = as_cuda(bench);
  const double cycles = delay_us * bench->device->info.sm_clock_max_mhz;
  p->bound.delay_cycles[mode] = delay_us > 0 ? static_cast<unsigned long long>(std::max(cycles, 1.0)) : 0;
  delay_kernel<<<1, 1, 0, stream_of(p)>>>(1); /* loaded at its first launch, which must not be behind the blocker */
  CUDA_TRY(cudaGetLastError());
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  return status_ok();
}

struct status timer_open(struct cuda_device *d) {
  TRY(allocate(d));
  /* Kernels are loaded at their first launch, which must not happen behind the blocker. */
  empty_kernel<<<1, 1, 0, d->stream>>>();
  TRY(flush_l2(d));
  TRY(stamp(d, 0));
  TRY(witness_load());
  CUDA_TRY(cudaStreamSynchronize(d->stream));
  TRY(probe_blocker(d));
  return measure_event_overhead(d);
}

void timer_close(struct cuda_timer *t) {
  for (const cudaEvent_t event : t->event) {
    if (event != nullptr) cudaEventDestroy(event);
  }
  if (t->release != nullptr) cudaFreeHost(const_cast<unsigned int *>(t->release));
  if (t->stamps != nullptr) cudaFreeHost(t->stamps);
  if (t->flush != nullptr) cudaFree(t->flush);
  if (t->sink != nullptr) cudaFree(t->sink);
}

struct status timer_prepare(struct bench *bench, uint32_t *hot_launches, double *estimate_us) {
  struct cuda_bench *p = as_cuda(bench);
  CUDA_TRY(cudaCtxResetPersistingL2Cache());
  *estimate_us = INFINITY;
  for (int i = 0; i < 3 && !(*estimate_us > kSlowUs && std::isfinite(*estimate_us)); ++i) { /* a slow launch: once */
    double us = 0;
    TRY(timer_one_sample(p, false, enqueue_plan, &us));
    *estimate_us = std::min(*estimate_us, us);
  }
  *hot_launches = static_cast<uint32_t>(
      std::clamp(TIMING_CUDA_HOT_SAMPLE_US / *estimate_us, 1.0, double{TIMING_CUDA_HOT_LAUNCHES_MAX}));
  if (p->bound.is_synchronous) *hot_launches = 1;
  if (*estimate_us <= kSlowUs && !p->bound.is_synchronous) return timer_capture(p, *hot_launches);
  drop_graph(p);
  p->bound.hot_launches = *hot_launches;
  return status_ok();
}

struct status timer_sample(struct bench *bench, enum time_mode mode, uint32_t n, double *us, double *sm_clock_mhz) {
  struct cuda_bench *p = as_cuda(bench);
  struct cuda_device *d = as_cuda(bench->device);
  TRY(stamp(d, 0));
  const uint32_t chain = mode == TIME_COLD ? kColdChain : mode == TIME_HOT ? 1 : uint32_t{TIMING_CUDA_STEADY_CHAIN};
  for (uint32_t i = 0; i < n; i += chain) TRY(take_samples(p, mode, std::min(n - i, chain), us + i));
  TRY(stamp(d, 1));
  CUDA_TRY(cudaStreamSynchronize(d->stream));
  *sm_clock_mhz = clock_between_stamps(d);
  return status_ok();
}

struct status timer_sample_changed(struct bench *bench, double estimate_us, double *us) {
  struct cuda_bench *p = as_cuda(bench);
  double with_us = INFINITY, without_us = INFINITY;
  if (p->bound.is_synchronous) return status_ok();
  if (!(estimate_us <= kChangedMaxUs)) return time_one_changed(p, us);
  const uint32_t launches = static_cast<uint32_t>(std::clamp(kChangedUs / estimate_us, 1.0, kChangedLaunchesMax)) |
                            1;                                 /* odd, see device.h */
  TRY(time_changed(p, launches, witness_change, &without_us)); /* first: it leaves O stale */
  TRY(time_changed(p, launches, enqueue_changed, &with_us));
  *us = std::max(with_us - without_us, 0.0) / launches;
  return status_ok();
}

struct status timer_sample_memsets(struct bench *bench, double *us) {
  struct cuda_bench *p = as_cuda(bench);
  cudaGraph_t graph;
  if (p->bound.graph == nullptr || memset_bytes(p) > kMemsetBytesMax) return status_ok();
  TRY(capture_launches(p, p->bound.hot_launches, enqueue_with_memsets, &graph));
  const cudaError_t made = cudaGraphInstantiate(&p->changed, graph, 0);
  cudaGraphDestroy(graph);
  CUDA_TRY(made);
  const struct status status = time_memsets(p, us);
  cudaGraphExecDestroy(p->changed);
  p->changed = nullptr;
  return status;
}

struct status timer_sample_passes(struct bench *bench, uint32_t n, double *us) {
  for (uint32_t i = 0; i < n; ++i) TRY(one_pass_sample(as_cuda(bench), n, i, us));
  return status_ok();
}

}  // namespace attn
