/* Advice under attack: kernels that already follow it, that look as if they did not, and measurements that speak
 * against it. */
#include "cli/analyse/bound_by.h"
#include "cli/analyse/roofs.h"
#include "tests/unit.h"
#include "tests/unit_rows.h"

static struct rows rows;

static const struct finding *finding_of(size_t row, enum finding_id id) { return rows_finding(&rows, row, id); }
static bool has(size_t row, enum finding_id id) { return finding_of(row, id) != NULL; }

static const struct finding *need(size_t row, enum finding_id id) {
  const struct finding *f = finding_of(row, id);
  if (f != NULL) return f;
  fail_msg("row %zu has no %s", row, finding_name(id));
  return &rows.findings[row].item[0]; /* fail_msg does not return */
}

static void assert_contains(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

/* A tensor kernel with scores in registers: 128 rows and 4 warps, 2 blocks per SM of an H200. */
static struct row_spec tensor_row(uint32_t H, uint32_t S, uint32_t blocks, double us) {
  return (struct row_spec){.variant = "mine",
                           .B = 1,
                           .H = H,
                           .S = S,
                           .D = 64,
                           .math = ATTN_MATH_TENSOR,
                           .grid = {blocks, 1, 1},
                           .covers = {ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q},
                           .threads = 128,
                           .row_threads = 128,
                           .smem_bytes = 49152,
                           .registers = 200,
                           .resident_blocks = 2,
                           .hot_us = us,
                           .cold_us = us};
}

/* 64 rows by 64 keys, everything through shared memory. */
static struct row_spec wmma_row(const char *variant, uint32_t H, uint32_t splits, double us) {
  return (struct row_spec){
      .variant = variant,
      .B = 1,
      .H = H,
      .S = 512,
      .D = 64,
      .math = ATTN_MATH_TENSOR,
      .grid = {8 * splits, H, 1},
      .covers = {ATTN_COVERS_Q | (splits > 1 ? ATTN_COVERS_SPLIT : 0), ATTN_COVERS_H, ATTN_COVERS_B},
      .threads = 128,
      .row_threads = 128,
      .smem_bytes = 62464,
      .registers = 96,
      .resident_blocks = 3,
      .hot_us = us,
      .cold_us = us};
}

static void set_plan(size_t row, uint32_t tile_q, uint32_t splits, uint32_t stages) {
  struct record *r = &rows.record[row];
  const char *colon = strchr(r->variant, ':');
  const size_t length = colon != NULL ? (size_t)(colon - r->variant) : strlen(r->variant);
  assert_true(length < sizeof r->variant_name);
  memcpy(r->variant_name, r->variant, length);
  r->variant_name[length] = '\0';
  r->plan.tile_q = tile_q, r->plan.splits = splits, r->plan.stages = stages;
}

/* ---- busy SMs, persistent grids
 * ------------------------------------------------------------------------------------ */

TEST(busy_sms_are_not_told_to_split) {
  /* 256 blocks of 264 slots: 0.97 wave; and 128 of 132 SMs. */
  const struct row_spec specs[] = {tensor_row(64, 512, 256, 17.5), tensor_row(32, 512, 128, 12)};
  rows_build(&rows, specs, 2, "h200", NULL);
  for (size_t i = 0; i < 2; i++) set_plan(i, 128, 1, 2);
  rows_derive(&rows, "h200", NULL);
  for (size_t i = 0; i < 2; i++) assert_false(has(i, FINDING_ID_below_one_wave));
}

TEST(a_persistent_grid_holds_the_heads_that_it_works_on) {
  struct row_spec spec = tensor_row(16, 16384, 264, 3343);
  rows_build(&rows, &spec, 1, "h200", NULL);
  set_plan(0, 128, 1, 2);
  rows_derive(&rows, "h200", NULL);
  /* 264 of 2048 items, 128 of each head: 3 heads of 4.2 MB. */
  assert_near(rows.metrics[0].traffic.working_set_bytes, 3 * 2.0 * 16384 * 64 * 2, 1e-12);
  assert_near(rows.metrics[0].pass[0].items_per_block, 2048.0 / 264, 1e-12);
  assert_false(has(0, FINDING_ID_rereads_kv));
  /* The same items without the loop hold the same heads. */
  spec.grid[0] = 2048;
  rows_build(&rows, &spec, 1, "h200", NULL);
  set_plan(0, 128, 1, 2);
  rows_derive(&rows, "h200", NULL);
  assert_near(rows.metrics[0].traffic.working_set_bytes, 3 * 2.0 * 16384 * 64 * 2, 1e-12);
}

TEST(empty_slots_are_filled_where_items_wait) {
  struct row_spec spec = tensor_row(16, 16384, 132, 4000);
  spec.resident_blocks = 4;
  rows_build(&rows, &spec, 1, "h200", NULL);
  set_plan(0, 128, 1, 2);
  rows_derive(&rows, "h200", NULL);
  assert_contains(need(0, FINDING_ID_below_one_wave)->advice,
                  "launch 528 blocks instead of 132: they loop over 2048 items");
  assert_true(need(0, FINDING_ID_below_one_wave)->gain_ratio > 1.1);
}

TEST(rounds_of_a_persistent_grid_have_a_tail) {
  static const struct {
    uint32_t blocks;
    bool causal, tail;
  } cases[] = {{264, false, true}, {264, true, false}, {128, false, false}, {132, false, false}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct row_spec spec = tensor_row(48, 1024, cases[i].blocks, 200); /* 384 items: 1.45 rounds of 264 */
    rows_build(&rows, &spec, 1, "h200", NULL);
    rows.record[0].attn_case.shape.right = cases[i].causal ? 0 : -1;
    set_plan(0, 128, 1, 2);
    rows_derive(&rows, "h200", NULL);
    if (has(0, FINDING_ID_tail_wave) != cases[i].tail) fail_msg("case %zu", i);
    if (cases[i].tail)
      assert_contains(need(0, FINDING_ID_tail_wave)->measured,
                      "384 items for 264 blocks that loop over them: 1.45 rounds");
  }
}

/* ---- advice that is followed already
 * ------------------------------------------------------------------------------- */

TEST(what_is_done_is_not_advised) {
  const struct row_spec specs[] = {wmma_row("split", 1, 8, 12), tensor_row(8, 512, 32, 10),
                                   tensor_row(32, 8192, 264, 3600)};
  rows_build(&rows, specs, 3, "h200", NULL);
  set_plan(0, 64, 8, 1);  /* a split per K/V tile */
  set_plan(1, 128, 1, 2); /* copies ahead */
  set_plan(2, 128, 1, 2);
  rows.record[2].math = ATTN_MATH_WGMMA;
  rows_derive(&rows, "h200", NULL);
  for (size_t row = 0; row < 3; row++)
    for (size_t i = 0; i < rows.findings[row].count; i++) {
      const enum finding_change change = rows.findings[row].item[i].change;
      assert_true(change != CHANGE_tensor && change != CHANGE_stages);
      if (row == 0) assert_true(change != CHANGE_splits);
      if (row > 0) assert_true(change != CHANGE_registers);
      if (row == 2) assert_true(change != CHANGE_wgmma);
    }
  assert_contains(need(0, FINDING_ID_below_one_wave)->advice, "batch more B*H");
}

TEST(a_graph_is_not_advised_to_a_graph) {
  struct row_spec spec = wmma_row("mine", 1, 1, 3);
  rows_build(&rows, &spec, 1, "h200", NULL);
  assert_contains(need(0, FINDING_ID_launch_bound)->advice, "queued in a graph already");
  spec.hot_us = 0;
  rows_build(&rows, &spec, 1, "h200", NULL);
  assert_contains(need(0, FINDING_ID_launch_bound)->advice, "replay launches as one graph");
}

/* ---- evidence
 * ------------------------------------------------------------------------------------------------------ */

static const struct finding *split_advice(double split_us, uint32_t registers, uint32_t tile_q) {
  struct row_spec specs[] = {wmma_row("whole", 8, 1, 21), wmma_row("parts", 8, 4, split_us)};
  specs[1].registers = registers;
  rows_build(&rows, specs, 2, "h200", NULL);
  set_plan(0, 64, 1, 1);
  set_plan(1, tile_q, 4, 1);
  rows_derive(&rows, "h200", NULL);
  return finding_of(0, FINDING_ID_below_one_wave);
}

TEST(measured_gains_are_quoted_and_losses_silence) {
  const struct finding *f = split_advice(12, 96, 64);
  if (f == NULL) fail();
  assert_contains(f->advice, "measured on this case: parts takes 12.0 us, 1.75x faster");
  assert_string_equal(f->evidence, "parts");
  assert_near(f->gain_ratio, 1.75, 1e-12);
  assert_near(f->saves_us, 9, 1e-12);
  f = split_advice(22, 96, 64);
  assert_true(f == NULL || f->change != CHANGE_splits);
}

TEST(rows_that_differ_in_more_are_no_evidence) {
  static const struct { uint32_t registers, tile_q; } others[] = {{160, 64}, {96, 128}};
  for (size_t i = 0; i < ROWS_COUNT(others); i++) {
    const struct finding *f = split_advice(40, others[i].registers, others[i].tile_q);
    assert_non_null(f);
    assert_int_equal(f->evidence[0], 0);
    assert_true(isnan(f->gain_ratio));
    assert_contains(f->advice, "; the gain is open: parts splits the keys, differs in more, and takes 40.0 us here");
    f = split_advice(15, others[i].registers, others[i].tile_q);
    assert_int_equal(f->change, CHANGE_splits);
    assert_int_equal(f->evidence[0], 0);
    assert_true(f->gain_ratio > 1.5 && f->gain_ratio < 2.1);
  }
  struct row_spec specs[] = {wmma_row("whole", 8, 1, 21), wmma_row("parts", 8, 4, 12)};
  rows_build(&rows, specs, 2, "h200", NULL);
  set_plan(0, 64, 1, 1), set_plan(1, 64, 4, 1);
  rows.record[1].injected.done = true;
  rows_derive(&rows, "h200", NULL);
  assert_int_equal(need(0, FINDING_ID_below_one_wave)->evidence[0], 0);
}

TEST(one_tunable_is_evidence_and_two_are_not) {
  static const struct {
    const char *here, *there;
    bool evidence;
  } cases[] = {{"quad:rows=64,vec=1", "quad:rows=32,vec=1", true},
               {"quad:vec=1", "quad:rows=32,vec=1", true},
               {"quad", "quad:rows=32", true},
               {"quad", "quad:rows=32,vec=1", false},
               {"quad:vec=0", "quad:rows=32", false},
               {"quad:rows=64", "other:rows=32", false},
               {"quad:rows=64", "quads:rows=32", false}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct row_spec specs[] = {wmma_row(cases[i].here, 8, 1, 80), wmma_row(cases[i].there, 8, 1, 50)};
    specs[0].math = specs[1].math = ATTN_MATH_FP32;
    specs[1].grid[0] = 16;
    rows_build(&rows, specs, 2, "h200", NULL);
    set_plan(0, 64, 1, 1), set_plan(1, 32, 1, 1);
    for (size_t row = 0; row < 2; row++) rows.record[row].plan.tile_kv = 512; /* one tile: nothing to split */
    rows_derive(&rows, "h200", NULL);
    const struct finding *f = need(0, FINDING_ID_below_one_wave);
    assert_int_equal(f->change, CHANGE_fewer_rows);
    if ((f->evidence[0] != 0) != cases[i].evidence) fail_msg("case %zu: evidence \"%s\"", i, f->evidence);
  }
}

/* ---- roofs
 * --------------------------------------------------------------------------------------------------------- */

static bool is_bound(enum finding_id id) {
  return id == FINDING_ID_memory_bound || id == FINDING_ID_compute_bound || id == FINDING_ID_exp_bound ||
         id == FINDING_ID_l2_bound || id == FINDING_ID_shared_bound || id == FINDING_ID_between_roofs ||
         id == FINDING_ID_latency_bound || id == FINDING_ID_launch_bound;
}

/* From the roof down to nothing, no row is left without a word, and none has two. */
TEST(every_timed_row_is_told_its_roof_once) {
  static const enum attn_math maths[] = {ATTN_MATH_FP32, ATTN_MATH_TENSOR, ATTN_MATH_WGMMA};
  for (size_t m = 0; m < ROWS_COUNT(maths); m++)
    for (double us = 1500; us < 1e6; us *= 1.3) {
      struct row_spec spec = tensor_row(32, 8192, 264, us);
      spec.math = maths[m];
      rows_build(&rows, &spec, 1, "h200", NULL);
      set_plan(0, 128, 1, 2);
      rows_derive(&rows, "h200", NULL);
      size_t bounds = 0;
      for (size_t i = 0; i < rows.findings[0].count; i++) bounds += is_bound(rows.findings[0].item[i].id);
      if (bounds != 1) fail_msg("math %d at %.0f us has %zu", (int)maths[m], us, bounds);
    }
}

/* One roof each, by what the shape and the plan ask for. 1980 MHz, 132 SMs. */
TEST(the_nearest_roof_is_the_one_that_is_busiest) {
  static const struct {
    enum attn_math math;
    uint32_t D, threads;
    double us;
    enum finding_id id;
  } cases[] = {
      {ATTN_MATH_WGMMA, 128, 128, 1250, FINDING_ID_compute_bound},  /* 1.1 TFLOP at 82 % of wgmma */
      {ATTN_MATH_TENSOR, 128, 128, 1850, FINDING_ID_compute_bound}, /* 84 % of mma.sync; shared memory 69 % */
      {ATTN_MATH_TENSOR, 128, 256, 2700, FINDING_ID_shared_bound},  /* 16 rows per warp: 128 B/clk bind before */
      {ATTN_MATH_WGMMA, 32, 128, 650, FINDING_ID_exp_bound},        /* a score costs 1/16 clk, its products 1/32 */
  };
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct row_spec spec = tensor_row(128, 4096, 264, cases[i].us);
    spec.D = cases[i].D;
    rows_build(&rows, &spec, 1, "h200", NULL);
    rows.record[0].math = cases[i].math;
    rows.record[0].pass[0].pass.row_threads = rows.record[0].pass[0].pass.block[0] = cases[i].threads;
    set_plan(0, 128, 1, 2);
    rows_derive(&rows, "h200", NULL);
    if (!has(0, cases[i].id)) fail_msg("case %zu: %s", i, rows.findings[0].item[0].measured);
  }
}

