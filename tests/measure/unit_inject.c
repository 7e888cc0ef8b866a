#include <math.h>
#include <string.h>

#include "cli/measure/measure.h"
#include "kernels/device_ops.h"
#include "tests/unit.h"

static const bool both[TIME_MODE_COUNT] = {true, true};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- rules --------------------------------------------------------------------------------------------------- */

TEST(a_rule_is_parted_at_its_last_colon) {
  struct inject_rule rule;
  assert_int_equal(inject_parse("B1.*/split_kv:splits=4:3.5", &rule).code, STATUS_OK);
  assert_string_equal(rule.glob, "B1.*/split_kv:splits=4");
  assert_true(rule.percent == 3.5);
}

TEST(bad_rules_are_usage_errors) {
  char long_glob[CELL_GLOB_MAX + 8];
  memset(long_glob, 'a', sizeof long_glob);
  memcpy(long_glob + CELL_GLOB_MAX, ":3", 3);
  const char *const texts[] = {"",         "3",         ":3",         "*/wmma:",     "*/wmma:x", "*/wmma:3x",
                               "*/wmma:0", "*/wmma:-3", "*/wmma:nan", "*/wmma:1001", long_glob};
  for (size_t i = 0; i < COUNT(texts); ++i) {
    struct inject_rule rule;
    const struct status status = inject_parse(texts[i], &rule);
    if (status.code != STATUS_USAGE) fail_msg("\"%s\" was taken", texts[i]);
    assert_non_null(strstr(status.text, "--inject-slowdown"));
  }
}

TEST(a_rule_is_for_the_cells_that_its_glob_matches) {
  struct inject_rule rule;
  assert_int_equal(inject_parse("*.D64.*/wmma:3", &rule).code, STATUS_OK);
  assert_true(inject_percent(&rule, "B1.H8.D64.f16.full", "wmma") == 3);
  assert_true(inject_percent(&rule, "B1.H8.D64.f16.full", "wmma_qk") == 0);
  assert_true(inject_percent(&rule, "B1.H8.D128.f16.full", "wmma") == 0);
  assert_int_equal(inject_parse(NULL, &rule).code, STATUS_OK);
  assert_true(inject_percent(&rule, "B1.H8.D64.f16.full", "wmma") == 0);
}

/* ---- calibrating, on a device whose times are known ------------------------------------------------------------ */

/* A launch takes base_us, a delay costs node_us more and lasts `stretch` times what was asked, and the clock drifts
 * by `drift` with every sample. */
struct world {
  struct device device;
  struct bench bench;
  double base_us[TIME_MODE_COUNT], node_us, stretch, drift;
  double asked_us[TIME_MODE_COUNT]; /* delays in force */
  double in_graph_us;               /* the hot delay as of the last prepare */
  unsigned samples;
};

static struct world *world_of(struct bench *bench) {
  return (struct world *)((char *)bench - offsetof(struct world, bench));
}

static struct status fake_prepare(struct bench *bench, uint32_t *hot_launches, double *estimate_us) {
  struct world *w = world_of(bench);
  *hot_launches = 20;
  *estimate_us = w->base_us[TIME_HOT];
  w->in_graph_us = w->asked_us[TIME_HOT];
  return status_ok();
}

static struct status fake_delay(struct bench *bench, enum time_mode mode, double delay_us) {
  world_of(bench)->asked_us[mode] = delay_us;
  return status_ok();
}

static double fake_us(const struct world *w, enum time_mode mode) {
  const double delay_us = mode == TIME_HOT ? w->in_graph_us : w->asked_us[mode];
  return w->base_us[mode] + (delay_us > 0 ? w->node_us + w->stretch * delay_us : 0);
}

static struct status fake_sample(struct bench *bench, enum time_mode mode, uint32_t n, double *us,
                                 double *sm_clock_mhz) {
  struct world *w = world_of(bench);
  *sm_clock_mhz = NAN;
  for (uint32_t i = 0; i < n; ++i) us[i] = fake_us(w, mode) * (1 + w->drift * ++w->samples);
  return status_ok();
}

static const struct device_ops fake_ops = {.time_prepare = fake_prepare, .sample = fake_sample, .delay = fake_delay};

