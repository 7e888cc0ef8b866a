/* Warms up until the latency settles, then samples until the median is known well enough. */
#include "cli/measure/measure.h"
#include "cli/base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cpu/cgroup.h"
#include "kernels/pattern.h"

enum {
  WINDOW_MAX = 64,         /* samples per settle window */
  BATCH_MAX = 16,          /* samples between two looks at the stop rule */
  SLOW_BATCH = 3,          /* the same of slow launches, once there are few_samples */
  CLOCK_BATCHES_MAX = 256, /* SM clock readings kept: of all the batches that a mode takes */
  PASS_SAMPLES_MAX = 31,
  GROWING_SAMPLES = 3,
};

static const double batch_s = 0.045;
static const double slow_launch_us = 5000; /* the checks' launches have warmed up what a few of these could */
static const double pass_budget_s = 0.3;

struct device *measure_range_begin(struct device *device, const char *name) {
  device_range_push(device, name);
  return device;
}

void measure_range_end(struct device *const *device) { device_range_pop(*device); }

void measure_range_name(char *text) {
  for (char *c = text; *c != '\0'; ++c) {
    if (*c == ':' || *c == ',') *c = '.';
  }
}

/* Six samples are the fewest whose range is a 95 % interval of the median. A launch of milliseconds repeats within
 * 0.1 %, so more of them only take time; of shorter ones a dozen decide whether the interval is narrow by now. Where
 * it is not after 0.15 s, the times come in two kinds, and more time would not change it. Within a run the rows
 * before have brought the clocks up, so that two windows of 4 ms show what there is to see. */
struct measure_settings measure_defaults(enum device_kind kind) {
  const struct measure_settings cuda = {.rule = {.min_samples = 12,
                                                 .max_samples = 3000,
                                                 .relative_half_width = 0.005,
                                                 .budget_s = 0.15,
                                                 .floor_samples = 6,
                                                 .few_samples = 6,
                                                 .slow_s = 0.001},
                                        .settle_min_s = 0.008,
                                        .settle_max_s = 0.1,
                                        .settle_window_s = 0.004,
                                        .settle_relative = 0.005};
  const struct measure_settings cpu = {.rule = {.min_samples = 30,
                                                .max_samples = 200,
                                                .relative_half_width = 0.005,
                                                .budget_s = 0.8,
                                                .floor_samples = 3,
                                                .few_samples = 6,
                                                .slow_s = 0.01},
                                       .settle_min_s = 0.0,
                                       .settle_max_s = 0.2,
                                       .settle_window_s = 0.015,
                                       .settle_relative = 0.02};
  return kind == DEVICE_CUDA ? cuda : cpu;
}

/* A gate's evidence is one median per process. On an H200 the medians of one kernel in several processes differ by
 * 0.1 to 0.7 % (standard deviation), and longer measurements do not reduce that. An interval of the median of 0.2 %
 * adds little to it, so a process spends as little time as that takes, and more processes fit into the time.
 *
 * A kernel that draws more than the power limit keeps its first clock for 30 to 60 ms after a pause, and its time
 * repeats within 0.1 % until then. After that the clock is regulated up and down for seconds, by 2 %. So the hot mode
 * is short: it warms up for at least 8 ms, until two windows agree, and stops after the batch in which sampling
 * reaches 20 ms. The checks and the cold launches that run before it draw little power, so the 30 to 60 ms begin with
 * the hot mode. Cold launches after the hot mode would find the lowered clock, so they come before it. */
struct measure_settings measure_quick(enum device_kind kind, enum time_mode mode) {
  struct measure_settings settings = measure_defaults(kind);
  settings.rule.min_samples = 20;
  settings.rule.max_samples = 600;
  settings.rule.relative_half_width = 0.002;
  settings.rule.budget_s = kind == DEVICE_CPU ? 0.1 : mode == TIME_HOT ? 0.02 : 0.03;
  return settings;
}

/* How many samples of `sample_us` fit into target_s, at least 1. */
static uint32_t samples_for(double target_s, double sample_us, uint32_t most) {
  const double fit = target_s * 1e6 / (sample_us > 1.0 ? sample_us : 1.0);
  return fit < 1.0 ? 1 : fit > (double)most ? most : (uint32_t)fit;
}

