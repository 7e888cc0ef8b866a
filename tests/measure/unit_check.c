/* What a check says of an output, and which times it believes. */
#include <math.h>
#include <string.h>

#include "cli/measure/check.h"
#include "kernels/bounds.h"
#include "tests/unit.h"

static const struct device_info gpu = {.kind = DEVICE_CUDA,
                                       .sms = 132,
                                       .sm_clock_max_mhz = 1980,
                                       .tensor_flop_per_clk_sm = 4096,
                                       .fp32_flop_per_clk_sm = 256,
                                       .dram_gb_per_s = 4800,
                                       .l2_bytes = 100 << 20};

/* 8.59 GFLOP: 8.02 us on those tensor cores; 7.0 us for the bytes. */
static struct record timed(double hot_us, double cold_us) {
  struct record record;
  record_start(&record);
  record.attn_case.shape = (struct attn_problem)ATTN_DENSE(8, 16, 16, 512, 512, 64, ATTN_F16, false);
  record.check = (struct check_record){
      .done = true, .right = true, .compare = {.first_bad = UINT64_MAX, .rows = 65536, .elements = 65536 * 64}};
  record.time[TIME_HOT].done = record.time[TIME_COLD].done = true;
  record.time[TIME_HOT].us.median = hot_us;
  record.time[TIME_COLD].us.median = cold_us;
  return record;
}

/* One row of D = 64 with 1024 keys and scores of at most 5. */
static struct lse_result compared(double lse, double reference) {
  const struct reference_row row = {.spread_square = 1, .largest = 5, .lse = reference, .q_size = 1};
  const struct attn_problem problem = ATTN_DENSE(1, 1, 1, 1, 1024, 64, ATTN_BF16, false);
  const struct tolerance tolerance = compare_tolerance(ATTN_BF16);
  const struct compare_bound bound = compare_bound_of(&tolerance, &problem, 1024, &row);
  struct compare_partial one, all;
  compare_start(&one);
  compare_start(&all);
  compare_lse(&one, &bound, 7, lse, reference);
  compare_merge(&all, &one);
  assert_int_equal(all.result.lse.rows, 1);
  assert_int_equal(all.result.lse.first_bad, all.result.lse.bad_rows > 0 ? 7 : UINT64_MAX);
  return all.result.lse;
}