/* It says "tensor" and passes what mma.sync can do: then it is not mma.sync, and is not told to leave it. */
TEST(a_rate_above_mma_sync_is_wgmma) {
  struct row_spec spec = tensor_row(16, 16384, 264, 1500);
  rows_build(&rows, &spec, 1, "h200", NULL);
  set_plan(0, 128, 1, 2);
  rows_derive(&rows, "h200", NULL);
  struct roofs roofs;
  roofs_of(&rows.record[0], &rows.metrics[0], &gpu_model_find("h200")->info, &roofs);
  assert_int_equal(roofs.products, PRODUCTS_WGMMA);
  for (size_t i = 0; i < rows.findings[0].count; i++) assert_true(rows.findings[0].item[i].change != CHANGE_wgmma);
}

TEST(the_next_rung_from_mma_sync_is_wgmma_where_there_is_one) {
  struct row_spec spec = tensor_row(16, 16384, 264, 3343);
  static const struct {
    const char *gpu;
    double us;
    bool advised;
  } cases[] = {{"h200", 3343, true}, {"a100", 8000, false}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    spec.hot_us = spec.cold_us = cases[i].us;
    rows_build(&rows, &spec, 1, cases[i].gpu, NULL);
    set_plan(0, 128, 1, 2);
    rows_derive(&rows, cases[i].gpu, NULL);
    assert_int_equal(need(0, FINDING_ID_between_roofs)->change == CHANGE_wgmma, cases[i].advised);
  }
}