double measure_sample_us(enum time_mode mode, uint32_t hot_launches, double estimate_us) {
  const double flush_us = 120.0; /* flush, blocker and synchronisation around one cold launch */
  return mode == TIME_COLD ? estimate_us + flush_us : estimate_us * hot_launches;
}

static struct status settle(struct device *device, struct bench *bench, enum time_mode mode,
                            const struct measure_settings *settings, double cost_us, struct time_record *out) {
  MEASURE_RANGE(device, "settle");
  double us[WINDOW_MAX], clock_mhz, previous = NAN;
  const uint32_t window = samples_for(settings->settle_window_s, cost_us, WINDOW_MAX);
  const double start_s = clock_now_s();
  out->warmup_s = 0;
  if (cost_us >= slow_launch_us) return status_ok();
  while (!out->settled && out->warmup_s < settings->settle_max_s) {
    TRY(bench_sample(bench, mode, window, us, &clock_mhz));
    const double median = stats_median(us, window);
    out->warmup_s = clock_now_s() - start_s;
    out->settled =
        out->warmup_s >= settings->settle_min_s && fabs(median - previous) < settings->settle_relative * median;
    previous = median;
  }
  return status_ok();
}

/* Samples so slow that they spend the budget are looked at one by one. */
static uint32_t slow_batch(const struct stats_rule *rule, double cost_us, uint32_t taken) {
  const uint32_t wanted = taken < rule->few_samples ? rule->few_samples - taken : SLOW_BATCH;
  return samples_for(rule->budget_s, cost_us, wanted);
}

uint32_t measure_batch(const struct stats_rule *rule, double cost_us, uint32_t taken) {
  const bool is_slow = rule->slow_s > 0 && cost_us >= rule->slow_s * 1e6;
  const uint32_t room = rule->max_samples - taken;
  const uint32_t batch = is_slow ? slow_batch(rule, cost_us, taken) : samples_for(batch_s, cost_us, BATCH_MAX);
  return batch < room ? batch : room;
}

/* Windows of few slow samples, and of noisy ones, differ by chance. The samples tell whether the time drifts: the
 * first half of them against the second. */
bool measure_is_steady(const double *us, uint32_t n, double relative) {
  if (n < 2) return false;
  const uint32_t half = n / 2;
  const double first = stats_median(us, half), second = stats_median(us + n - half, half);
  return fabs(first - second) < relative * fmin(first, second);
}

static void note_health(struct device *device, struct time_record *out) {
  struct device_health health;
  device_health_read(device, &health);
  if (!health.known) return;
  out->power_w = fmax(out->power_w, health.power_w); /* fmax ignores the NAN it starts from */
  out->temperature_c = fmax(out->temperature_c, health.temperature_c);
  out->throttle_reasons |= health.throttle_reasons;
}

/* Seconds so far that the first thread waited for a processor, and that other processes used. */
struct load {
  double waited_s, others_s;
};

/* Reading the files takes a while on a busy machine: what is waited for then is of no sample. */
static struct load load_before(void) {
  const double others_s = cgroup_seconds_used("").others;
  return (struct load){clock_waited_s(), others_s};
}
static struct load load_after(void) {
  const double waited_s = clock_waited_s();
  return (struct load){waited_s, cgroup_seconds_used("").others};
}

/* The kernel brings the account of a group up to date some milliseconds late for threads that run. */
static const double load_least_s = 0.05;

static void note_load(struct load before, struct time_record *out) {
  const struct load after = load_after();
  const double waited_ratio = (after.waited_s - before.waited_s) / out->elapsed_s; /* NAN: not known */
  out->waited_ratio = waited_ratio > 1 ? 1 : waited_ratio;
  if (out->elapsed_s >= load_least_s) out->others_load = fmax(0, (after.others_s - before.others_s) / out->elapsed_s);
}

