#include "cli/analyse/scaling.h"
#include "tests/unit.h"
#include "tests/unit_rows.h"

static struct rows rows;

#define SERIAL(b, h, us)                                                                       \
  {                                                                                            \
    .variant = "serial", .B = b, .H = h, .S = 512, .D = 64, .grid = {2, 1, 1}, .threads = 128, \
    .covers = {ATTN_COVERS_Q}, .resident_blocks = 4, .cold_us = us                             \
  }
#define COVERING(name, b, h, us)                                                                 \
  {                                                                                              \
    .variant = name, .B = b, .H = h, .S = 512, .D = 64, .grid = {h, b, 8}, .threads = 256,       \
    .covers = {ATTN_COVERS_H, ATTN_COVERS_B, ATTN_COVERS_Q}, .resident_blocks = 2, .cold_us = us \
  }

/* S0: 6.8, 45.3 and 117.2 ms for 1, 8 and 16 times the work: the residual is 1.08 per unit of work. */
TEST(serial_grid_is_expected_to_grow_with_the_work) {
  static const struct row_spec specs[] = {SERIAL(1, 8, 6800), SERIAL(4, 16, 45300), SERIAL(8, 16, 117200)};
  rows_build(&rows, specs, 3, "l4", NULL);
  assert_true(rows.scaling[0].known && rows.scaling[0].is_baseline);
  static const double work[] = {1, 8, 16}, time[] = {1, 6.66, 17.24};
  for (size_t i = 0; i < 3; i++) {
    const struct scaling *s = &rows.scaling[i];
    assert_string_equal(s->baseline_key, "B1.H8.Hkv8.Sq512.Skv512.D64.f16.full");
    assert_int_equal(s->baseline_index, 0);
    assert_int_equal(s->widest_index, 2);
    assert_near(s->bh_ratio, work[i], 1e-12);
    assert_near(s->work_ratio, work[i], 1e-12);
    assert_near(s->wave_ratio, work[i], 1e-12);
    assert_true(s->timed);
    assert_near(s->time_ratio[TIME_COLD], time[i], 0.01);
    assert_near(s->residual[TIME_COLD], time[i] / work[i], 0.01);
    assert_true(isnan(s->time_ratio[TIME_HOT]) && isnan(s->residual[TIME_HOT]));
  }
}

/* 64, 512 and 1024 blocks on 58 SMs x 2: 1, 5 and 9 waves, never the 8x and 16x of the work. */
TEST(covering_grid_is_expected_to_grow_with_its_waves) {
  static const struct row_spec specs[] = {COVERING("scalar", 1, 8, 100), COVERING("scalar", 4, 16, 480),
                                          COVERING("scalar", 8, 16, 910)};
  rows_build(&rows, specs, 3, "l4", NULL);
  assert_near(rows.scaling[1].wave_ratio, 5, 1e-12);
  assert_near(rows.scaling[2].wave_ratio, 9, 1e-12);
  assert_near(rows.scaling[1].load_ratio, 9.0 / 2, 1e-12);
  assert_near(rows.scaling[2].load_ratio, 18.0 / 2, 1e-12);
  assert_near(rows.scaling[2].residual[TIME_COLD], 9.1 / 9, 1e-12);
}

/* 64, 512 and 1024 items: a block each, then one wave of 58 x 2 blocks that go round 5 and 9 times. */
TEST(persistent_grid_is_expected_to_grow_with_its_rounds) {
  struct row_spec specs[] = {COVERING("persistent", 1, 8, 100), COVERING("persistent", 4, 16, 480),
                             COVERING("persistent", 8, 16, 910)};
  for (size_t i = 0; i < 3; i++) {
    specs[i].grid[0] = i == 0 ? 64 : 116, specs[i].grid[1] = specs[i].grid[2] = 1;
    specs[i].covers[0] = ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q, specs[i].covers[1] = specs[i].covers[2] = 0;
  }
  rows_build(&rows, specs, 3, "l4", NULL);
  assert_near(rows.scaling[1].wave_ratio, 5, 1e-12);
  assert_near(rows.scaling[2].wave_ratio, 9, 1e-12);
  assert_near(rows.scaling[2].load_ratio, 18.0 / 2, 1e-12);
}