/* Blackwell: mma.sync is the fastest instruction of 12.0; of 10.0 its rate is not known, and nothing is said by it.
 */
TEST(a_gpu_has_the_roofs_whose_rates_are_known) {
  static const struct {
    const char *gpu;
    enum attn_math math;
    double us;
    bool known;
    enum finding_id id;
  } cases[] = {{"rtx5090", ATTN_MATH_TENSOR, 5700, true, FINDING_ID_compute_bound},
               {"rtx5090", ATTN_MATH_FP32, 80000, true, FINDING_ID_latency_bound},
               {"b200", ATTN_MATH_FP32, 16200, true, FINDING_ID_compute_bound},
               {"b200", ATTN_MATH_TENSOR, 800, false, FINDING_ID_COUNT}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct row_spec spec = tensor_row(16, 16384, 264, cases[i].us);
    rows_build(&rows, &spec, 1, cases[i].gpu, NULL);
    rows.record[0].math = cases[i].math;
    set_plan(0, 128, 1, 2);
    rows_derive(&rows, cases[i].gpu, NULL);
    struct roofs roofs;
    roofs_of(&rows.record[0], &rows.metrics[0], &gpu_model_find(cases[i].gpu)->info, &roofs);
    assert_int_equal(roofs.known, cases[i].known);
    if (cases[i].known != has(0, cases[i].id))
      fail_msg("case %zu: %g of its roof", i, roofs.share[TIME_HOT][PIPE_PRODUCTS]);
  }
}