static struct status sample_until_stop(struct device *device, struct bench *bench, enum time_mode mode,
                                       const struct stats_rule *rule, double cost_us, double *us,
                                       struct time_record *out) {
  MEASURE_RANGE(device, mode == TIME_HOT ? "time.hot" : "time.cold");
  double clocks[CLOCK_BATCHES_MAX];
  uint32_t n = 0, clock_count = 0;
  const bool on_cpu = device_info(device)->kind == DEVICE_CPU;
  const struct load before = on_cpu ? load_before() : (struct load){0, 0};
  const double start_s = clock_now_s();
  do {
    double clock_mhz;
    const uint32_t take = measure_batch(rule, cost_us, n);
    TRY(bench_sample(bench, mode, take, us + n, &clock_mhz));
    n += take;
    if (isfinite(clock_mhz) && clock_count < CLOCK_BATCHES_MAX) clocks[clock_count++] = clock_mhz;
    note_health(device, out);
    out->us = stats_of(us, n);
    out->elapsed_s = clock_now_s() - start_s;
    out->stop = stats_should_stop(rule, &out->us, out->elapsed_s);
  } while (out->stop == STATS_GO_ON);
  if (on_cpu) note_load(before, out);
  out->sm_clock_mhz = clock_count > 0 ? stats_median(clocks, clock_count) : NAN;
  return status_ok();
}

struct status measure_keep_samples(const double *us, uint32_t count, struct numbers *out) {
  double *kept = numbers_keep(count);
  if (kept == NULL) return status_make(STATUS_MEMORY, "no memory to keep %u samples", count);
  memcpy(kept, us, count * sizeof *us);
  *out = (struct numbers){count, kept};
  return status_ok();
}

struct status measure_mode(struct device *device, struct bench *bench, enum time_mode mode,
                           const struct measure_settings *settings, uint32_t hot_launches, double estimate_us,
                           struct time_record *out) {
  *out = record_time_unknown();
  out->launches_per_sample = mode == TIME_HOT ? hot_launches : 1;
  OWNED_ARRAY(double, us, settings->rule.max_samples, "samples");
  const double cost_us = measure_sample_us(mode, hot_launches, estimate_us);
  TRY(settle(device, bench, mode, settings, cost_us, out));
  TRY(sample_until_stop(device, bench, mode, &settings->rule, cost_us, us, out));
  out->done = true;
  if (out->stop == STATS_STOP_INTERVAL && measure_is_steady(us, out->us.n, settings->settle_relative))
    out->settled = true;
  if (record_is_busy(out)) out->settled = false;
  return settings->keeps_samples ? measure_keep_samples(us, out->us.n, &out->samples_us) : status_ok();
}

double measure_growing_ratio(const double *us, uint32_t n, double clock_mhz, const struct time_record *hot) {
  if (clock_mhz > 0 && hot->sm_clock_mhz > 0)
    return stats_median(us, n) / hot->us.median * clock_mhz / hot->sm_clock_mhz;
  double least = us[0];
  for (uint32_t i = 1; i < n; ++i) least = fmin(least, us[i]);
  return least / hot->us.min;
}

struct status measure_growing(struct bench *bench, const struct attn_problem *shape, const struct time_record *hot,
                              double cost_us, double *ratio) {
  double us[GROWING_SAMPLES], clock_mhz;
  const uint32_t samples = cost_us >= slow_launch_us ? 1 : GROWING_SAMPLES;
  *ratio = NAN;
  if (!hot->done || !pattern_can_grow(shape)) return status_ok();
  TRY(bench_fill(bench, PATTERN_GROWING));
  TRY(bench_sample(bench, TIME_HOT, samples, us, &clock_mhz));
  *ratio = measure_growing_ratio(us, samples, clock_mhz, hot);
  return bench_fill(bench, 0);
}

struct status measure_passes(struct bench *bench, uint32_t pass_count, double estimate_us, double *pass_us) {
  double us[ATTN_PASSES_MAX * PASS_SAMPLES_MAX];
  const uint32_t n =
      samples_for(pass_budget_s, measure_sample_us(TIME_COLD, 1, estimate_us) * pass_count, PASS_SAMPLES_MAX);
  TRY(bench_sample_passes(bench, n, us));
  for (uint32_t pass = 0; pass < pass_count; ++pass) pass_us[pass] = stats_median(us + (size_t)pass * n, n);
  return status_ok();
}
