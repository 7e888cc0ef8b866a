/* The self-test of the GPU timer. Its launches are variants of its own, not in the registry: they are bound, captured
 * and sampled by the very code that times every other variant. */
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda/backend.cuh"
#include "kernels/tiles/attn_params.cuh"

namespace attn {

namespace {

constexpr uint32_t kStampsMax = SELFTEST_SAMPLES * 200; /* a graph holds at most 200 launches */
constexpr uint32_t kStampOffset = DEVICE_ALIGN_BYTES;   /* in the workspace, behind the number of stamps */
constexpr int kTicks = 64, kTickReadsMax = 1 << 20;
constexpr double kLongSpinUs = 10000.0;
constexpr int kWarmUpSpins = 15;
constexpr uint32_t kLongGraph = 200;
constexpr int kEventSteps = 512;

/* ---- launches ------------------------------------------------------------------------------------------------ */

/* What a spinning launch writes down of itself. */
struct spin_stamp {
  unsigned long long nanoseconds, cycles;
};

struct spin_args {
  unsigned long long cycles;
  spin_stamp *stamps;
  volatile unsigned int *count; /* launches so far; launches of one stream come one after another */
};

struct read_args {
  const uint4 *data;
  size_t count;
  unsigned int *sink;
};

/* The number is read while the clock runs: behind the end there is one store and nothing else. */
__global__ void selftest_spin_kernel(const __grid_constant__ spin_args a) {
  const unsigned long long start_ns = global_ns();
  const long long start = clock64();
  const unsigned int index = *a.count;
  *a.count = index + 1;
  long long now;
  do {
    now = clock64();
  } while (static_cast<unsigned long long>(now - start) < a.cycles);
  const unsigned long long end_ns = global_ns();
  if (index < kStampsMax) {
    reinterpret_cast<ulonglong2 *>(a.stamps)[index] =
        make_ulonglong2(end_ns - start_ns, static_cast<unsigned long long>(now - start));
  }
}

__global__ void selftest_empty_kernel() {}

__global__ void selftest_read_kernel(const __grid_constant__ read_args a) {
  const unsigned int sum = read_all(a.data, a.count);
  if (sum == 0x9e3779b9u) *a.sink = sum; /* never true for zeros, but the compiler cannot know */
}

/* The smallest step between two readings of the global timer; 0 when it stands still. */
__global__ void selftest_tick_kernel(unsigned long long *least_ns) {
  unsigned long long last = global_ns(), least = ~0ull;
  for (int reads = 0, ticks = 0; ticks < kTicks && reads < kTickReadsMax; ++reads) {
    const unsigned long long now = global_ns();
    if (now == last) continue;
    least = min(least, now - last);
    last = now;
    ++ticks;
  }
  *least_ns = least == ~0ull ? 0 : least;
}

void plan_pass(struct attn_plan *plan, const void *kernel, uint32_t blocks, uint32_t threads) {
  plan->pass_count = 1;
  plan->pass[0].name = "main";
  plan->pass[0].kernel = kernel;
  set_grid(plan->pass[0], blocks, ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING);
  set_block(plan->pass[0], threads, 0, 0);
}

void plan_spin(const attn_problem *, const attn_tuning *, const struct device_info *, attn_plan *plan) {
  plan_pass(plan, handle(selftest_spin_kernel), 1, 1);
  plan->workspace_bytes = kStampOffset + sizeof(spin_stamp) * kStampsMax;
}

struct status bind_spin(const attn_problem *, const attn_plan *, const attn_buffers *buffers, attn_pass_args *args) {
  unsigned char *workspace = static_cast<unsigned char *>(buffers->workspace);
  put_args(args[0], spin_args{0, reinterpret_cast<spin_stamp *>(workspace + kStampOffset),
                              reinterpret_cast<volatile unsigned int *>(workspace)});
  return status_ok();
}

void plan_empty(const attn_problem *, const attn_tuning *, const struct device_info *, attn_plan *plan) {
  plan_pass(plan, handle(selftest_empty_kernel), 1, 1);
}

struct status bind_empty(const attn_problem *, const attn_plan *, const attn_buffers *, attn_pass_args *) {
  return status_ok();
}

/* The workspace is what is read, and holds the sink behind it. */
void plan_read(const attn_problem *, const attn_tuning *, const struct device_info *device, attn_plan *plan) {
  plan_pass(plan, handle(selftest_read_kernel), 8 * device->sms, 256);
  plan->workspace_bytes = device->l2_bytes / 2 / sizeof(uint4) * sizeof(uint4) + sizeof(uint4);
}

struct status bind_read(const attn_problem *, const attn_plan *plan, const attn_buffers *buffers,
                        attn_pass_args *args) {
  const uint4 *data = static_cast<const uint4 *>(buffers->workspace);
  const size_t count = plan->workspace_bytes / sizeof *data - 1;
  put_args(args[0], read_args{data, count, static_cast<unsigned int *>(buffers->workspace) + 4 * count});
  return status_ok();
}

const struct attn_variant kSpin = {
    .name = "selftest_spin", .runs_on = DEVICE_CUDA, .plan = plan_spin, .bind = bind_spin};
const struct attn_variant kEmpty = {
    .name = "selftest_empty", .runs_on = DEVICE_CUDA, .plan = plan_empty, .bind = bind_empty};
const struct attn_variant kRead = {
    .name = "selftest_read", .runs_on = DEVICE_CUDA, .plan = plan_read, .bind = bind_read};

/* Binds, and launches once: kernels are loaded at their first launch, which must not be behind the blocker. */
struct status bind(struct cuda_bench *p, const struct attn_variant *variant) {
  struct pass_facts facts[ATTN_PASSES_MAX] = {};
  const struct attn_tuning tuning = {};
  struct attn_plan plan;
  variant_plan(variant, &p->base.shape, &tuning, &p->base.device->info, &plan);
  TRY(bench_bind(&p->base, variant, &plan, facts));
  if (plan.workspace_bytes > 0) {
    CUDA_TRY(cudaMemsetAsync(data_of(p, BENCH_WORKSPACE), 0, plan.workspace_bytes, stream_of(p)));
  }
  return bench_launch(&p->base);
}

/* Does something with the inactive binding. */
template <typename Action>
struct status on_inactive(struct cuda_bench *p, Action action) {
  bench_swap(&p->base);
  const struct status status = action();
  bench_swap(&p->base);
  return status;
}

/* ---- samples ------------------------------------------------------------------------------------------------- */

double median_of(std::vector<double> us) {
  std::nth_element(us.begin(), us.begin() + us.size() / 2, us.end());
  return us[us.size() / 2];
}

struct status sample_hot(struct cuda_bench *p, double *median_us) {
  double unused;
  std::vector<double> us(SELFTEST_SAMPLES);
  TRY(bench_sample(&p->base, TIME_HOT, SELFTEST_SAMPLES, us.data(), &unused));
  *median_us = median_of(us);
  return status_ok();
}

struct status sample_between_events(struct cuda_bench *p, bool flush, struct status (*enqueue)(struct cuda_bench *),
                                    double *median_us) {
  std::vector<double> us(SELFTEST_SAMPLES);
  for (double &sample : us) TRY(timer_one_sample(p, flush, enqueue, &sample));
  *median_us = median_of(us);
  return status_ok();
}

struct status enqueue_nothing(struct cuda_bench *) {
  return status_ok();
}

/* ---- spins --------------------------------------------------------------------------------------------------- */

/* A graph captured before keeps the cycles that it was captured with. */
void set_cycles(struct cuda_bench *p, double cycles) {
  reinterpret_cast<spin_args *>(p->bound.args[0].bytes)->cycles = static_cast<unsigned long long>(cycles);
}

struct status forget_stamps(struct cuda_bench *p) {
  CUDA_TRY(cudaMemsetAsync(data_of(p, BENCH_WORKSPACE), 0, sizeof(unsigned int), stream_of(p)));
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  return status_ok();
}

/* The stamps of all launches since they were forgotten, which must be this many. */
struct status read_stamps(struct cuda_bench *p, uint32_t launches, std::vector<spin_stamp> *out) {
  const unsigned char *workspace = static_cast<const unsigned char *>(data_of(p, BENCH_WORKSPACE));
  unsigned int count = 0;
  CUDA_TRY(cudaMemcpy(&count, workspace, sizeof count, cudaMemcpyDeviceToHost));
  if (count != launches || launches > kStampsMax) {
    return status_make(STATUS_INTERNAL, "self-test: %u launches of the spin were asked for and %u came", launches,
                       count);
  }
  out->resize(launches);
  CUDA_TRY(cudaMemcpy(out->data(), workspace + kStampOffset, launches * sizeof(spin_stamp), cudaMemcpyDeviceToHost));
  return status_ok();
}

double mhz_of(const std::vector<spin_stamp> &stamps) {
  double cycles = 0, ns = 0;
  for (const spin_stamp &s : stamps)
    cycles += static_cast<double>(s.cycles), ns += static_cast<double>(s.nanoseconds);
  return cycles / ns * 1e3;
}

/* Brings the clocks up; *mhz is then the SM clock. */
struct status calibrate(struct cuda_bench *p, double *mhz) {
  std::vector<spin_stamp> stamps;
  set_cycles(p, kLongSpinUs * p->base.device->info.sm_clock_max_mhz);
  for (int i = 0; i < kWarmUpSpins; ++i) TRY(bench_launch(&p->base));
  TRY(forget_stamps(p));
  TRY(bench_launch(&p->base));
  TRY(read_stamps(p, 1, &stamps));
  *mhz = mhz_of(stamps);
  return status_ok();
}

struct status time_spin(struct cuda_bench *p, enum time_mode mode, struct selftest_timing *out) {
  double us[SELFTEST_SAMPLES], unused;
  std::vector<spin_stamp> stamps;
  out->launches = mode == TIME_HOT ? p->bound.hot_launches : 1;
  out->count = SELFTEST_SAMPLES;
  TRY(forget_stamps(p));
  TRY(bench_sample(&p->base, mode, out->count, us, &unused));
  TRY(read_stamps(p, out->count * out->launches, &stamps));
  for (uint32_t i = 0; i < out->count; ++i) {
    double ns = 0;
    for (uint32_t k = 0; k < out->launches; ++k) {
      ns += static_cast<double>(stamps[size_t{i} * out->launches + k].nanoseconds);
    }
    out->sample[i] = {us[i], ns / out->launches * 1e-3};
  }
  return status_ok();
}

/* The inactive binding is the empty kernel. */
struct status time_spin_modes(struct cuda_bench *p, double mhz, struct selftest_spin *out) {
  uint32_t launches;
  double estimate_us, unused[3], unused_mhz;
  set_cycles(p, out->target_us * mhz);
  TRY(bench_time_prepare(&p->base, &launches, &estimate_us));
  TRY(bench_sample(&p->base, TIME_HOT, 3, unused, &unused_mhz));
  TRY(time_spin(p, TIME_COLD, &out->timing[TIME_COLD]));
  TRY(time_spin(p, TIME_HOT, &out->timing[TIME_HOT]));
  out->timing[TIME_COLD].constant_us = device_event_overhead_us(p->base.device);
  return on_inactive(p, [&] {
    TRY(timer_capture(p, launches));
    return sample_hot(p, &out->timing[TIME_HOT].constant_us);
  });
}

struct status time_spins(struct cuda_bench *p, double mhz, struct selftest_facts *out) {
  for (uint32_t i = 0; i < SELFTEST_SPINS; ++i) {
    out->spin[i].target_us = selftest_spin_us[i];
    TRY(time_spin_modes(p, mhz, &out->spin[i]));
    ++out->spin_count;
  }
  return status_ok();
}

/* ---- events and graphs --------------------------------------------------------------------------------------- */

/* Spins whose lengths differ by less than any timer tells; the steps seen between their times are the timer's. */
struct status find_event_step(struct cuda_bench *p, double *step_us) {
  constexpr double kSameUs = 1e-4; /* two times that differ only by the rounding of a float */
  std::vector<double> us(kEventSteps);
  for (int i = 0; i < kEventSteps; ++i) {
    set_cycles(p, 2000 + 13 * i);
    TRY(timer_one_sample(p, false, enqueue_plan, &us[i]));
  }
  std::sort(us.begin(), us.end());
  *step_us = INFINITY;
  for (size_t i = 1; i < us.size(); ++i) {
    if (us[i] - us[i - 1] > kSameUs) *step_us = std::min(*step_us, us[i] - us[i - 1]);
  }
  return status_ok();
}

struct status time_events(struct cuda_bench *p, struct selftest_facts *out) {
  TRY(find_event_step(p, &out->event_step_us));
  TRY(sample_between_events(p, false, enqueue_nothing, &out->event_pair_us));
  return on_inactive(p, [&] {
    double long_us = 0;
    TRY(sample_between_events(p, false, enqueue_plan, &out->event_kernel_us));
    TRY(timer_capture(p, 1));
    TRY(sample_hot(p, &out->graph_launch_us));
    TRY(timer_capture(p, kLongGraph));
    TRY(sample_hot(p, &long_us));
    out->graph_node_us = (long_us * kLongGraph - out->graph_launch_us) / (kLongGraph - 1);
    return status_ok();
  });
}

/* ---- clocks and caches --------------------------------------------------------------------------------------- */

struct status find_tick(struct cuda_bench *p, double *tick_us) {
  unsigned long long ns = 0, *at = static_cast<unsigned long long *>(data_of(p, BENCH_WORKSPACE));
  selftest_tick_kernel<<<1, 1, 0, stream_of(p)>>>(at);
  CUDA_TRY(cudaGetLastError());
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  CUDA_TRY(cudaMemcpy(&ns, at, sizeof ns, cudaMemcpyDeviceToHost));
  *tick_us = static_cast<double>(ns) * 1e-3;
  return status_ok();
}

struct status read_clocks(struct cuda_bench *p, double mhz, struct selftest_facts *out) {
  constexpr uint32_t kSpins = 12;
  double us[kSpins];
  uint32_t launches;
  double estimate_us;
  struct device_health health;
  std::vector<spin_stamp> stamps;
  set_cycles(p, kLongSpinUs * mhz);
  TRY(bench_time_prepare(&p->base, &launches, &estimate_us));
  TRY(forget_stamps(p));
  TRY(bench_sample(&p->base, TIME_HOT, kSpins, us, &out->stamp_mhz));
  device_health_read(p->base.device, &health);
  TRY(read_stamps(p, kSpins * launches, &stamps));
  out->spin_mhz = mhz_of(stamps);
  out->nvml_mhz = health.sm_clock_mhz;
  return status_ok();
}

/* Puts the read in the spin's place. */
struct status time_reads(struct cuda_bench *p, struct selftest_facts *out) {
  double unused;
  TRY(bind(p, &kRead));
  out->read_bytes = static_cast<double>(p->base.plan.workspace_bytes - sizeof(uint4));
  out->read_constant_us = out->event_kernel_us;
  TRY(sample_between_events(p, true, enqueue_plan, &out->flushed_us));
  for (int i = 0; i < 3; ++i) TRY(timer_one_sample(p, false, enqueue_plan, &unused));
  return sample_between_events(p, false, enqueue_plan, &out->unflushed_us);
}

struct status run_parts(struct cuda_bench *p, struct selftest_facts *out) {
  double mhz = 0;
  TRY(on_inactive(p, [&] { return bind(p, &kEmpty); }));
  TRY(bind(p, &kSpin));
  TRY(find_tick(p, &out->tick_us));
  TRY(calibrate(p, &mhz));
  TRY(time_spins(p, mhz, out));
  TRY(time_events(p, out));
  TRY(read_clocks(p, mhz, out));
  return time_reads(p, out);
}

}  // namespace

struct status selftest_run(struct device *device, struct selftest_facts *out) {
  const struct attn_problem shape = ATTN_DENSE(1, 1, 1, 1, 1, 8, ATTN_F16, false);
  struct bench *bench = nullptr;
  TRY(bench_open(device, &shape, 1, &bench));
  const struct status status = run_parts(as_cuda(bench), out);
  bench_close(bench);
  return status;
}

}  // namespace attn
