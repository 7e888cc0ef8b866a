/* The rates of cli/gate/change.c: false alarms of series in which nothing changes, and steps that are found. */
#include <math.h>
#include <stdio.h>

#include "cli/base/hash.h"
#include "cli/gate/history.h"
#include "tests/unit.h"
#include "tests/unit_near.h"

enum { SERIES = 60, POINTS_MAX = 2000 };

static uint64_t random_state;

static double uniform(void) { return ((double)(random_next(&random_state) >> 11) + 0.5) * 0x1p-53; }
static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

/* Noise of a standard deviation; one run in `every` is disturbed, up to 10 % slower (0: none). */
static double noise(double deviation, unsigned every) {
  const double value = deviation * normal();
  return every > 0 && uniform() * every < 1 ? value + 0.02 + 0.08 * uniform() : value;
}

static struct change_points find(const double *value, size_t count) {
  struct change_points found;
  assert_int_equal(change_find(value, count, &found).code, STATUS_OK);
  return found;
}

/* Student's t of 3 degrees of freedom. */
static double heavy(void) {
  const double a = normal(), b = normal(), c = normal();
  return normal() / sqrt((a * a + b * b + c * c) / 3);
}

/* Noise of series in which nothing changes. */
struct quiet {
  size_t points;
  double deviation;
  unsigned every; /* one run in so many is disturbed; 0: none */
  double correlation;
  bool is_heavy;
};

static unsigned false_alarms(const struct quiet *of, unsigned series) {
  static double value[POINTS_MAX];
  unsigned alarms = 0;
  random_state = of->points * 1000 + of->every;
  for (unsigned i = 0; i < series; ++i) {
    double noise_before = 0;
    for (size_t j = 0; j < of->points; ++j) {
      noise_before =
          of->correlation * noise_before + (of->is_heavy ? of->deviation * heavy() : noise(of->deviation, of->every));
      value[j] = 5 + noise_before;
    }
    const struct change_points found = find(value, of->points);
    alarms += found.count > 0 || found.is_drift;
  }
  return alarms;
}

/* ATTN_SERIES=3000 ATTN_SHOW_RATES=1 prints the table of results/history.md. */
TEST(quiet_series_raise_no_more_false_alarms_than_stated) {
  static const struct quiet rows[] = {{1000, 0.01, .every = 0},       {1000, 0.05, .every = 0},
                                      {1000, 0.01, .every = 20},      {100, 0.02, .every = 0},
                                      {100, 0.02, .every = 10},       {12, 0.02, .every = 0},
                                      {1000, 0.01, .is_heavy = true}, {1000, 0.01, .correlation = 0.3}};
  const char *wanted = getenv("ATTN_SERIES");
  const unsigned series = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : SERIES;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const unsigned alarms = false_alarms(&rows[i], series);
    if (getenv("ATTN_SHOW_RATES") != NULL)
      print_message("%zu points, one in %u disturbed, correlation %g, %s: %u of %u\n", rows[i].points, rows[i].every,
                    rows[i].correlation, rows[i].is_heavy ? "heavy tails" : "normal", alarms, series);
    /* Twice what is stated of one series: chance within one in a thousand. */
    assert_true(alarms <= 4 + 2 * CHANGE_FALSE_ALARMS * series / 2 * (rows[i].correlation > 0 ? 3 : 1));
  }
}

/* How often a step in the middle of 500 runs is found, as the only one, with its place and its size. */
static void count_found(double step, double deviation, unsigned every, unsigned *found_of, unsigned *placed,
                        unsigned *sized) {
  static double value[POINTS_MAX];
  *found_of = *placed = *sized = 0;
  random_state = (uint64_t)(step * 1e6);
  for (unsigned i = 0; i < SERIES; ++i) {
    for (size_t j = 0; j < 500; ++j) value[j] = noise(deviation, every) + (j >= 300 ? step : 0);
    const struct change_points found = find(value, 500);
    if (found.count != 1) continue;
    ++*found_of;
    *placed += found.item[0].earliest <= 300 && found.item[0].latest >= 300;
    *sized += found.item[0].low <= step && found.item[0].high >= step;
  }
}