TEST(a_lower_clock_is_named_by_itself_and_its_reason_quoted) {
  enum { SW_POWER_CAP = 4 };
  struct row_spec spec = tensor_row(16, 16384, 264, 3343);
  rows_build(&rows, &spec, 1, "h200", NULL);
  rows.record[0].time[TIME_HOT].sm_clock_mhz = 1500;
  rows_derive(&rows, "h200", NULL);
  assert_string_equal(need(0, FINDING_ID_clock_lowered)->measured, "1500 MHz of 1980 (hot)");
  rows.record[0].time[TIME_HOT].throttle_reasons = SW_POWER_CAP;
  rows_derive(&rows, "h200", NULL);
  assert_string_equal(need(0, FINDING_ID_clock_lowered)->measured,
                      "1500 MHz of 1980 (hot); the driver reports a power or thermal limit");
  rows.record[0].time[TIME_HOT].sm_clock_mhz = 1950;
  rows_derive(&rows, "h200", NULL);
  assert_false(has(0, FINDING_ID_clock_lowered));
}

/* ---- advice that fits the row
 * --------------------------------------------------------------------------------------- */

/* At 75 % of the roof. A mask that hides an eighth of the pairs may still be computed; one that hides half of them is
 * not: then no more than 50 % could be reached. */
