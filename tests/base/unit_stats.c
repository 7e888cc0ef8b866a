#include <math.h>

#include "cli/base/stats.h"
#include "tests/unit.h"
#include "tests/unit_near.h"

static void fill_ramp(double *samples, size_t n) {
  /* 1..n in an order that is not sorted: 7 is coprime to every n used here. */
  for (size_t i = 0; i < n; i++) samples[i] = (double)(i * 7 % n + 1);
}

TEST(quantiles_interpolate_between_order_statistics) {
  const double samples[] = {4, 1, 3, 2};
  const struct stats s = stats_of(samples, 4);
  assert_int_equal(s.n, 4);
  assert_near(s.min, 1, 0);
  assert_near(s.p25, 1.75, 1e-12);
  assert_near(s.median, 2.5, 1e-12);
  assert_near(s.p75, 3.25, 1e-12);
  assert_near(s.p95, 3.85, 1e-12);
  assert_near(s.max, 4, 0);
  assert_near(s.mad, 1, 1e-12);
}

TEST(samples_are_left_as_they_are) {
  double samples[] = {3, 1, 2};
  stats_of(samples, 3);
  assert_near(stats_median(samples, 3), 2, 0);
  assert_near(samples[0], 3, 0);
  assert_near(samples[2], 2, 0);
}

TEST(one_sample_is_every_statistic) {
  const double sample = 5;
  const struct stats s = stats_of(&sample, 1);
  assert_near(s.median, 5, 0);
  assert_near(s.p95, 5, 0);
  assert_near(s.mad, 0, 0);
  assert_near(s.ci_low, 5, 0);
  assert_near(s.ci_high, 5, 0);
}

TEST(no_samples_give_no_numbers) {
  const double nothing = 0;
  assert_true(isnan(stats_of(&nothing, 0).median));
  assert_true(isnan(stats_median(&nothing, 0)));
}

/* Ranks of the 95 % interval of the median from the tables of the sign test (lower rank, counted from 1). */
TEST(interval_ranks_are_those_of_the_sign_test) {
  static const struct {
    size_t n, low;
  } rows[] = {{2, 1},  {5, 1},  {6, 1},  {8, 1},   {9, 2},   {10, 2},
              {15, 4}, {20, 6}, {25, 8}, {30, 10}, {50, 18}, {100, 40}};
  double samples[100];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (size_t k = 0; k < rows[i].n; k++) samples[k] = (double)(k + 1);
    const struct stats s = stats_of(samples, rows[i].n);
    assert_near(s.ci_low, (double)rows[i].low, 0);
    assert_near(s.ci_high, (double)(rows[i].n + 1 - rows[i].low), 0);
  }
}

/* 2^-n underflows far below this n; the normal approximation gives n/2 - 0.98 sqrt(n). */
/* 1 - 2^(1 - n) where the range is all there is; 1 - 2 x 10 / 512 at nine, whose interval is the second to the
 * eighth. */
TEST(confidence_is_that_of_the_ranks) {
  const struct {
    size_t n;
    double confidence;
  } cases[] = {{1, 0}, {2, 0.5}, {5, 0.9375}, {6, 0.96875}, {9, 1 - 20.0 / 512}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_true(fabs(stats_confidence(cases[i].n) - cases[i].confidence) < 1e-12);
  for (size_t n = 6; n < 3000; n += 7) assert_true(stats_confidence(n) >= 0.95 && stats_confidence(n) < 1);
}

TEST(interval_holds_for_thousands_of_samples) {
  enum { N = 5000 };
  static double samples[N];
  fill_ramp(samples, N);
  const struct stats s = stats_of(samples, N);
  assert_near(s.median, 2500.5, 1e-9);
  assert_near(s.ci_low, N / 2.0 - 0.98 * sqrt(N), 2);
  assert_near(s.ci_low + s.ci_high, N + 1, 1e-9);
}

TEST(half_width_is_relative_to_the_median) {
  const struct stats s = {.n = 30, .median = 200, .ci_low = 199, .ci_high = 201};
  assert_near(stats_relative_half_width(&s), 0.005, 1e-12);
  const struct stats zero = {.n = 30, .median = 0, .ci_low = 0, .ci_high = 0};
  assert_true(isinf(stats_relative_half_width(&zero)));
}

TEST(stopping_names_the_first_reason) {
  static const struct stats_rule rule = {
      .min_samples = 30, .max_samples = 1000, .relative_half_width = 0.005, .budget_s = 2, .floor_samples = 5};
  static const struct {
    uint32_t n;
    double half_width, elapsed_s;
    enum stats_stop expected;
  } rows[] = {
      {29, 0, 0.1, STATS_GO_ON},           /* tight, but too few */
      {30, 0.5, 0.1, STATS_STOP_INTERVAL}, /* 0.5 of 100 is exactly the target */
      {30, 0.6, 0.1, STATS_GO_ON},
      {4, 9, 99, STATS_GO_ON}, /* never below the floor */
      {5, 9, 2, STATS_STOP_BUDGET},
      {40, 0.1, 99, STATS_STOP_INTERVAL}, /* reaching the target outranks the budget */
      {1000, 9, 0.1, STATS_STOP_SAMPLES},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct stats s = {
        .n = rows[i].n, .median = 100, .ci_low = 100 - rows[i].half_width, .ci_high = 100 + rows[i].half_width};
    assert_int_equal(stats_should_stop(&rule, &s, rows[i].elapsed_s), rows[i].expected);
  }
}

TEST(slow_samples_stop_once_the_interval_is_reached) {
  static const struct stats_rule rule = {.min_samples = 30,
                                         .max_samples = 1000,
                                         .relative_half_width = 0.005,
                                         .budget_s = 2,
                                         .floor_samples = 5,
                                         .few_samples = 6,
                                         .slow_s = 0.001};
  static const struct {
    uint32_t n;
    double half_width, elapsed_s;
    enum stats_stop expected;
  } rows[] = {
      {6, 0.4, 0.006, STATS_STOP_INTERVAL},
      {6, 0.4, 0.005, STATS_GO_ON}, /* a fast launch pays little for min_samples */
      {5, 0.4, 0.5, STATS_GO_ON},   /* the range of five is no 95 % interval */
      {29, 0.6, 0.5, STATS_GO_ON},
      {29, 0.4, 0.028, STATS_GO_ON}, /* many samples are not slow ones */
      {30, 0.4, 0.02, STATS_STOP_INTERVAL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct stats s = {
        .n = rows[i].n, .median = 100, .ci_low = 100 - rows[i].half_width, .ci_high = 100 + rows[i].half_width};
    assert_int_equal(stats_should_stop(&rule, &s, rows[i].elapsed_s), rows[i].expected);
  }
}

TEST(unknown_interval_never_counts_as_reached) {
  static const struct stats_rule rule = {
      .min_samples = 1, .max_samples = 1000, .relative_half_width = 0.005, .budget_s = 2, .floor_samples = 1};
  const struct stats s = {.n = 40, .median = NAN, .ci_low = NAN, .ci_high = NAN};
  assert_int_equal(stats_should_stop(&rule, &s, 0), STATS_GO_ON);
}

TEST(stop_names_are_stable) {
  assert_string_equal(stats_stop_name(STATS_STOP_INTERVAL), "interval");
  assert_string_equal(stats_stop_name(STATS_STOP_BUDGET), "budget");
  assert_string_equal(stats_stop_name(STATS_STOP_SAMPLES), "max_samples");
}
