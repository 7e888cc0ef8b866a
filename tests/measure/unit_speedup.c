#include <math.h>
#include <string.h>

#include "cli/measure/check.h"
#include "cli/measure/measure.h"
#include "cli/record/record.h"
#include "tests/unit.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof(array)[0]))

static void assert_near(double got, double want) {
  if (!(fabs(got - want) <= 1e-12 * fabs(want))) fail_msg("%.17g is not %.17g", got, want);
}

/* ---- the ratio ----------------------------------------------------------------------------------------------- */

TEST(a_steady_pair_gives_the_quotient_of_its_times) {
  const double reference[] = {10, 10, 10, 10, 10, 10, 10}, variant[] = {40, 40, 40, 40, 40, 40};
  const struct ratio_record r = speedup_of_batches(reference, variant, COUNT(variant), 0);
  assert_true(r.done);
  assert_int_equal(r.rounds, 6);
  assert_near(r.ratio, 0.25);
  assert_near(r.ci_low, 0.25);
  assert_near(r.ci_high, 0.25);
}

/* The clock falls steadily over the turns, by 3 % each: times taken apart would be 20 % off. */
TEST(a_linear_drift_cancels) {
  double reference[8], variant[7];
  for (int turn = 0; turn < 15; ++turn) {
    const double slower = 1 + 0.03 * turn;
    if (turn % 2 == 0) reference[turn / 2] = 10 * slower;
    if (turn % 2 == 1) variant[turn / 2] = 20 * slower;
  }
  const struct ratio_record r = speedup_of_batches(reference, variant, COUNT(variant), 0);
  assert_near(r.ratio, 0.5);
  assert_near(r.ci_low, 0.5);
  assert_near(r.ci_high, 0.5);
}

TEST(one_spoiled_batch_moves_neither_the_ratio_nor_its_interval) {
  double reference[16], variant[15];
  for (int i = 0; i < 16; ++i) reference[i] = 10;
  for (int i = 0; i < 15; ++i) variant[i] = i == 4 ? 1000 : 5;
  const struct ratio_record r = speedup_of_batches(reference, variant, COUNT(variant), 0);
  assert_near(r.ratio, 2);
  assert_near(r.ci_low, 2);
  assert_near(r.ci_high, 2);
}

TEST(the_interval_is_the_fourth_ratio_from_either_end_of_fifteen) {
  double reference[16], variant[15];
  for (int i = 0; i < 16; ++i) reference[i] = 1;
  for (int i = 0; i < 15; ++i) variant[i] = 1.0 / (i + 1); /* ratios 1 to 15 */
  const struct ratio_record r = speedup_of_batches(reference, variant, COUNT(variant), 0);
  assert_near(r.ratio, 8);
  assert_near(r.ci_low, 4);
  assert_near(r.ci_high, 12);
}

/* 7.5 us of kernel against 10 us, each with 2.5 us of events: 1.25 with them, 4/3 without. */
TEST(the_constant_of_the_events_is_taken_off) {
  const double reference[] = {12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5}, variant[] = {10, 10, 10, 10, 10, 10};
  const struct ratio_record with = speedup_of_batches(reference, variant, COUNT(variant), 0);
  const struct ratio_record without = speedup_of_batches(reference, variant, COUNT(variant), 2.5);
  assert_near(with.ratio, 1.25);
  assert_near(with.event_overhead_us, 0);
  assert_near(without.ratio, 4.0 / 3);
  assert_near(without.ci_high, 4.0 / 3);
  assert_near(without.event_overhead_us, 2.5);
}

/* What remained of one of the times would be mostly noise; and there is no step. */
TEST(at_most_half_of_the_shortest_time_is_taken_off) {
  const double reference[] = {9, 9, 9, 9, 9, 9, 9}, variant[] = {9, 9, 9, 9, 9, 4.5};
  assert_near(speedup_of_batches(reference, variant, COUNT(variant), 2.26).event_overhead_us, 2.25);
  assert_near(speedup_of_batches(reference, variant, COUNT(variant), 2.24).event_overhead_us, 2.24);
  assert_near(speedup_of_batches(variant, variant, COUNT(variant) - 1, 1e9).ratio, 1);
}