/* 132 blocks share the keys of all KV heads equally, as those of decode_general do: 8 heads are cut into 17 parts and
 * 32 heads into 5, so that a block has 1.03 parts of 1/17, then 1.21 of 1/5. */
TEST(splits_and_kv_heads_count_in_what_a_block_has) {
  struct row_spec specs[] = {COVERING("general", 1, 32, 100), COVERING("general", 4, 32, 396)};
  rows_build(&rows, specs, 2, "h200", NULL);
  for (size_t i = 0; i < 2; i++) {
    struct record *r = &rows.record[i];
    struct attn_pass *pass = &r->pass[0].pass;
    r->attn_case.shape.Sq = 1, r->attn_case.shape.Hkv = 8;
    r->plan.tile_q = 16, r->plan.splits = i == 0 ? 17 : 5;
    pass->grid[0] = 132, pass->grid[1] = pass->grid[2] = 1;
    pass->covers[0] = ATTN_COVERS_B | ATTN_COVERS_HKV | ATTN_COVERS_Q | ATTN_COVERS_SPLIT;
    pass->covers[1] = pass->covers[2] = 0;
    r->pass[0].facts.resident_blocks = 1;
  }
  rows_derive(&rows, "h200", NULL);
  assert_near(rows.metrics[1].pass[0].rounds, 160.0 / 132, 1e-12);
  assert_near(rows.scaling[1].wave_ratio, 4, 1e-12);
  assert_int_equal(rows.scaling[1].verdict, SCALING_linear);
  assert_null(rows_finding(&rows, 0, FINDING_ID_tail_wave));
}

TEST(passes_add_their_waves) {
  static const struct row_spec specs[] = {COVERING("split_kv", 1, 8, 0), COVERING("split_kv", 8, 16, 0)};
  rows_build(&rows, specs, 2, "l4", NULL);
  for (size_t i = 0; i < 2; i++) {
    rows.record[i].plan.pass_count = 2;
    rows.record[i].pass[1] = rows.record[i].pass[0];
    rows.record[i].pass[1].pass.grid[2] = 1; /* 8 blocks, then 128: 1 wave, then 2 */
    for (int axis = 0; axis < 3; axis++) rows.record[i].pass[1].pass.covers[axis] = 0;
    rows.record[i].pass[1].pass.covers[0] = ATTN_COVERS_UNKNOWN;
  }
  rows_derive(&rows, "l4", NULL);
  assert_near(rows.scaling[1].wave_ratio, (9 + 2) / 2.0, 1e-12);
}

TEST(planned_rows_have_geometry_but_no_time) {
  static const struct row_spec specs[] = {COVERING("scalar", 1, 8, 0), COVERING("scalar", 8, 16, 0)};
  rows_build(&rows, specs, 2, "l4", NULL);
  assert_true(rows.scaling[1].known);
  assert_false(rows.scaling[1].timed);
  assert_near(rows.scaling[1].wave_ratio, 9, 1e-12);
  assert_true(isnan(rows.scaling[1].time_ratio[TIME_COLD]));
}

TEST(groups_differ_in_b_and_h_only) {
  static const struct row_spec specs[] = {COVERING("scalar", 1, 8, 100), COVERING("scalar", 8, 16, 900)};
  enum { VARIANT, SQ, SKV, D, DTYPE, CAUSAL, RATIO, STATUS, CHANGES };
  for (int change = 0; change < CHANGES; change++) {
    rows_build(&rows, specs, 2, "l4", NULL);
    assert_true(rows.scaling[1].known);
    struct record *r = &rows.record[1];
    struct attn_problem *s = &r->attn_case.shape;
    if (change == VARIANT) snprintf(r->variant, sizeof r->variant, "scalar:tile=32");
    if (change == SQ) s->Sq++;
    if (change == SKV) s->Skv++;
    if (change == D) s->D *= 2;
    if (change == DTYPE) s->dtype = ATTN_BF16;
    if (change == CAUSAL) s->right = 0;
    if (change == RATIO) s->Hkv /= 2;
    if (change == STATUS) r->status = CELL_wrong;
    rows_derive(&rows, "l4", NULL);
    assert_false(rows.scaling[0].known);
    assert_false(rows.scaling[1].known);
  }
}

