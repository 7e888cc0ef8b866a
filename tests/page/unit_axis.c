/* Axes of drawings: round ends, ticks inside them, values at their places. */
#include <math.h>
#include <string.h>

#include "cli/page/plot.h"
#include "tests/unit.h"

static void expect_near(double left, double right) { assert_true(fabs(left - right) <= 1e-9 * fmax(1, fabs(right))); }

TEST(a_linear_axis_starts_at_zero_and_ends_on_a_tick) {
  static const struct {
    double most, high;
    size_t ticks;
  } cases[] = {{440, 500, 6}, {1, 1, 6}, {0.00014, 0.00015, 4}, {1e6, 1e6, 6}, {3.6, 4, 5}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const struct axis axis = axis_linear(cases[i].most, 200, 20);
    double tick[AXIS_TICKS_MAX];
    expect_near(axis.high, cases[i].high);
    assert_int_equal(axis_ticks(&axis, tick), cases[i].ticks);
    expect_near(tick[0], 0);
    expect_near(tick[cases[i].ticks - 1], axis.high);
    expect_near(axis_at(&axis, 0), 200);
    expect_near(axis_at(&axis, axis.high), 20);
  }
}

TEST(nothing_measured_still_makes_an_axis) {
  const double odd[] = {NAN, INFINITY, -INFINITY, 0, -3};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i) {
    const struct axis linear = axis_linear(odd[i], 0, 100), log = axis_log(odd[i], odd[i], 0, 100);
    const struct axis around = axis_around(0, 0, 0, 100);
    assert_true(linear.high > linear.low && isfinite(linear.high));
    assert_true(log.high > log.low && log.low > 0 && isfinite(log.high));
    assert_true(around.high > around.low);
  }
  struct axis_range range = axis_range_none();
  axis_range_add(&range, NAN);
  assert_true(range.least > range.most);
  axis_range_add(&range, 2);
  assert_true(range.least <= 2 && range.most >= 2);
}

TEST(a_logarithmic_axis_holds_its_values_and_two_or_a_few_ticks) {
  static const double ends[][2] = {{5.8, 49005}, {1, 1},     {0.9, 1.1},  {1e-5, 1e9},
                                   {3, 3.1},     {2.1, 4.3}, {999, 1001}, {5, 5}};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
    const struct axis axis = axis_log(ends[i][0], ends[i][1], 0, 300);
    double tick[AXIS_TICKS_MAX];
    const size_t count = axis_ticks(&axis, tick);
    assert_true(axis_at(&axis, ends[i][0]) >= 0 && axis_at(&axis, ends[i][1]) <= 300);
    assert_true(count >= 2 && count <= 9);
    for (size_t t = 0; t < count; ++t) {
      assert_true(axis_at(&axis, tick[t]) >= -1e-6 && axis_at(&axis, tick[t]) <= 300 + 1e-6);
      if (t > 0) assert_true(tick[t] > tick[t - 1]);
    }
  }
}

TEST(labels_have_the_digits_that_tell_ticks_apart) {
  static const struct {
    double most, tick;
    const char *label;
  } cases[] = {
      {500, 100, "100"}, {1, 0.2, "0.2"}, {0.2, 0.15, "0.15"}, {0.00015, 0.00005, "5.0e-05"}, {0.00015, 0, "0"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const struct axis axis = axis_linear(cases[i].most, 0, 100);
    char label[AXIS_LABEL_MAX];
    axis_label(&axis, cases[i].tick, label);
    assert_string_equal(label, cases[i].label);
  }
}