/* Only a GPU whose cold samples hold no host time has such a constant, and only in them. */
TEST(only_cold_times_of_a_gpu_hold_events) {
  struct device_info device = {.kind = DEVICE_CUDA, .hides_launches = true};
  assert_near(event_overhead_in(TIME_COLD, &device, 2.5), 2.5);
  assert_near(event_overhead_in(TIME_HOT, &device, 2.5), 0);
  assert_near(event_overhead_in(TIME_COLD, &device, -2.5), 0);
  assert_near(event_overhead_in(TIME_COLD, &device, NAN), 0);
  device.hides_launches = false;
  assert_near(event_overhead_in(TIME_COLD, &device, 2.5), 0);
  device = (struct device_info){.kind = DEVICE_CPU, .hides_launches = true};
  assert_near(event_overhead_in(TIME_COLD, &device, 2.5), 0);
}

TEST(rounds_beyond_the_room_are_left_out) {
  double reference[SPEEDUP_ROUNDS_MAX + 2], variant[SPEEDUP_ROUNDS_MAX + 1];
  for (int i = 0; i < SPEEDUP_ROUNDS_MAX + 2; ++i) reference[i] = 1;
  for (int i = 0; i < SPEEDUP_ROUNDS_MAX + 1; ++i) variant[i] = 1;
  assert_int_equal(speedup_of_batches(reference, variant, COUNT(variant), 0).rounds, SPEEDUP_ROUNDS_MAX);
}

TEST(a_ratio_that_moves_is_not_steady) {
  /* Both sides slow down by half, the ratio stays. */
  const double reference[7] = {10, 11, 12, 13, 14, 14.5, 15}, variant[6] = {5.25, 5.75, 6.25, 6.75, 7.125, 7.375};
  assert_near(speedup_drift(reference, variant, 6), 0);
  /* The reference loses more than the variant does. */
  const double falling[6] = {5.25, 5.75, 6.25, 6.70, 7.05, 7.30};
  assert_true(speedup_drift(reference, falling, 6) > RATIO_DRIFT_MOST);
  /* One outlier moves no half. */
  const double outlier[6] = {5.25, 9.0, 6.25, 6.75, 7.125, 7.375};
  assert_near(speedup_drift(reference, outlier, 6), 0);
  assert_true(isnan(speedup_drift(reference, outlier, 3)));
  assert_near(speedup_of_batches(reference, falling, 6, 0).drift_ratio, speedup_drift(reference, falling, 6));
}

/* Rounds that scatter by 2 % have halves that differ by chance; a step of 3 % in the middle is seen all the same. */
TEST(scatter_alone_is_no_drift) {
  const double scatter[14] = {1.02, 0.98, 1.01, 0.99, 1.0, 1.02, 1.0, 0.98, 1.01, 0.97, 1.0, 1.0, 0.98, 1.01};
  double reference[15], still[14], moves[14];
  for (int i = 0; i < 15; ++i) reference[i] = 10;
  for (int i = 0; i < 14; ++i) still[i] = 10 / scatter[i];
  for (int i = 0; i < 14; ++i)
    moves[i] = i < 7 ? 10 / (1 + (scatter[i] - 1) / 10) : 9.7 / (1 + (scatter[i] - 1) / 10);
  assert_true(speedup_drift(reference, still, 14) <= RATIO_DRIFT_MOST);
  assert_true(speedup_drift(reference, moves, 14) > 0.02);
}

/* 100 us against 10, measured one after the other: both intervals widen that of the ratio. */
TEST(far_rows_are_held_against_their_own_samples) {
  const double reference[] = {9, 10, 10, 10, 10, 11};
  struct time_record own = {.done = true, .sm_clock_mhz = 1700};
  own.us = (struct stats){.n = 30, .min = 90, .median = 100, .ci_low = 90, .ci_high = 110};
  const struct ratio_record r = speedup_of_apart(reference, COUNT(reference), &own, 0);
  assert_true(r.done && isnan(r.drift_ratio));
  assert_int_equal(r.rounds, COUNT(reference));
  assert_near(r.ratio, 0.1);
  assert_near(r.ci_low, 9.0 / 110);
  assert_near(r.ci_high, 11.0 / 90);
  assert_near(r.sm_clock_mhz, 1700);
  assert_near(speedup_of_apart(reference, COUNT(reference), &own, 2).ratio, 8.0 / 98);
}

/* ---- on the CPU ---------------------------------------------------------------------------------------------- */

struct stand {
  struct device *device;
  struct bench *bench;
  struct attn_case attn_case;
};

static void stand_open(struct stand *b, uint32_t D) {
  b->attn_case.shape = (struct attn_problem)ATTN_DENSE(1, 1, 1, 2, 2, D, ATTN_F32, false);
  axes_key(&b->attn_case.shape, b->attn_case.key);
  assert_int_equal(device_open("cpu", &b->device).code, STATUS_OK);
  assert_int_equal(bench_open(b->device, &b->attn_case.shape, 1, &b->bench).code, STATUS_OK);
}