/* 2^-24 (8 + 2 * 32 + 2 * 8 * 6 + 3 * 7), whatever the dtype. */
TEST(a_log_sum_exp_is_held_against_what_fp32_costs) {
  const double bound = 189 * 0x1p-24;
  static const struct {
    double lse, reference;
    uint64_t bad, not_finite;
  } rows[] = {{NAN, 7, 1, 1},       {INFINITY, 7, 1, 1},    {-INFINITY, 7, 1, 1},       {-INFINITY, -INFINITY, 0, 0},
              {0, -INFINITY, 1, 0}, {NAN, -INFINITY, 1, 1}, {INFINITY, -INFINITY, 1, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const struct lse_result r = compared(rows[i].lse, rows[i].reference);
    if (r.bad_rows != rows[i].bad || r.not_finite != rows[i].not_finite) fail_msg("row %zu", i);
    assert_true(r.max_bound_ratio == 0);
  }
  assert_int_equal(compared(7 + 0.99 * bound, 7).bad_rows, 0);
  assert_int_equal(compared(7 - 0.99 * bound, 7).bad_rows, 0);
  assert_int_equal(compared(7 + 1.01 * bound, 7).bad_rows, 1);
  assert_int_equal(compared(7 - 1.01 * bound, 7).bad_rows, 1);
  assert_true(fabs(compared(7 + 3 * bound, 7).max_bound_ratio - 3) < 1e-6);
}

/* One key, whose score of 0.0001 is its log-sum-exp, with an error of so much. */
static bool is_capped_score_right(enum attn_dtype dtype, float cap, double error) {
  const struct reference_row row = {.spread_square = 1, .largest = 1e-4, .lse = 1e-4, .q_size = 1e-4};
  struct attn_problem problem = ATTN_DENSE(1, 1, 1, 1, 1, 128, dtype, false);
  const struct tolerance tolerance = compare_tolerance(dtype);
  problem.softcap = cap;
  const struct compare_bound bound = compare_bound_of(&tolerance, &problem, 1, &row);
  struct compare_partial partial;
  compare_start(&partial);
  compare_lse(&partial, &bound, 0, 1e-4 + error, 1e-4);
  return partial.result.lse.bad_rows == 0;
}

TEST(a_log_sum_exp_of_capped_scores_may_be_off_by_what_tanh_rounds) {
  const double rounding = 50 * 0x1p-24; /* of 50 (1 - 2 / (1 + e^(2 score / 50))) in fp32 */
  assert_true(is_capped_score_right(ATTN_F16, 50, 3.5 * rounding) &&
              is_capped_score_right(ATTN_BF16, 50, -3.5 * rounding));
  assert_false(is_capped_score_right(ATTN_F16, 50, 5 * rounding) ||
               is_capped_score_right(ATTN_BF16, 50, -5 * rounding));
  assert_false(is_capped_score_right(ATTN_F16, 0, 3.5 * rounding) ||
               is_capped_score_right(ATTN_F16, 5, 3.5 * rounding));
  assert_false(is_capped_score_right(ATTN_F32, 50, 3.5 * rounding));
  /* With whatever cap, no more than an output of the type may be off by. */
  assert_true(is_capped_score_right(ATTN_F16, 1e6, 0.0004) && !is_capped_score_right(ATTN_F16, 1e6, 0.001));
}

/* How far a row of e4m3 with one key and a sink of the same score may be off, relative to its output; D = 128. */
static double e4m3_bound(double sink, double step_keys) {
  struct attn_problem problem = ATTN_DENSE(1, 1, 1, 1, 1, 128, ATTN_E4M3, false);
  const double top = 1 - sink, square = 128;
  const struct reference_row row = {.spread_square = top * top * square,
                                    .largest = 30,
                                    .q_size = 3,
                                    .value_square = square,
                                    .top = top,
                                    .sink = sink};
  struct tolerance tolerance = compare_tolerance(ATTN_F16);
  problem.sink = sink > 0, tolerance.step_keys = step_keys;
  const struct compare_bound bound = compare_bound_of(&tolerance, &problem, 1, &row);
  return (bound.row + 2 * bound.unit * top * sqrt(square)) / (top * sqrt(square));
}

/* A score of 30 loses up to 4 steps of 17 units of 2^-13 of it as a sum of 14 bits, whatever other scores lose:
 * against a sink that is half of the sum, half of that of the output. Without a sink its weight is 1. */
TEST(scores_of_14_bits_may_lose_against_a_sink) {
  const double lost = 4 * 0x1p-13 * (17 * 30 + 2 * 3);
  assert_true(e4m3_bound(0.5, 16) > lost / 2 && e4m3_bound(0.5, 16) < lost / 2 + 0.004);
  assert_true(e4m3_bound(0, 16) < 0.004 && e4m3_bound(0.5, 0) < 0.004);
}

TEST(a_wrong_log_sum_exp_names_the_row) {
  struct attn_problem shape = ATTN_DENSE(2, 4, 2, 100, 100, 64, ATTN_F16, false);
  struct check_record check = {.done = true, .compare = {.first_bad = UINT64_MAX, .rows = 800}};
  char reason[RECORD_REASON_MAX];
  shape.lse = true;
  check.compare.lse = (struct lse_result){
      .rows = 800, .bad_rows = 2, .not_finite = 1, .first_bad = 523, .max_abs_error = 0.25, .max_bound_ratio = 9};
  check_explain(&check, &shape, reason);
  assert_string_equal(reason,
                      "the log-sum-exp (LSE) of 2 of 800 query rows differs from the fp64 oracle beyond its bound (1 "
                      "NaN or infinite; largest error 0.25, 9 times the bound); first at [b=1, h=1, q=23]");
  check.compare.bad_count = check.compare.bad_rows = 1; /* O is wrong too */
  check.compare.first_bad = 0;
  check_explain(&check, &shape, reason);
  assert_non_null(strstr(reason, "elements differ"));
}

static enum cell_status settled(struct record *record, double changed_us) {
  record->check.changed_us = changed_us;
  check_settle(record, &gpu);
  return record->status;
}

TEST(times_below_the_floor_are_implausible) {
  static const struct {
    double hot_us, cold_us, changed_us;
    enum cell_status status;
    const char *reason;
  } cases[] = {
      {26, 28, 27, CELL_ok, ""},
      {8.1, 18, NAN, CELL_ok, ""},
      {7.5, 28, NAN, CELL_implausible, "hot median of 7.5 us is below"},
      {26, 7.5, NAN, CELL_implausible, "cold median of 7.5 us is below"},
      {NAN, 26, NAN, CELL_implausible, "hot median of nan us"},
      {20, 28, 60, CELL_implausible, "launches on inputs that were seen before skip work"},
      {20, 28, 28, CELL_implausible, "launches on inputs that were seen before skip work"},
      {20, 28, 26, CELL_ok, ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    struct record record = timed(cases[i].hot_us, cases[i].cold_us);
    if (settled(&record, cases[i].changed_us) != cases[i].status) fail_msg("case %zu: %s", i, record.reason);
    if (strncmp(record.reason, cases[i].reason, strlen(cases[i].reason)) != 0 &&
        strstr(record.reason, cases[i].reason) == NULL)
      fail_msg("%s", record.reason);
  }
}

TEST(tensors_beyond_the_cache_may_be_slower_when_they_change) {
  struct record record = timed(400, 500);
  record.attn_case.shape = (struct attn_problem)ATTN_DENSE(16, 32, 8, 1, 8192, 128, ATTN_F16, false);
  assert_int_equal(settled(&record, 1500), CELL_ok);
  assert_int_equal(settled(&record, 1700), CELL_implausible);
}

/* 1 MiB in all: 41.4 us would be the limit of narrow heads. */
TEST(wide_heads_may_be_half_as_slow_again_when_they_change) {
  struct record record = timed(31.5, 63);
  record.attn_case.shape = (struct attn_problem)ATTN_DENSE(1, 4, 4, 16, 16, 2048, ATTN_F16, false);
  assert_int_equal(settled(&record, 41.8), CELL_ok);
  assert_int_equal(settled(&record, 50), CELL_implausible);
}

/* Three eighths of L2, and 113 operations for each byte. */
TEST(reads_of_more_than_a_quarter_of_the_cache_may_be_slower_when_they_change) {
  struct record record = timed(28.9, 40);
  record.attn_case.shape = (struct attn_problem)ATTN_DENSE(8, 32, 8, 32, 1024, 128, ATTN_BF16, false);
  assert_int_equal(settled(&record, 41.8), CELL_ok);
  assert_int_equal(settled(&record, 46), CELL_implausible);
  record = timed(28.9, 40);
  record.attn_case.shape = (struct attn_problem)ATTN_DENSE(4, 32, 8, 32, 1024, 128, ATTN_BF16, false);
  assert_int_equal(settled(&record, 41.8), CELL_implausible);
}

TEST(a_wrong_output_is_wrong_at_any_time) {
  struct record record = timed(1, 1);
  record.check.right = false;
  record.check.timed_samples = 50, record.check.timed_wrong = 7;
  assert_int_equal(settled(&record, NAN), CELL_wrong);
  assert_non_null(strstr(record.reason, "7 of 50 timed samples left an output that is stale or wrong"));
}

TEST(reasons_name_the_first_bad_place) {
  struct record record = timed(26, 28);
  struct check_record *check = &record.check;
  check->right = false;
  check->compare.bad_rows = 3, check->compare.max_row_ratio = 1.5;
  check->compare.first_bad = ((2 * 16 + 5) * 512 + 77) * 64;
  assert_int_equal(settled(&record, NAN), CELL_wrong);
  assert_non_null(
      strstr(record.reason, "in 3 of 65536 query rows the error norm is beyond its bound (worst 1.5 times)"));
  assert_non_null(strstr(record.reason, "first at [b=2, h=5, q=77, d=0]"));
  check->launch = 1;
  check->compare.bad_count = 4, check->compare.first_bad += 9;
  settled(&record, NAN);
  assert_non_null(strstr(record.reason, "first at [b=2, h=5, q=77, d=9] (on inputs of kind \""));
  check->launch = 0;
  check->compare.bad_count = check->compare.bad_rows = 0;
  check->compare.first_bad = UINT64_MAX, check->compare.norm_ratio = 1.25;
  settled(&record, NAN);
  assert_non_null(strstr(record.reason, "the error norm is 1.25 times its bound"));
}

/* 35 samples find a race of 1 in 50 as often as not, 228 in 99 of 100; of a tenth of the rows it takes ten times as
 * many. */
TEST(the_probability_of_finding_a_race_follows_the_samples) {
  assert_true(checked_race_found(0, 1) == 0);
  assert_true(fabs(checked_race_found(1, 1) - 0.02) < 1e-12);
  assert_true(checked_race_found(35, 1) > 0.5 && checked_race_found(34, 1) < 0.5);
  assert_true(checked_race_found(228, 1) > 0.99 && checked_race_found(227, 1) < 0.99);
  assert_true(checked_race_found(350, 0.1) > 0.49 && checked_race_found(350, 0.1) < 0.51);
}
