#include <math.h>
#include <stdio.h>

#include "cli/measure/measure.h"
#include "tests/unit.h"

TEST(a_range_has_no_letter_that_filters_of_tools_read) {
  static const char *const cases[][2] = {
      {"wmma", "wmma"},
      {"B1.f16.full.split_kv:splits=4,tile=32", "B1.f16.full.split_kv.splits=4.tile=32"},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char name[64];
    snprintf(name, sizeof name, "%s", cases[i][0]);
    measure_range_name(name);
    assert_string_equal(name, cases[i][1]);
  }
}

/* What a device with these times would take: samples, and what stopped it. */
static uint32_t samples_taken(const struct stats_rule *rule, const double *us, uint32_t room, double cost_us,
                              enum stats_stop *stop) {
  uint32_t n = 0;
  do {
    n += measure_batch(rule, cost_us, n);
    assert_true(n <= room);
    const struct stats stats = stats_of(us, n);
    *stop = stats_should_stop(rule, &stats, n * cost_us * 1e-6);
  } while (*stop == STATS_GO_ON);
  return n;
}

enum { ROOM = 3000 };

/* Each launch deviates from the next one by `share`, up and down in turns. */
static void fill(double *us, double median_us, double share) {
  for (uint32_t i = 0; i < ROOM; ++i) us[i] = median_us * (1 + (i % 2 == 0 ? share : -share) * (1 + i % 3) / 3.0);
}

TEST(a_launch_of_milliseconds_takes_five_to_nine_samples) {
  static double us[ROOM];
  const struct measure_settings settings = measure_defaults(DEVICE_CUDA);
  enum stats_stop stop;
  const double slow_us[] = {1100, 3000, 23000, 49000};
  for (size_t i = 0; i < sizeof slow_us / sizeof *slow_us; ++i) {
    fill(us, slow_us[i], 0.002);
    const uint32_t n = samples_taken(&settings.rule, us, ROOM, slow_us[i], &stop);
    assert_in_range(n, 5, 9);
    assert_int_equal(stop, STATS_STOP_INTERVAL);
    assert_true(measure_is_steady(us, n, settings.settle_relative));
  }
  /* An outlier among the first six costs more samples, not the interval. */
  fill(us, 3000, 0.002);
  us[2] = 3300;
  assert_in_range(samples_taken(&settings.rule, us, ROOM, 3000, &stop), 7, 30);
  assert_int_equal(stop, STATS_STOP_INTERVAL);
}

TEST(a_launch_that_spends_the_budget_takes_no_more_than_the_fewest) {
  static double us[ROOM];
  const struct measure_settings cpu = measure_defaults(DEVICE_CPU), quick = measure_quick(DEVICE_CUDA, TIME_HOT);
  enum stats_stop stop;
  fill(us, 2e6, 0.002);
  assert_int_equal(samples_taken(&cpu.rule, us, ROOM, 2e6, &stop), cpu.rule.floor_samples);
  assert_int_equal(stop, STATS_STOP_BUDGET);
  fill(us, 49e3, 0.002);
  assert_int_equal(samples_taken(&quick.rule, us, ROOM, 49e3, &stop), quick.rule.floor_samples);
}

TEST(a_fast_launch_still_takes_them_all) {
  static double us[ROOM];
  const struct measure_settings settings = measure_defaults(DEVICE_CUDA);
  enum stats_stop stop;
  fill(us, 100, 0.002);
  assert_in_range(samples_taken(&settings.rule, us, ROOM, 220, &stop), settings.rule.min_samples, 48);
  fill(us, 40, 0.5); /* so noisy that no number of samples is enough */
  assert_int_equal(samples_taken(&settings.rule, us, ROOM, 40, &stop), settings.rule.max_samples);
  assert_int_equal(stop, STATS_STOP_SAMPLES);
}

TEST(times_that_drift_are_not_steady) {
  static double us[ROOM];
  fill(us, 2000, 0.02); /* noise of 2 % that goes nowhere */
  assert_true(measure_is_steady(us, 176, 0.005));
  for (uint32_t i = 0; i < ROOM; ++i) us[i] = 2000 * (1 + 0.02 * i / 176);
  assert_false(measure_is_steady(us, 176, 0.005));
  assert_false(measure_is_steady(us + ROOM - 6, 1, 0.005));
  const double falling[] = {2020, 2016, 2012, 2008, 2004, 2000};
  assert_false(measure_is_steady(falling, 6, 0.005));
  const double unknown[] = {2000, NAN, NAN, 2000};
  assert_false(measure_is_steady(unknown, 4, 0.005));
}

TEST(a_growing_time_is_held_against_the_hot_one_in_cycles) {
  const double us[] = {500, 110, 88};
  struct time_record hot = {.done = true, .us.median = 100, .us.min = 80, .sm_clock_mhz = 1800};
  assert_true(fabs(measure_growing_ratio(us, 3, 1800, &hot) - 1.1) < 1e-12);
  assert_true(fabs(measure_growing_ratio(us, 3, 1620, &hot) - 0.99) < 1e-12);
  assert_true(fabs(measure_growing_ratio(us, 1, 1800, &hot) - 5) < 1e-12);
}

TEST(without_a_clock_the_least_growing_time_is_held_against_the_least_hot_one) {
  const double us[] = {500, 110, 88};
  struct time_record hot = {.done = true, .us.median = 100, .us.min = 80, .sm_clock_mhz = 1800};
  assert_true(fabs(measure_growing_ratio(us, 3, NAN, &hot) - 1.1) < 1e-12);
  hot.sm_clock_mhz = NAN;
  assert_true(fabs(measure_growing_ratio(us, 3, 1620, &hot) - 1.1) < 1e-12);
}