static void stand_close(struct stand *b) {
  bench_close(b->bench);
  device_close(b->device);
}

static const struct variant_spec *spec_of(const char *text) {
  static struct variant_spec spec;
  assert_int_equal(variant_spec_parse(text, "test", STATUS_USAGE, &spec).code, STATUS_OK);
  return &spec;
}

TEST(a_reference_is_measured_in_all_modes_and_leaves_the_row_bound) {
  struct stand b;
  struct speedup_reference reference;
  struct speedup_record speedup = {.reference = "cpu_ref"};
  struct pass_facts facts[ATTN_PASSES_MAX];
  struct attn_plan plan;
  uint32_t launches;
  double us;
  stand_open(&b, 16);
  const struct attn_variant *flash = variant_find("cpu_flash");
  const struct attn_tuning tuning = variant_default_tuning(flash);
  variant_plan(flash, &b.attn_case.shape, &tuning, device_info(b.device), &plan);
  assert_int_equal(bench_bind(b.bench, flash, &plan, facts).code, STATUS_OK);
  assert_int_equal(bench_time_prepare(b.bench, &launches, &us).code, STATUS_OK);
  assert_int_equal(speedup_prepare(b.device, b.bench, &b.attn_case, spec_of("cpu_ref"), &reference).code, STATUS_OK);
  assert_true(reference.tried);
  assert_string_equal(reference.obstacle, "");
  const bool modes[TIME_MODE_COUNT] = {true, true, true}, hot_only[TIME_MODE_COUNT] = {[TIME_HOT] = true};
  struct time_record own[TIME_MODE_COUNT] = {record_time_unknown(), record_time_unknown(),
                                             record_time_unknown()}; /* so in turns */
  assert_int_equal(speedup_measure(b.device, b.bench, &reference, launches, us, modes, own, &speedup).code,
                   STATUS_OK);
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    assert_true(speedup.mode[mode].done && speedup.mode[mode].rounds >= 6);
    assert_true(speedup.mode[mode].ci_low > 0 && speedup.mode[mode].ci_low <= speedup.mode[mode].ratio);
    assert_true(speedup.mode[mode].ratio <= speedup.mode[mode].ci_high);
  }
  struct speedup_record hot = {.reference = "cpu_ref"};
  own[TIME_HOT] = (struct time_record){.done = true, .us = {.min = us, .ci_low = us, .median = us, .ci_high = us}};
  assert_int_equal(speedup_measure(b.device, b.bench, &reference, launches, us, hot_only, own, &hot).code, STATUS_OK);
  assert_true(hot.mode[TIME_HOT].done && !hot.mode[TIME_COLD].done);
  struct check_record check = {0};
  assert_int_equal(check_output(b.bench, &check).code, STATUS_OK);
  assert_true(check.right);
  stand_close(&b);
}

TEST(a_reference_that_cannot_run_here_is_a_reason_not_a_failure) {
  static const struct {
    const char *spec, *reason;
    uint32_t D;
  } rows[] = {{"cpu_flash", "cpu_flash: D", 8000}, {"wmma", "wmma: needs a CUDA device", 16}};
  for (size_t i = 0; i < COUNT(rows); ++i) {
    struct stand b;
    struct speedup_reference reference;
    stand_open(&b, rows[i].D);
    assert_int_equal(speedup_prepare(b.device, b.bench, &b.attn_case, spec_of(rows[i].spec), &reference).code,
                     STATUS_OK);
    assert_true(reference.tried);
    if (strstr(reference.obstacle, rows[i].reason) != reference.obstacle) fail_msg("%s", reference.obstacle);
    stand_close(&b);
  }
}

/* ---- kernels alone --------------------------------------------------------------------------------------------- */

/* An H200's (1,8,512,64): 4.9 us of ours, 10.3 us of cuDNN's kernel with a memset of 2.5 us. */
TEST(memsets_are_taken_off_both_times) {
  assert_near(record_kernels_alone(2.1, 5, 2.5, NAN), 8.0 / 5);
  assert_near(record_kernels_alone(2, 5, NAN, 1), 10.0 / 4);
  assert_near(record_kernels_alone(2, 5, 2, 1), 2);
}

TEST(without_memsets_there_is_no_other_ratio) {
  assert_true(record_kernels_alone(2.1, 5, NAN, NAN) == 0);
  assert_true(record_kernels_alone(2.1, 5, 0, 0) == 0);
  assert_true(record_kernels_alone(1, 5, 5, NAN) == 0); /* no time would be left */
  assert_true(record_kernels_alone(NAN, 5, 2, NAN) == 0);
}