TEST(masked_tiles_are_named_only_where_hidden_ones_may_be_computed) {
  static const struct {
    uint32_t Sq;
    int32_t left, right;
    bool masked;
  } cases[] = {{4096, -1, -1, false}, {1024, -1, 0, true}, {4096, -1, 0, false}, {4096, 1 << 20, -1, false}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct row_spec spec = tensor_row(128, 4096, 264, 1);
    spec.D = 128;
    rows_build(&rows, &spec, 1, "h200", NULL);
    struct attn_problem *problem = &rows.record[0].attn_case.shape;
    problem->Sq = cases[i].Sq, problem->left = cases[i].left, problem->right = cases[i].right;
    rows.record[0].math = ATTN_MATH_WGMMA;
    set_plan(0, 256, 1, 2);
    rows_derive(&rows, "h200", NULL);
    rows.record[0].time[TIME_HOT].us.median = rows.record[0].time[TIME_COLD].us.median =
        rows.metrics[0].flops / 800e6; /* 800 TFLOP/s */
    rows_derive(&rows, "h200", NULL);
    const char *advice = need(0, FINDING_ID_compute_bound)->advice;
    if ((strstr(advice, "skip tiles that the mask hides") != NULL) != cases[i].masked) fail_msg("%zu: %s", i, advice);
  }
}