TEST(steps_are_found_with_their_place_and_size) {
  static const struct {
    double step, deviation;
    unsigned every;
  } rows[] = {{0.01, 0.005, 0}, {0.01, 0.01, 0},  {0.02, 0.01, 20},
              {0.03, 0.01, 0},  {0.05, 0.01, 20}, {-0.02, 0.01, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    unsigned found, placed, sized;
    count_found(rows[i].step, rows[i].deviation, rows[i].every, &found, &placed, &sized);
    if (getenv("ATTN_SHOW_RATES") != NULL)
      print_message("%g of %g: found %u, placed %u, sized %u of %d\n", rows[i].step, rows[i].deviation, found, placed,
                    sized, SERIES);
    assert_true(found >= SERIES * 9 / 10);
    assert_true(placed >= found * 85 / 100);
    assert_true(sized >= found * 80 / 100);
  }
}

/* The last runs alone have the step. */
TEST(a_step_of_three_percent_is_found_after_a_few_runs) {
  static double value[POINTS_MAX];
  unsigned found_of = 0;
  random_state = 7;
  for (unsigned i = 0; i < SERIES; ++i) {
    for (size_t j = 0; j < 200; ++j) value[j] = noise(0.005, 0) + (j >= 195 ? 0.03 : 0);
    const struct change_points found = find(value, 200);
    found_of += found.count == 1 && found.item[0].at == 195;
  }
  if (getenv("ATTN_SHOW_RATES") != NULL) print_message("of the last five: %u of %d\n", found_of, SERIES);
  assert_true(found_of >= SERIES * 9 / 10);
}

TEST(disturbed_runs_are_no_change) {
  static double value[POINTS_MAX];
  random_state = 3;
  for (size_t i = 0; i < 200; ++i) value[i] = noise(0.005, 0);
  for (size_t i = 100; i < 103; ++i) value[i] += 0.2;
  assert_int_equal(find(value, 200).count, 0);
}

TEST(a_slow_drift_is_no_step) {
  static double value[POINTS_MAX];
  random_state = 5;
  for (size_t i = 0; i < 500; ++i) value[i] = noise(0.005, 0) + 0.08 * (double)i / 499;
  const struct change_points found = find(value, 500);
  assert_int_equal(found.count, 0);
  assert_true(found.is_drift);
  assert_near(found.drift, 0.08, 0.005);
}

TEST(a_reverted_step_is_two_changes) {
  static double value[POINTS_MAX];
  random_state = 11;
  for (size_t i = 0; i < 500; ++i) value[i] = noise(0.005, 20) + (i >= 200 && i < 230 ? 0.03 : 0);
  const struct change_points found = find(value, 500);
  assert_int_equal(found.count, 2);
  assert_near((double)found.item[0].at, 200, 2);
  assert_near((double)found.item[1].at, 230, 2);
  assert_near(found.item[1].after, found.item[0].before, 0.002);
}

TEST(values_without_noise_and_short_series_are_taken) {
  double value[40] = {0};
  assert_int_equal(find(value, 40).count, 0);
  for (size_t i = 20; i < 40; ++i) value[i] = 0.04;
  const struct change_points found = find(value, 40);
  assert_int_equal(found.count, 1);
  assert_int_equal(found.item[0].at, 20);
  assert_int_equal(found.item[0].earliest, 20);
  assert_int_equal(found.item[0].latest, 20);
  for (size_t count = 0; count < 6; ++count) assert_int_equal(find(value, count).count, 0);
}

/* Smaller than anybody wants to know. */
TEST(a_step_below_the_least_is_none) {
  static double value[POINTS_MAX];
  random_state = 13;
  for (size_t i = 0; i < 1000; ++i) value[i] = noise(0.002, 0) + (i >= 500 ? 0.003 : 0);
  assert_int_equal(find(value, 1000).count, 0);
}

TEST(the_fewest_values_are_enough_for_a_clear_step) {
  static const double value[CHANGE_VALUES_LEAST] = {1, 1.02, 1.01, 2, 2.02, 2.01};
  assert_int_equal(find(value, CHANGE_VALUES_LEAST).count, 1);
  assert_int_equal(find(value, CHANGE_VALUES_LEAST - 1).count, 0);
}

/* Wherever it lies, if four values stand on either side. */
TEST(a_clear_step_is_found_in_short_series) {
  static const struct { double deviation, step; } rows[] = {{0.0005, 0.69}, {0.02, 0.69}, {0.005, 0.05}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    random_state = 17 + i;
    for (size_t count = 8; count <= 40; count += count < 16 ? 1 : 4) {
      unsigned found = 0, tries = 0;
      for (size_t at = 4; at + 4 <= count; ++at) {
        double value[40];
        for (size_t j = 0; j < count; ++j) value[j] = noise(rows[i].deviation, 0) + (j >= at ? rows[i].step : 0);
        found += find(value, count).count == 1;
        ++tries;
      }
      if (found * 10 < tries * 9) fail_msg("%zu values, step %g: found %u of %u", count, rows[i].step, found, tries);
    }
  }
}
