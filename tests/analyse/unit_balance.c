/* Blocks of unlike work: what the simulation says of grids whose times can be worked out by hand, and when the
 * finding is made. */
#include "cli/analyse/balance.h"
#include "tests/unit.h"
#include "tests/unit_rows.h"

static struct rows rows;

/* A grid of (q tiles, heads, B) with tiles of 64 x 64 and D = 64, one block per SM. */
static struct row_spec grid_row(uint32_t B, uint32_t H, uint32_t S) {
  return (struct row_spec){.B = B,
                           .H = H,
                           .S = S,
                           .D = 64,
                           .math = ATTN_MATH_TENSOR,
                           .grid = {(S + 63) / 64, H, B},
                           .covers = {ATTN_COVERS_Q, ATTN_COVERS_H, ATTN_COVERS_B},
                           .threads = 128,
                           .row_threads = 128,
                           .registers = 200,
                           .resident_blocks = 1};
}

/* One axis for the q tiles of all heads of all sequences. */
static struct row_spec list_row(uint32_t B, uint32_t H, uint32_t S, uint32_t blocks) {
  struct row_spec spec = grid_row(B, H, S);
  spec.grid[0] = blocks, spec.grid[1] = spec.grid[2] = 1;
  spec.covers[0] = ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q;
  spec.covers[1] = spec.covers[2] = 0;
  return spec;
}

static void set_shape(struct record *r, const char *batch, int32_t right) {
  struct attn_problem *s = &r->attn_case.shape;
  s->right = right;
  if (batch != NULL) {
    assert_non_null(attn_batch_read(batch, &s->batch));
    const struct attn_group extent = attn_batch_extent(&s->batch);
    s->B = extent.count, s->Sq = extent.Sq, s->Skv = extent.Skv;
  }
  axes_key(s, r->attn_case.key);
}

/* Diagnoses one row on an H200, of 132 SMs. */
static void diagnose_row(struct row_spec spec, const char *batch, int32_t right) {
  memset(&rows, 0, sizeof rows);
  rows.count = 1;
  rows.record[0] = rows_record(&spec);
  set_shape(&rows.record[0], batch, right);
  rows_derive(&rows, "h200", NULL);
}

static struct balance balance_of_row(void) {
  struct balance balance;
  balance_of(&rows.record[0], 0, &rows.metrics[0].pass[0], &gpu_model_find("h200")->info, &balance);
  return balance;
}

static const struct finding *found(void) { return rows_finding(&rows, 0, FINDING_ID_imbalanced); }

/* 159 blocks on 132 SMs: the 27 of the last wave are as short as most, so they do not cost a full wave. */
TEST(a_last_wave_of_unlike_blocks_is_left_to_the_simulation) {
  diagnose_row(list_row(144, 1, 1024, 159), "143q64_1q1k", -1);
  assert_non_null(found());
  assert_null(rows_finding(&rows, 0, FINDING_ID_tail_wave));
  diagnose_row(list_row(159, 1, 64, 159), NULL, -1);
  assert_null(found());
  assert_non_null(rows_finding(&rows, 0, FINDING_ID_tail_wave));
}

/* ---- the simulation ----------------------------------------------------------------------------------------------
 */

/* 128 blocks of 1 to 16 tiles, each alone on an SM: the longest decides, against a mean of 8.5. */
TEST(one_wave_takes_as_long_as_its_longest_block) {
  diagnose_row(grid_row(1, 8, 1024), NULL, 0);
  const struct balance balance = balance_of_row();
  assert_true(balance.known);
  assert_int_equal(balance.order, BALANCE_GRID);
  assert_int_equal(balance.items, 128);
  assert_near(balance.longest, 16, 1e-12);
  assert_near(balance.mean, 8.5, 1e-12);
  assert_near(balance.ratio, 16 / 8.5, 1e-9);
  assert_near(balance.sorted_ratio, 16 / 8.5, 1e-9);
}

/* Heads on x: whole waves of blocks of 1, 2, ... tiles. All SMs have the same sum. */
TEST(whole_waves_of_equal_blocks_are_balanced) {
  struct row_spec spec = grid_row(1, 132, 1024);
  spec.grid[0] = 132, spec.grid[1] = 1, spec.grid[2] = 16;
  spec.covers[0] = ATTN_COVERS_H, spec.covers[1] = ATTN_COVERS_B, spec.covers[2] = ATTN_COVERS_Q;
  diagnose_row(spec, NULL, 0);
  assert_near(balance_of_row().ratio, 1, 1e-9);
  assert_null(found());
}

/* 131 sequences of 1 tile, then one of 20, of 3 heads each, on 132 SMs: the long ones start last. Longest first, they
 * start beside the short ones. */