static void world_open(struct world *w, double hot_us, double node_us) {
  static const struct attn_variant any = {.name = "any", .runs_on = DEVICE_CUDA};
  *w = (struct world){.base_us = {[TIME_COLD] = hot_us + 3, [TIME_HOT] = hot_us}, .node_us = node_us, .stretch = 1};
  w->device = (struct device){.ops = &fake_ops, .info.kind = DEVICE_CUDA};
  w->bench = (struct bench){.device = &w->device, .variant = &any};
}

static void expect_slowdown(struct world *w, double percent, double points) {
  struct injected_record injected;
  uint32_t launches;
  double us;
  assert_int_equal(inject_calibrate(&w->device, &w->bench, both, percent, w->base_us[TIME_HOT], &injected).code,
                   STATUS_OK);
  assert_true(injected.done && injected.percent == percent);
  assert_int_equal(bench_time_prepare(&w->bench, &launches, &us).code, STATUS_OK);
  for (enum time_mode mode = TIME_COLD; mode < TIME_MODE_COUNT; ++mode) {
    const double reached = (fake_us(w, mode) / w->base_us[mode] - 1) * 100;
    if (fabs(reached - percent) > points) fail_msg("%g %% is %g %%", percent, reached);
    if (fabs((injected.ratio[mode] - 1) * 100 - reached) > points) fail_msg("ratio %g", injected.ratio[mode]);
  }
}

TEST(a_slowdown_is_what_was_asked_for) {
  static const double hot_us[] = {30, 100, 1000, 20000}, percents[] = {3, 5, 20, 200};
  for (size_t i = 0; i < COUNT(hot_us); ++i) {
    for (size_t k = 0; k < COUNT(percents); ++k) {
      struct world w;
      world_open(&w, hot_us[i], 0.6);
      expect_slowdown(&w, percents[k], 0.21);
    }
  }
}

TEST(a_delay_that_is_not_as_long_as_asked_is_corrected) {
  static const double stretches[] = {0.6, 0.9, 1.3}; /* an SM clock above or below the nominal one */
  for (size_t i = 0; i < COUNT(stretches); ++i) {
    struct world w;
    world_open(&w, 200, 0.6);
    w.stretch = stretches[i];
    expect_slowdown(&w, 10, 0.21);
  }
}

TEST(a_drifting_clock_is_not_taken_for_the_delay) {
  struct world w;
  world_open(&w, 100, 0.6);
  w.drift = 1e-5;
  expect_slowdown(&w, 3, 0.25);
}

TEST(a_slowdown_below_the_price_of_a_launch_is_refused) {
  struct world w;
  struct injected_record injected = {0};
  world_open(&w, 10, 0.6);
  const struct status status = inject_calibrate(&w.device, &w.bench, both, 3, 10, &injected);
  assert_int_equal(status.code, STATUS_USAGE);
  assert_non_null(strstr(status.text, ": 6.0"));
  assert_non_null(strstr(status.text, "choose a longer cell"));
  assert_false(injected.done);
}

/* A quarter of what is asked for, and never more than a little: no step gets there. */
static struct status stubborn_delay(struct bench *bench, enum time_mode mode, double delay_us) {
  world_of(bench)->asked_us[mode] = fmin(delay_us, 0.5);
  return status_ok();
}

TEST(a_cell_that_does_not_come_near_is_refused) {
  static const struct device_ops ops = {.time_prepare = fake_prepare, .sample = fake_sample, .delay = stubborn_delay};
  struct world w;
  struct injected_record injected = {0};
  world_open(&w, 100, 0.6);
  w.device.ops = &ops;
  const struct status status = inject_calibrate(&w.device, &w.bench, both, 20, 100, &injected);
  assert_int_equal(status.code, STATUS_USAGE);
  assert_non_null(strstr(status.text, "vary too much"));
  assert_false(injected.done);
}

TEST(the_next_delay_makes_up_for_what_is_missing) {
  assert_true(fabs(inject_next_delay(2, 2.5, 0.5, 5) - 4.5) < 1e-9);
  assert_true(fabs(inject_next_delay(2, 4.5, 0.5, 3.5) - 1.5) < 1e-9); /* it lasts twice as long as asked */
  assert_true(fabs(inject_next_delay(0.001, 0.7, 0.7, 5) - 4.301) < 1e-9);
  assert_true(inject_next_delay(1, 50, 0.5, 5) > 0); /* never none */
}
