/* The self-test of the CPU device's timer. The launches are variants of its own, not in the registry. */
#include <math.h>

#include "kernels/cpu/host_info.h"
#include "kernels/device_ops.h"

enum {
  SPIN_LAUNCHES_MAX = 8192, /* whose truth is kept: a sample of the shortest spin has about 100 */
  TICK_READS = 4096,
  READ_ROWS = 1024, /* of 64 floats: 256 KB of K, and as much of V */
};

/* What the launches of the process do and wrote down: run() has no other way to be told. */
static struct {
  double target_us;
  uint32_t count;
  double truth_us[SPIN_LAUNCHES_MAX];
  volatile uint64_t sum;
} launches;

/* ---- the launches -------------------------------------------------------------------------------------------- */

static void plan_nothing(const struct attn_shape *shape, const struct attn_tuning *tuning,
                         const struct device_info *device, struct attn_plan *plan) {
  (void)shape, (void)tuning, (void)device, (void)plan;
}

static void run_spin(const struct attn_shape *shape, const struct attn_plan *plan, const struct attn_buffers *buffers,
                     unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
  const double start_us = cpu_now_us();
  double now_us;
  do {
    now_us = cpu_now_us();
  } while (now_us - start_us < launches.target_us);
  if (launches.count < SPIN_LAUNCHES_MAX) launches.truth_us[launches.count] = now_us - start_us;
  ++launches.count;
}

static void run_empty(const struct attn_shape *shape, const struct attn_plan *plan,
                      const struct attn_buffers *buffers, unsigned threads) {
  (void)shape, (void)plan, (void)buffers, (void)threads;
}

static void run_read(const struct attn_shape *shape, const struct attn_plan *plan, const struct attn_buffers *buffers,
                     unsigned threads) {
  (void)plan, (void)threads;
  const uint64_t *k = buffers->k, *v = buffers->v;
  const uint64_t words = problem_elements(shape, PROBLEM_K) * sizeof(float) / sizeof *k;
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

static struct status bind(struct problem *problem, const struct attn_variant *variant, uint32_t *hot_launches) {
  struct pass_facts facts[ATTN_PASSES_MAX];
  struct attn_plan plan = {0};
  double estimate_us;
  const struct status status = problem_bind(problem, variant, &plan, facts);
  return status_failed(&status) ? status : problem_time_prepare(problem, hot_launches, &estimate_us);
}

/* ---- spins --------------------------------------------------------------------------------------------------- */

static struct status time_spin(struct problem *problem, enum time_mode mode, uint32_t hot_launches,
                               struct selftest_timing *out) {
  double us[SELFTEST_SAMPLES], unused;
  out->launches = mode == TIME_HOT ? hot_launches : 1;
  out->count = SPIN_LAUNCHES_MAX / out->launches;
  if (out->count > SELFTEST_SAMPLES) out->count = SELFTEST_SAMPLES;
  launches.count = 0;
  const struct status status = problem_sample(problem, mode, out->count, us, &unused);
  if (status_failed(&status)) return status;
  if (launches.count != out->count * out->launches) {
    return status_make(STATUS_INTERNAL, "cpu: %u samples of %u launches launched %u times", out->count, out->launches,
                       launches.count);
  }
  for (uint32_t i = 0; i < out->count; ++i) {
    double sum_us = 0;
    for (uint32_t k = 0; k < out->launches; ++k) sum_us += launches.truth_us[i * out->launches + k];
    out->sample[i] = (struct selftest_sample){.time_us = us[i], .truth_us = sum_us / out->launches};
  }
  return status;
}

static struct status time_spins(struct problem *problem, struct selftest_facts *out) {
  struct status status = status_ok();
  for (uint32_t i = 0; i < SELFTEST_SPINS && !status_failed(&status); ++i) {
    struct selftest_spin *spinning = &out->spin[out->spin_count++];
    uint32_t hot_launches = 1;
    spinning->target_us = launches.target_us = selftest_spin_us[i];
    status = bind(problem, &spin, &hot_launches);
    for (enum time_mode mode = TIME_COLD; mode < TIME_MODE_COUNT && !status_failed(&status); ++mode) {
      status = time_spin(problem, mode, hot_launches, &spinning->timing[mode]);
    }
  }
  return status;
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
static struct status sample_least(struct problem *problem, enum time_mode mode, double *least_us) {
  double us[SELFTEST_SAMPLES], unused;
  const struct status status = problem_sample(problem, mode, SELFTEST_SAMPLES, us, &unused);
  *least_us = INFINITY;
  for (int i = 0; i < SELFTEST_SAMPLES && !status_failed(&status); ++i) *least_us = fmin(*least_us, us[i]);
  return status;
}

static struct status time_reads(struct problem *problem, struct selftest_facts *out) {
  uint32_t hot_launches;
  struct status status = bind(problem, &empty, &hot_launches);
  if (!status_failed(&status)) status = sample_least(problem, TIME_COLD, &out->read_constant_us);
  if (!status_failed(&status)) status = bind(problem, &read_kv, &hot_launches);
  if (!status_failed(&status)) status = sample_least(problem, TIME_COLD, &out->flushed_us);
  if (!status_failed(&status)) status = sample_least(problem, TIME_HOT, &out->unflushed_us);
  out->read_bytes = 2.0 * (double)problem_elements(&problem->shape, PROBLEM_K) * sizeof(float);
  return status;
}

struct status cpu_selftest(struct device *device, struct selftest_facts *out) {
  static const struct attn_shape shape = {1, 1, 1, 1, READ_ROWS, 64, ATTN_F32, false, false};
  struct problem *problem;
  struct status status = problem_open(device, &shape, 1, &problem);
  if (status_failed(&status)) return status;
  out->tick_us = smallest_tick_us();
  status = time_spins(problem, out);
  if (!status_failed(&status)) status = time_reads(problem, out);
  problem_close(problem);
  return status;
}