/* 64 keys in a K/V tile: a window and a list leave few of the 1024 that the longest row could see. */
TEST(keys_are_split_into_no_more_parts_than_tiles_that_rows_see) {
  static const struct {
    int32_t left;
    const char *sparse;
    uint32_t S;
    const char *advice;
  } cases[] = {{-1, "", 1, "splits = 48 per q tile: 384 blocks where one wave holds 396"},
               {127, "", 1,
                "splits = 2 per q tile: 16 blocks where one wave holds 396; there are no more K/V tiles, so "
                "the rest needs more B*H"},
               {127, "", 64,
                "splits = 3 per q tile: 24 blocks where one wave holds 396; there are no more K/V tiles, "
                "so the rest needs a smaller q tile or more B*H"},
               {-1, "64:sliding=1+global=1", 64, "splits = 2 per q tile: 16 blocks"}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct row_spec spec = wmma_row("mine", 8, 1, 900);
    spec.grid[0] = 1;
    rows_build(&rows, &spec, 1, "h200", NULL);
    struct attn_problem *problem = &rows.record[0].attn_case.shape;
    problem->Sq = cases[i].S, problem->Skv = 65536;
    problem->left = cases[i].left, problem->right = cases[i].left >= 0 ? 0 : -1;
    if (cases[i].sparse[0] != '\0') assert_non_null(attn_sparse_read(cases[i].sparse, &problem->sparse));
    set_plan(0, 64, 1, 1);
    rows_derive(&rows, "h200", NULL);
    assert_contains(need(0, FINDING_ID_below_one_wave)->advice, cases[i].advice);
  }
}

/* The two places that count tiles: what bounds the row, and its finding. */
static void assert_tiles(const char *said) {
  struct bound_by bound;
  bound_by_of(&rows.record[0], &rows.metrics[0], &gpu_model_find("h200")->info, NAN, &bound);
  assert_int_equal(bound.limit, BOUND_chain);
  assert_contains(bound.text, said);
  assert_contains(need(0, FINDING_ID_latency_bound)->measured, said);
}

/* 8 q tiles of a causal mask have 1 to 8 tiles of keys: where all run at once, the launch takes as long as the
 * longest.
 */
TEST(tiles_in_a_row_are_counted_once) {
  struct row_spec spec = wmma_row("mine", 8, 1, 21);
  spec.resident_blocks = 1;
  rows_build(&rows, &spec, 1, "h200", NULL);
  rows.record[0].attn_case.shape.right = 0;
  set_plan(0, 64, 1, 2);
  rows_derive(&rows, "h200", NULL);
  assert_tiles("8 K/V tiles in a row");
  rows.record[0].attn_case.shape.left = 63; /* at most two tiles */
  rows_derive(&rows, "h200", NULL);
  assert_tiles("2 K/V tiles in a row");
}

/* One sequence has as many tiles of keys as 400 others together, and 100 parts. 100 blocks have 8 of the 800 tiles
 * each, not a part of each of the 401 sequences. */
TEST(tiles_in_a_row_are_those_of_parts_of_unlike_sequences) {
  struct row_spec spec = wmma_row("mine", 1, 1, 21);
  spec.resident_blocks = 1;
  spec.grid[0] = 100;
  spec.covers[0] = ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q | ATTN_COVERS_SPLIT;
  spec.covers[1] = spec.covers[2] = 0;
  rows_build(&rows, &spec, 1, "h200", NULL);
  struct attn_problem *shape = &rows.record[0].attn_case.shape;
  shape->B = 401, shape->Sq = 64, shape->Skv = 400 * 64;
  shape->batch = (struct attn_batch){.groups = 2, .group = {{400, 64, 64}, {1, 64, 400 * 64}}};
  set_plan(0, 64, 100, 2);
  rows_derive(&rows, "h200", NULL);
  assert_contains(need(0, FINDING_ID_latency_bound)->measured, "; 8 K/V tiles in a row");
}

/* 140 blocks are two waves of 132, of which the second is nearly empty: even waves would be 1.8 times as fast, where
 * DRAM leaves them the time. */