TEST(grouped_query_rows_of_one_ratio_belong_together) {
  static const struct row_spec specs[] = {COVERING("scalar", 1, 8, 100), COVERING("scalar", 1, 16, 200)};
  rows_build(&rows, specs, 2, "l4", NULL);
  rows.record[0].attn_case.shape.Hkv = 2;
  rows.record[1].attn_case.shape.Hkv = 4;
  rows_derive(&rows, "l4", NULL);
  assert_true(rows.scaling[1].known);
  assert_near(rows.scaling[1].bh_ratio, 2, 1e-12);
}

TEST(baseline_is_the_smallest_unless_the_sweep_names_one) {
  static const struct row_spec specs[] = {COVERING("scalar", 8, 16, 900), COVERING("scalar", 4, 16, 480),
                                          COVERING("scalar", 1, 8, 100)};
  static const struct {
    struct sweep_baseline want;
    size_t expected;
  } cases[] = {{{0, 0}, 2}, {{1, 8}, 2}, {{4, 0}, 1}, {{0, 16}, 1}, {{8, 16}, 0}, {{3, 3}, 2}};
  rows_build(&rows, specs, 3, "l4", NULL);
  assert_true(rows.scaling[2].is_baseline);
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    rows_build(&rows, specs, 3, "l4", &cases[i].want);
    for (size_t row = 0; row < 3; row++) {
      assert_int_equal(rows.scaling[row].baseline_index, cases[i].expected);
      assert_int_equal(rows.scaling[row].is_baseline, row == cases[i].expected);
    }
  }
}

TEST(interleaved_variants_are_kept_apart) {
  static const struct row_spec specs[] = {SERIAL(1, 8, 6800), COVERING("scalar", 1, 8, 100), SERIAL(8, 16, 117200),
                                          COVERING("scalar", 8, 16, 900)};
  rows_build(&rows, specs, 4, "l4", NULL);
  assert_int_equal(rows.scaling[2].baseline_index, 0);
  assert_int_equal(rows.scaling[3].baseline_index, 1);
  assert_near(rows.scaling[3].time_ratio[TIME_COLD], 9, 1e-12);
}

TEST(rows_that_picked_unlike_kernels_are_kept_apart) {
  static const char *const picked[] = {"cluster_split", "wgmma", "wgmma"};
  struct record records[ROWS_COUNT(picked)];
  struct metrics metrics[ROWS_COUNT(picked)];
  struct scaling scaling[ROWS_COUNT(picked)];
  for (uint32_t i = 0; i < ROWS_COUNT(picked); i++) {
    const struct row_spec spec = COVERING("auto", i + 1, 16, 100.0 * (i + 1));
    records[i] = rows_record(&spec);
    snprintf(records[i].picked, sizeof records[i].picked, "%s", picked[i]);
    metrics_of(&records[i], &gpu_model_find("l4")->info, &metrics[i]);
  }
  assert_int_equal(scaling_of(records, metrics, ROWS_COUNT(picked), NULL, scaling).code, STATUS_OK);
  assert_false(scaling[0].known);
  assert_int_equal(scaling[2].baseline_index, 1);
}

TEST(host_rows_have_no_wave_ratio) {
  static const struct row_spec specs[] = {COVERING("cpu_flash", 1, 8, 100), COVERING("cpu_flash", 8, 16, 1600)};
  rows_build(&rows, specs, 2, "l4", NULL);
  rows.record[0].plan.pass_count = rows.record[1].plan.pass_count = 0;
  rows_derive(&rows, "l4", NULL);
  assert_true(isnan(rows.scaling[1].wave_ratio));
  assert_near(rows.scaling[1].time_ratio[TIME_COLD], 16, 1e-12);
}

