/* The self-test of the CPU device's timer. The launches are variants of its own, not in the registry. */
#include <math.h>

#include "kernels/cpu/host_info.h"
#include "kernels/device_ops.h"

enum {
  SPIN_LAUNCHES_MAX = 8192, /* whose truth is kept: a sample of the shortest spin has about 100 */
  TICK_READS = 4096,
  READ_ROWS = 1024,
  READ_COLUMNS = 64, /* floats: 256 KB of K, and as much of V */
};

/* What the launches of the process do and wrote down: run() has no other way to be told. */
static struct {
  double target_us;
  uint32_t count;
  double truth_us[SPIN_LAUNCHES_MAX];
  volatile uint64_t sum;
} launches;

/* ---- the launches -------------------------------------------------------------------------------------------- */

static void plan_nothing(const struct attn_problem *shape, const struct attn_tuning *tuning,
                         const struct device_info *device, struct attn_plan *plan) {
  (void)shape, (void)tuning, (void)device, (void)plan;
}

static void run_spin(const struct attn_problem *shape, const struct attn_plan *plan,
                     const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  const double start_us = cpu_now_us();
  double now_us;
  do {
    now_us = cpu_now_us();
  } while (now_us - start_us < launches.target_us);
  if (launches.count < SPIN_LAUNCHES_MAX) launches.truth_us[launches.count] = now_us - start_us;
  ++launches.count;
}

static void run_empty(const struct attn_problem *shape, const struct attn_plan *plan,
                      const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
}

static void run_read(const struct attn_problem *shape, const struct attn_plan *plan,
                     const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)threads;
  const uint64_t *k = buffers->k, *v = buffers->v;
  const uint64_t words = READ_ROWS * READ_COLUMNS * sizeof(float) / sizeof *k;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < words; ++i) sum ^= k[i] ^ v[i];
  launches.sum = sum;
}

static const struct attn_variant spin = {
    .name = "selftest_spin", .runs_on = DEVICE_CPU, .plan = plan_nothing, .run = run_spin};
static const struct attn_variant empty = {
    .name = "selftest_empty", .runs_on = DEVICE_CPU, .plan = plan_nothing, .run = run_empty};
static const struct attn_variant read_kv = {
    .name = "selftest_read", .runs_on = DEVICE_CPU, .plan = plan_nothing, .run = run_read};

static struct status bind(struct bench *bench, const struct attn_variant *variant, uint32_t *hot_launches) {
  struct pass_facts facts[ATTN_PASSES_MAX];
  struct attn_plan plan = {0};
  double estimate_us;
  TRY(bench_bind(bench, variant, &plan, facts));
  return bench_time_prepare(bench, hot_launches, &estimate_us);
}

/* ---- spins --------------------------------------------------------------------------------------------------- */

static struct status time_spin(struct bench *bench, enum time_mode mode, uint32_t hot_launches,
                               struct selftest_timing *out) {
  double us[SELFTEST_SAMPLES], unused;
  out->launches = mode == TIME_HOT ? hot_launches : 1;
  out->count = SPIN_LAUNCHES_MAX / out->launches;
  if (out->count > SELFTEST_SAMPLES) out->count = SELFTEST_SAMPLES;
  launches.count = 0;
  TRY(bench_sample(bench, mode, out->count, us, &unused));
  if (launches.count != out->count * out->launches)
    return status_make(STATUS_INTERNAL, "cpu: %u samples of %u launches launched %u times", out->count, out->launches,
                       launches.count);
  for (uint32_t i = 0; i < out->count; ++i) {
    double sum_us = 0;
    for (uint32_t k = 0; k < out->launches; ++k) sum_us += launches.truth_us[i * out->launches + k];
    out->sample[i] = (struct selftest_sample){.time_us = us[i], .truth_us = sum_us / out->launches};
  }
  return status_ok();
}

static struct status time_spins(struct bench *bench, struct selftest_facts *out) {
  for (uint32_t i = 0; i < SELFTEST_SPINS; ++i) {
    struct selftest_spin *spinning = &out->spin[out->spin_count++];
    uint32_t hot_launches = 1;
    spinning->target_us = launches.target_us = selftest_spin_us[i];
    TRY(bind(bench, &spin, &hot_launches));
    for (enum time_mode mode = TIME_COLD; mode <= TIME_HOT; ++mode)
      TRY(time_spin(bench, mode, hot_launches, &spinning->timing[mode]));
  }
  return status_ok();
}

/* ---- the rest ------------------------------------------------------------------------------------------------ */

static double smallest_tick_us(void) {
  double least_us = INFINITY, last_us = cpu_now_us();
  for (int i = 0; i < TICK_READS; ++i) {
    const double now_us = cpu_now_us();
    if (now_us > last_us) least_us = fmin(least_us, now_us - last_us);
    last_us = now_us;
  }
  return least_us;
}

/* The least of several: on a busy machine most samples hold other programs' time too. */
static struct status sample_least(struct bench *bench, enum time_mode mode, double *least_us) {
  double us[SELFTEST_SAMPLES], unused;
  *least_us = INFINITY;
  TRY(bench_sample(bench, mode, SELFTEST_SAMPLES, us, &unused));
  for (int i = 0; i < SELFTEST_SAMPLES; ++i) *least_us = fmin(*least_us, us[i]);
  return status_ok();
}

static struct status time_reads(struct bench *bench, struct selftest_facts *out) {
  uint32_t hot_launches;
  out->read_bytes = 2.0 * READ_ROWS * READ_COLUMNS * sizeof(float);
  TRY(bind(bench, &empty, &hot_launches));
  TRY(sample_least(bench, TIME_COLD, &out->read_constant_us));
  TRY(bind(bench, &read_kv, &hot_launches));
  TRY(sample_least(bench, TIME_COLD, &out->flushed_us));
  return sample_least(bench, TIME_HOT, &out->unflushed_us);
}

static struct status run_selftest(struct bench *bench, struct selftest_facts *out) {
  TRY(time_spins(bench, out));
  return time_reads(bench, out);
}

struct status cpu_selftest(struct device *device, struct selftest_facts *out) {
  static const struct attn_problem shape = ATTN_DENSE(1, 1, 1, 1, READ_ROWS, READ_COLUMNS, ATTN_F32, false);
  struct bench *bench;
  TRY(bench_open(device, &shape, 1, &bench));
  out->tick_us = smallest_tick_us();
  const struct status status = run_selftest(bench, out);
  bench_close(bench);
  return status;
}