TEST(a_promise_is_no_more_than_the_bytes_leave) {
  static const double dram_share[] = {0.9, 0.7, 0.3};
  for (size_t i = 0; i < ROWS_COUNT(dram_share); i++) {
    struct row_spec spec = tensor_row(140, 65536, 140, 1);
    spec.resident_blocks = 1;
    rows_build(&rows, &spec, 1, "h200", NULL);
    rows.record[0].attn_case.shape.Sq = 1;
    set_plan(0, 16, 1, 2);
    rows_derive(&rows, "h200", NULL);
    rows.record[0].time[TIME_HOT].us.median = rows.record[0].time[TIME_COLD].us.median =
        rows.metrics[0].bytes / (dram_share[i] * 1e3 * roofs_dram_gb_per_s(&gpu_model_find("h200")->info));
    rows_derive(&rows, "h200", NULL);
    const struct finding *f = need(0, FINDING_ID_tail_wave);
    if (i < 2)
      assert_near(f->gain_ratio, 1 / dram_share[i], 1e-9);
    else
      assert_true(f->gain_ratio > 1.7 && f->gain_ratio < 1 / dram_share[i]);
    assert_near(f->saves_us, rows.record[0].time[TIME_HOT].us.median * (1 - 1 / f->gain_ratio), 1e-9);
  }
}

static bool is_told_to_use_registers(void) {
  for (size_t i = 0; i < rows.findings[0].count; i++)
    if (rows.findings[0].item[i].change == CHANGE_registers) return true;
  return false;
}

/* Eight warps on 16 rows have a ring of tiles each: the shared memory of their block says nothing of scores. One warp
 * on them has one. */
TEST(warps_that_share_rows_are_not_told_to_keep_scores_in_registers) {
  for (uint32_t warps = 1; warps <= 8; warps *= 8) {
    struct row_spec spec = tensor_row(32, 4096, 132, 400);
    spec.threads = spec.row_threads = 32 * warps;
    spec.smem_bytes = 150016;
    spec.registers = 80;
    spec.resident_blocks = 1;
    rows_build(&rows, &spec, 1, "h200", NULL);
    rows.record[0].attn_case.shape.Sq = 128;
    rows.record[0].plan.tile_kv = 16;
    set_plan(0, 16, 1, 2);
    rows_derive(&rows, "h200", NULL);
    if (is_told_to_use_registers() != (warps == 1)) fail_msg("%u warps", warps);
  }
}

/* The shared memory that tiles leave may be for merging partial results, where a thread has registers for scores,
 * weights and output: 128 rows of 4 warps and tiles of 64 keys at D = 64 need 96 + 64 and some more. */
TEST(kernels_with_registers_for_all_are_not_told_to_use_them) {
  static const struct {
    uint32_t registers;
    bool is_advised;
  } cases[] = {{150, true}, {240, false}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct row_spec spec = tensor_row(128, 4096, 132, 4000);
    spec.registers = cases[i].registers;
    spec.smem_bytes = 150016;
    spec.resident_blocks = 1;
    rows_build(&rows, &spec, 1, "h200", NULL);
    rows.record[0].plan.tile_kv = 64;
    set_plan(0, 128, 1, 2);
    rows_derive(&rows, "h200", NULL);
    if (is_told_to_use_registers() != cases[i].is_advised) fail_msg("%u registers", cases[i].registers);
  }
}

/* A type is named where it is smaller than that of the tensors. */
TEST(narrower_types_are_named_where_the_tensors_are_wider) {
  static const struct {
    enum attn_dtype dtype;
    unsigned kv_dtype;
    uint32_t Hkv;
    const char *advice;
  } cases[] = {{ATTN_F32, 0, 8, "store Q, K, V and O in 16 bits: half the bytes"},
               {ATTN_BF16, 0, 8, "; move fewer bytes: 8-bit K and V, or fewer KV heads than 8 for 32 query heads"},
               {ATTN_BF16, 0, 1, "; move fewer bytes: 8-bit K and V, or more query heads per KV head"},
               {ATTN_BF16, 1, 8, "; move fewer bytes: fewer KV heads than 8 for 32 query heads"},
               {ATTN_F32, 1, 8, "; move fewer bytes: fewer KV heads than 8 for 32 query heads"},
               {ATTN_E4M3, 0, 8, "; move fewer bytes: fewer KV heads than 8 for 32 query heads"},
               {ATTN_E4M3, 0, 1, "; move fewer bytes: more query heads per KV head"}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct row_spec spec = tensor_row(32, 65536, 264, 1);
    spec.B = 8;
    rows_build(&rows, &spec, 1, "h200", NULL);
    struct attn_problem *problem = &rows.record[0].attn_case.shape;
    problem->Sq = 1, problem->Hkv = cases[i].Hkv;
    problem->dtype = cases[i].dtype, problem->kv_dtype = cases[i].kv_dtype;
    set_plan(0, 16, 1, 2);
    rows_derive(&rows, "h200", NULL);
    rows.record[0].time[TIME_HOT].us.median = rows.record[0].time[TIME_COLD].us.median =
        rows.metrics[0].bytes / 4.0e6; /* 4.0 TB/s */
    rows_derive(&rows, "h200", NULL);
    assert_contains(need(0, FINDING_ID_memory_bound)->advice, cases[i].advice);
  }
}