/* The baseline's 8 pairs of 8 blocks on 58 SMs x 2, and a row of 128 pairs held against it. */
TEST(verdict_follows_time_against_waves_and_blocks_per_sm) {
  static const struct {
    uint32_t b, h;
    double base_us, us;
    enum scaling_verdict verdict;
  } cases[] = {
      {1, 16, 100, 110, SCALING_flat},              /* 2 waves for twice the work, yet no longer */
      {8, 16, 100, 600, SCALING_less_than_waves},   /* 9 waves */
      {8, 16, 100, 900, SCALING_as_waves},          /* 9 waves for 16 times the work */
      {8, 16, 100, 1600, SCALING_worse_than_waves}, /* 18 blocks per SM after 2 */
  };
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    const struct row_spec specs[] = {COVERING("scalar", 1, 8, cases[i].base_us),
                                     COVERING("scalar", cases[i].b, cases[i].h, cases[i].us)};
    rows_build(&rows, specs, 2, "l4", NULL);
    assert_int_equal(rows.scaling[0].verdict, SCALING_none);
    assert_string_equal(scaling_verdict_name(rows.scaling[1].verdict), scaling_verdict_name(cases[i].verdict));
  }
}

TEST(a_full_gpu_that_grows_with_the_work_is_linear) {
  static const struct row_spec specs[] = {COVERING("scalar", 8, 16, 900), COVERING("scalar", 32, 16, 3600),
                                          SERIAL(1, 8, 6800), SERIAL(8, 16, 117200)};
  rows_build(&rows, specs, 4, "l4", NULL);
  assert_int_equal(rows.scaling[1].verdict, SCALING_linear);
  assert_int_equal(rows.scaling[3].verdict, SCALING_serial);
}

TEST(without_launches_only_the_times_are_judged) {
  static const struct {
    double us;
    enum scaling_verdict verdict;
  } cases[] = {{1000, SCALING_sublinear_without_grid},
               {1600, SCALING_linear_without_grid},
               {2100, SCALING_superlinear_without_grid},
               {105, SCALING_flat}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    const struct row_spec specs[] = {COVERING("sdpa", 1, 8, 100), COVERING("sdpa", 8, 16, cases[i].us)};
    rows_build(&rows, specs, 2, "l4", NULL);
    rows.record[0].plan.pass_count = rows.record[1].plan.pass_count = 0;
    rows_derive(&rows, "l4", NULL);
    assert_string_equal(scaling_verdict_name(rows.scaling[1].verdict), scaling_verdict_name(cases[i].verdict));
    assert_true(isnan(rows.scaling[1].full_bh));
  }
}

/* 8 blocks per pair against 116 slots: 14.5 pairs fill the GPU. */
TEST(the_pairs_that_fill_the_gpu_come_from_the_grid) {
  static const struct row_spec specs[] = {COVERING("scalar", 1, 8, 100), COVERING("scalar", 8, 16, 900),
                                          SERIAL(1, 8, 6800), SERIAL(8, 16, 117200)};
  rows_build(&rows, specs, 4, "l4", NULL);
  for (size_t i = 0; i < 2; i++) assert_near(rows.scaling[i].full_bh, 15, 1e-12);
  for (size_t i = 2; i < 4; i++) assert_true(isnan(rows.scaling[i].full_bh));
  assert_near(rows.scaling[0].us_per_bh[TIME_COLD], 100.0 / 8, 1e-12);
  assert_near(rows.scaling[1].us_per_bh[TIME_COLD], 900.0 / 128, 1e-12);
  assert_true(isnan(rows.scaling[1].us_per_bh[TIME_HOT]));
}

TEST(verdict_names_are_stable) {
  assert_string_equal(scaling_verdict_name(SCALING_flat), "flat");
  assert_string_equal(scaling_verdict_name(SCALING_worse_than_waves), "worse_than_waves");
  for (enum scaling_verdict v = 0; v < SCALING_VERDICT_COUNT; v++) assert_true(strlen(scaling_verdict_help(v)) > 10);
}