TEST(a_long_item_that_starts_last_is_told_to_start_first) {
  diagnose_row(grid_row(132, 3, 64), "131q1s64_1q1s1280", -1);
  const struct balance balance = balance_of_row();
  /* 393 blocks of 1 and 3 of 20 tiles; equal ones of 453 / 396 take 3 rounds. */
  assert_near(balance.ratio, 20 / (3 * 453.0 / 396), 0.6);
  assert_true(balance.ratio > balance.sorted_ratio);
  assert_non_null(found());
}

/* Blocks that share an SM slow each other down, and speed up when one ends: less is lost than with one on each. */
TEST(blocks_that_share_an_sm_lose_less) {
  struct row_spec spec = grid_row(1, 33, 1024);
  spec.resident_blocks = 4;
  diagnose_row(spec, NULL, 0);
  const double shared = balance_of_row().ratio;
  assert_true(shared >= 1 && shared < 16 / 8.5);
}

/* The planted kernel: 4 q tiles of 256 rows by 132 heads, 4 blocks on each of 132 SMs. An SM has the same q tile four
 * times, of 8, 16, 24 or 32 tiles of keys. */
TEST(heads_as_many_as_sms_give_an_sm_the_same_q_tile_each_time) {
  struct row_spec spec = grid_row(1, 132, 1024);
  spec.grid[0] = 4, spec.resident_blocks = 4;
  diagnose_row(spec, NULL, 0);
  rows.record[0].plan.tile_q = 256, rows.record[0].plan.tile_kv = 32;
  rows_derive(&rows, "h200", NULL);
  assert_near(balance_of_row().ratio, 32 / 20.0, 1e-9);
  assert_finding_says(found(), "528 blocks on 132 SMs, one item each in the order of the grid, take 1.60x");
}

/* Where registers are not known, as many blocks may fit on an SM as shared memory allows, or one alone. */
TEST(an_upper_bound_of_resident_blocks_claims_no_more_than_one_block_alone) {
  struct row_spec spec = grid_row(1, 33, 1024);
  diagnose_row(spec, NULL, 0);
  const double alone = balance_of_row().ratio;
  spec.registers = spec.resident_blocks = 0;
  diagnose_row(spec, NULL, 0);
  assert_false(rows.metrics[0].pass[0].resident_exact);
  assert_true(balance_of_row().ratio <= alone + 1e-9);
}

TEST(equal_work_is_not_simulated) {
  diagnose_row(grid_row(1, 8, 1024), NULL, -1);
  assert_false(balance_of_row().known);
}

/* Items beyond what is listed, such as a hostile report has, cost no time. */
TEST(a_huge_grid_is_left_out) {
  struct row_spec spec = grid_row(4096, 64, 262144);
  spec.grid[0] = 4096;
  diagnose_row(spec, NULL, 0);
  assert_false(balance_of_row().known);
  diagnose_row(list_row(4096, 64, 262144, 132), NULL, 0);
  assert_false(balance_of_row().known);
}

TEST(sparse_lists_count_the_blocks_that_are_listed) {
  memset(&rows, 0, sizeof rows);
  struct row_spec spec = grid_row(1, 4, 2048);
  rows.count = 1;
  rows.record[0] = rows_record(&spec);
  assert_non_null(attn_sparse_read("128:sliding=1+global=1", &rows.record[0].attn_case.shape.sparse));
  axes_key(&rows.record[0].attn_case.shape, rows.record[0].attn_case.key);
  rows_derive(&rows, "h200", NULL);
  const struct balance balance = balance_of_row();
  /* The first block of queries sees all 32 tiles, the others two blocks of two; 128 blocks on 132 SMs. */
  assert_near(balance.longest, 32, 1e-12);
  assert_near(balance.mean, (2 * 32 + 30 * 4) / 32.0, 1e-12);
  assert_near(balance.ratio, balance.longest / balance.mean, 1e-9);
}

/* ---- schedules ---------------------------------------------------------------------------------------------------
 */

/* A list of items on one axis is in an order of the kernel's: only what no order mends is said. */
TEST(a_list_is_judged_by_its_best_order) {
  diagnose_row(list_row(1, 8, 1024, 128), NULL, 0);
  assert_int_equal(balance_of_row().order, BALANCE_LIST);
  assert_finding_says(found(), "128 blocks on 132 SMs, one item each, the longest first, take 1.88x");
  assert_finding_says(found(), "stream-K");
  diagnose_row(list_row(1, 64, 4096, 64 * 64), NULL, 0);
  assert_int_equal(balance_of_row().order, BALANCE_LIST);
  assert_null(found());
}

/* A persistent grid over whole items, as wgmma_general has it: balanced but for an item beyond a block's share. */
TEST(a_persistent_grid_is_balanced_unless_one_item_exceeds_its_share) {
  diagnose_row(list_row(16, 16, 64, 132), "16q2k", 0);
  assert_int_equal(balance_of_row().order, BALANCE_LOOPS);
  assert_null(found());
  diagnose_row(list_row(64, 1, 64, 32), "63q64_1q1s32k", -1);
  assert_int_equal(balance_of_row().order, BALANCE_LOOPS);
  assert_finding_says(found(), "the longest of 64 items has 512 K/V tiles");
  assert_finding_says(found(), "32 blocks take whole items");
}