/* One query row for each of 8 heads of a KV head: 8 rows share a read, and there are no more. */
TEST(rows_that_are_shared_already_are_not_told_to_share) {
  static const struct {
    uint32_t tile_q;
    enum attn_math math;
    const char *advice; /* NULL: none of sharing */
  } cases[] = {
      {8, ATTN_MATH_TENSOR, NULL},
      {8, ATTN_MATH_FP32, NULL},
      {1, ATTN_MATH_FP32, "1 query row reads K and V alone, so loads are most of the work: let 8 rows share"}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct row_spec spec = tensor_row(32, 4096, 264, 40);
    rows_build(&rows, &spec, 1, "h200", NULL);
    struct record *r = &rows.record[0];
    r->attn_case.shape.Sq = 1, r->attn_case.shape.Hkv = 4;
    r->math = cases[i].math;
    set_plan(0, cases[i].tile_q, 1, 2);
    rows_derive(&rows, "h200", NULL);
    for (size_t f = 0; f < rows.findings[0].count; f++) {
      const char *advice = rows.findings[0].item[f].advice;
      assert_null(strstr(advice, "take tensor cores"));
      if (cases[i].advice == NULL) assert_null(strstr(advice, "rows share"));
    }
    if (cases[i].advice != NULL) assert_contains(need(0, FINDING_ID_latency_bound)->advice, cases[i].advice);
  }
}

/* At D = 64 a row asks as much of the exponentials as of wgmma. */
TEST(two_pipes_that_are_well_used_are_not_one_full_pipe) {
  static const struct {
    double us;
    enum finding_id id;
  } cases[] = {{3600, FINDING_ID_between_roofs}, {2400, FINDING_ID_compute_bound}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct row_spec spec = tensor_row(32, 16384, 132, cases[i].us);
    rows_build(&rows, &spec, 1, "h200", NULL);
    rows.record[0].math = ATTN_MATH_WGMMA;
    set_plan(0, 256, 1, 6);
    rows_derive(&rows, "h200", NULL);
    if (i == 0)
      assert_contains(need(0, cases[i].id)->advice, "run the exponentials of one tile under the products of another");
    else if (!has(0, cases[i].id) && !has(0, FINDING_ID_exp_bound))
      fail_msg("%s", rows.findings[0].item[0].measured);
  }
}

TEST(waves_of_an_upper_bound_have_no_tail) {
  struct row_spec spec = wmma_row("mine", 64, 1, 0); /* 512 blocks: 1.29 waves of 3 on an SM */
  rows_build(&rows, &spec, 1, "h200", NULL);
  assert_int_equal(need(0, FINDING_ID_tail_wave)->change, CHANGE_even_waves);
  spec.resident_blocks = spec.registers = 0;
  rows_build(&rows, &spec, 1, "h200", NULL);
  assert_true(rows.metrics[0].pass[0].waves > 1);
  assert_false(has(0, FINDING_ID_tail_wave));
}

/* ---- order
 * --------------------------------------------------------------------------------------------------------- */

TEST(microseconds_come_before_severity) {
  struct finding spills = {.id = FINDING_ID_spills, .saves_us = NAN},
                 small = {.id = FINDING_ID_tail_wave, .saves_us = 2},
                 large = {.id = FINDING_ID_between_roofs, .saves_us = 200},
                 severe = {.id = FINDING_ID_grid_misses_bh, .saves_us = NAN};
  assert_true(diagnose_order(&large, &small) < 0);
  assert_true(diagnose_order(&small, &severe) < 0);
  assert_true(diagnose_order(&severe, &spills) < 0);
  assert_int_equal(diagnose_order(&spills, &spills), 0);
}
