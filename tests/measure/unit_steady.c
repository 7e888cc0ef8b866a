#include <math.h>

#include "cli/measure/measure.h"
#include "kernels/device_ops.h"
#include "tests/unit.h"

/* ---- a device whose times are known ---------------------------------------------------------------------------- */

/* A launch takes us_of(window) in each window. The counter of energy is read before the first window and after each,
 * and grows by 5 J between two readings. Power, and with it temperature, grow by 1 from window to window. */
struct world {
  struct device device;
  struct bench bench;
  double (*us_of)(uint32_t window);
  uint32_t energy_reads, health_reads;
  bool counts_energy;
};

static struct world *world_of(struct device *device) {
  return (struct world *)((char *)device - offsetof(struct world, device));
}

static void fake_health_read(struct device *device, struct device_health *out) {
  const uint32_t windows = world_of(device)->health_reads++;
  *out = (struct device_health){
      .power_w = 600 + windows, .temperature_c = 40 + windows, .throttle_reasons = 4, .known = true};
}

static double fake_energy_j(struct device *device) {
  struct world *w = world_of(device);
  const uint32_t reads = w->energy_reads++;
  return w->counts_energy ? 1000 + 5.0 * reads : (double)NAN;
}

static struct status fake_sample(struct bench *bench, enum time_mode mode, uint32_t n, double *us,
                                 double *sm_clock_mhz) {
  const struct world *w = world_of(bench->device);
  assert_int_equal(mode, TIME_STEADY);
  for (uint32_t i = 0; i < n; ++i) us[i] = w->us_of(w->energy_reads - 1);
  *sm_clock_mhz = 1500;
  return status_ok();
}

static const struct device_ops fake_ops = {
    .health_read = fake_health_read, .energy_j = fake_energy_j, .sample = fake_sample};

static struct time_record measure(double (*us_of)(uint32_t window), bool counts_energy, double most_s,
                                  struct world *w) {
  static const struct attn_variant any = {.name = "any", .runs_on = DEVICE_CUDA};
  const struct steady_settings settings = {.window_s = 1e-4, .relative = 0.005, .most_s = most_s};
  struct time_record out;
  *w = (struct world){.us_of = us_of, .counts_energy = counts_energy};
  w->device = (struct device){.ops = &fake_ops, .info.kind = DEVICE_CUDA};
  w->bench = (struct bench){.device = &w->device, .variant = &any};
  assert_int_equal(steady_measure(&w->device, &w->bench, &settings, 7, 10, true, &out).code, STATUS_OK);
  assert_true(out.done && out.launches_per_sample == 7 && out.us.n == out.samples_us.count);
  return out;
}

/* A power limit that takes 14 % within 12 windows, and is then held by two clocks in turns. */
static double slows_down(uint32_t window) {
  return 100 * (window < 12 ? 1 + 0.14 * window / 12 : 1.14 + 0.004 * (window % 2));
}

static double never_settles(uint32_t window) { return 100 + window % 3 * 1.5; }

static double creeps(uint32_t window) { return 100 * pow(1.002, window); }

TEST(the_first_seconds_are_not_the_steady_time) {
  struct world w;
  const struct time_record time = measure(slows_down, true, 60, &w);
  assert_true(time.settled && time.stop == STATS_STOP_INTERVAL);
  assert_true(time.us.min > 112.8 && time.us.median >= 114 - 1e-9 && time.us.max < 114.5);
  assert_true(w.health_reads <= 17); /* no more windows than it takes */
  assert_true(time.warmup_s > 0 && time.elapsed_s > 0 && time.sm_clock_mhz == 1500);
}

TEST(a_time_that_never_settles_is_taken_and_said_not_to_have_settled) {
  struct world w;
  const struct time_record time = measure(never_settles, true, 0.02, &w);
  assert_true(time.done && !time.settled && time.us.n > 0);
  assert_false(measure(creeps, true, 0.002, &w).settled); /* two windows 0.2 % apart, five of them by 0.8 % */
}

TEST(energy_is_that_of_the_windows_that_count) {
  struct world w;
  const struct time_record counted = measure(slows_down, true, 60, &w);
  assert_true(counted.energy_j == 5 * STEADY_WINDOWS);
  assert_true(counted.power_w == counted.energy_j / counted.elapsed_s);
  const struct time_record read = measure(slows_down, false, 60, &w);
  assert_true(isnan(read.energy_j));
  assert_true(fabs(read.power_w - (600 + w.health_reads - 0.5 * (STEADY_WINDOWS + 1))) <
              1e-6); /* the mean over the last windows */
  assert_true(read.temperature_c == 40 + w.health_reads - 1 && read.throttle_reasons == 4);
}

TEST(windows_agree_when_they_have_no_trend) {
  static const struct {
    double mean_us[STEADY_WINDOWS];
    bool is_reached;
  } cases[] = {{{100, 100, 100, 100, 100}, true},      {{100, 101, 100, 101, 100}, true},
               {{100, 100, 103, 100, 100}, false},     {{100, 100.2, 100.4, 100.6, 100.8}, false},
               {{100.8, 100.6, 100, 100, 100}, false}, {{100, 100, 100, NAN, 100}, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    assert_true(steady_is_reached(cases[i].mean_us, 0.005) == cases[i].is_reached);
}