/* As many splits for a short sequence as for a long one: 131 sequences of 4 tiles and one of 400, in 4 splits each.
 */
TEST(a_fixed_number_of_splits_leaves_lengths_unlike) {
  struct row_spec spec = grid_row(132, 1, 64);
  spec.grid[0] = 1, spec.grid[1] = 4, spec.grid[2] = 132;
  spec.covers[1] = ATTN_COVERS_SPLIT, spec.covers[2] = ATTN_COVERS_B | ATTN_COVERS_HKV;
  diagnose_row(spec, "131q1s256_1q1s25600", -1);
  rows.record[0].plan.splits = 4;
  rows_derive(&rows, "h200", NULL);
  assert_int_equal(balance_of_row().order, BALANCE_GRID);
  assert_near(balance_of_row().longest, 100, 1e-12);
  assert_near(balance_of_row().mean, (131 * 4 + 400) / 528.0, 1e-12);
  assert_finding_says(found(), "the longest of 528 items has 100 K/V tiles");
  assert_finding_says(found(), "stream-K");
}

/* Chunks of D have the keys of their item, each. */
TEST(chunks_of_d_have_the_keys_of_their_item) {
  struct row_spec spec = grid_row(1, 8, 1024);
  spec.grid[0] = 16, spec.grid[1] = 8, spec.grid[2] = 2;
  spec.covers[2] = ATTN_COVERS_B | ATTN_COVERS_D;
  diagnose_row(spec, NULL, 0);
  assert_true(balance_of_row().known);
  assert_int_equal(balance_of_row().items, 256);
  assert_near(balance_of_row().mean, 8.5, 1e-12);
}

/* decode_general: whoever cuts the keys of all heads on one axis can cut them into equal parts. */
TEST(a_grid_that_cuts_the_keys_of_all_heads_is_taken_to_balance) {
  struct row_spec spec = list_row(64, 1, 64, 128);
  spec.covers[0] |= ATTN_COVERS_SPLIT;
  diagnose_row(spec, "63q1s64_1q1s32k", -1);
  rows.record[0].plan.splits = 2;
  rows_derive(&rows, "h200", NULL);
  assert_false(balance_of_row().known);
  assert_null(found());
}

TEST(a_grid_that_does_not_match_its_items_says_nothing) {
  struct row_spec spec = grid_row(1, 8, 1024);
  spec.grid[0] = 7;
  diagnose_row(spec, NULL, 0);
  assert_false(balance_of_row().known);
  spec = grid_row(1, 8, 1024);
  spec.covers[1] = 0;
  diagnose_row(spec, NULL, 0);
  assert_false(balance_of_row().known);
}

/* ---- the promise -------------------------------------------------------------------------------------------------
 */

TEST(the_promise_is_the_time_with_equal_work) {
  struct row_spec spec = grid_row(1, 8, 1024);
  spec.hot_us = 102;
  diagnose_row(spec, NULL, 0);
  /* 2 us are the launch, the other 100 become 8.5 / 16 of themselves. */
  assert_near(found()->gain_ratio, 102 / (2 + 100 * 8.5 / 16), 1e-6);
  assert_int_equal(found()->change, CHANGE_equal_work);
  assert_finding_says(
      found(),
      "the longest of 128 items has 16 K/V tiles, the mean is 8.5; 128 blocks on 132 SMs, one item each in "
      "the order of the grid, take 1.88x the time of blocks of equal work");
}

/* A profiler sees the places that short blocks leave. */
TEST(counted_occupancy_is_quoted) {
  struct row_spec spec = grid_row(1, 8, 1024);
  spec.hot_us = 102;
  diagnose_row(spec, NULL, 0);
  struct counter_record *counters = &rows.record[0].counters;
  counter_record_start(counters);
  snprintf(counters->source, sizeof counters->source, "ncu 2025.3.1");
  snprintf(counters->cache, sizeof counters->cache, "hot");
  counters->launches = counters->pass_count = 1, counters->done = true;
  counters->pass[0].values.achieved_occupancy_ratio = 0.034;
  rows_derive(&rows, "h200", NULL);
  assert_finding_says(found(),
                      "3 % of an SM's threads were there on average, where 6 % fit (measured by ncu 2025.3.1, hot)");
}

/* What the row can gain ends at its roof. 8 heads of 1024 keys are 1.07 GFLOP, half of it causal. */
TEST(a_row_at_its_roof_is_not_told_that_it_waits) {
  struct row_spec spec = grid_row(1, 8, 1024);
  spec.hot_us = 1.3;
  spec.math = ATTN_MATH_WGMMA;
  diagnose_row(spec, NULL, 0);
  assert_null(found());
}
