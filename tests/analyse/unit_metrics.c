#include "cli/analyse/metrics.h"
#include "kernels/floor.h"
#include "kernels/problem/work.h"
#include "tests/unit.h"
#include "tests/unit_rows.h"

static struct attn_problem shape_of(uint32_t B, uint32_t H, uint32_t S, uint32_t D) {
  return (struct attn_problem)ATTN_DENSE(B, H, H, S, S, D, ATTN_F16, false);
}

static const struct device_info *gpu(const char *name) { return &gpu_model_find(name)->info; }

static struct metrics metrics_on(const struct record *r, const char *name) {
  struct metrics m;
  metrics_of(r, gpu(name), &m);
  return m;
}

/* ---- FLOPs and bytes ----------------------------------------------------------------------------------------- */

TEST(causal_pairs_match_enumeration) {
  for (uint32_t Sq = 1; Sq <= 40; Sq++)
    for (uint32_t Skv = 1; Skv <= 40; Skv++)
      for (int causal = 0; causal <= 1; causal++) {
        const struct attn_problem s = ATTN_DENSE(1, 1, 1, Sq, Skv, 64, ATTN_F16, causal);
        uint64_t pairs = 0;
        for (int64_t i = 0; i < Sq; i++)
          for (int64_t j = 0; j < Skv; j++) pairs += !causal || j <= i + (int64_t)Skv - (int64_t)Sq;
        assert_int_equal(work_pairs(&s), pairs);
      }
}

TEST(pairs_do_not_overflow_at_the_largest_shape) {
  const struct attn_problem s = ATTN_DENSE(1, 1, 1, ATTN_S_MAX, ATTN_S_MAX, 64, ATTN_F16, false);
  assert_int_equal(work_pairs(&s), UINT64_C(1) << 40);
}

/* S2's table: milliseconds and GFLOP/s of both columns; their times have three digits. */
TEST(rates_match_the_published_table) {
  static const struct {
    uint32_t B, H, S;
    double ms, gflop_per_s;
  } rows[] = {
      {1, 1, 128, 0.579, 7.2},   {1, 1, 128, 0.085, 49.4},     {4, 8, 128, 0.752, 178.6}, {4, 8, 128, 0.085, 1588.2},
      {8, 8, 128, 1.281, 209.6}, {8, 8, 128, 0.086, 3130.5},   {8, 8, 256, 4.067, 264.0}, {8, 8, 256, 0.116, 9242.6},
      {16, 8, 512, 23.9, 359.4}, {16, 8, 512, 0.326, 26312.6},
  };
  for (size_t i = 0; i < ROWS_COUNT(rows); i++) {
    const struct row_spec spec = {
        .B = rows[i].B, .H = rows[i].H, .S = rows[i].S, .D = 64, .cold_us = rows[i].ms * 1e3, .threads = 128};
    const struct record r = rows_record(&spec);
    const double gflop_per_s = metrics_on(&r, "l4").mode[TIME_COLD].tflop_per_s * 1e3;
    assert_near(gflop_per_s, rows[i].gflop_per_s, 0.007 * rows[i].gflop_per_s);
  }
}

TEST(last_row_of_the_table_is_359_4_gflop_per_s) {
  const struct attn_problem s = shape_of(16, 8, 512, 64);
  assert_near(work_flops(&s) / 23.9e-3 * 1e-9, 359.4, 0.05);
}

/* S0: B*H of 8, 64 and 128 is 1, 8 and 16 times the work. */
TEST(work_grows_with_b_times_h) {
  const struct attn_problem s[] = {shape_of(1, 8, 512, 64), shape_of(4, 16, 512, 64), shape_of(8, 16, 512, 64)};
  assert_near(work_flops(&s[1]) / work_flops(&s[0]), 8, 0);
  assert_near(work_flops(&s[2]) / work_flops(&s[0]), 16, 0);
}

/* S3: one fp32 query against 16 keys at D = 8192. They count its two products apart, each with the operands it reads.
 */
TEST(intensity_of_one_query_matches_the_published_products) {
  const double keys = 16, D = 8192, product_flops = 2 * keys * D;
  const double qk_bytes = 4 * (D + keys * D), pv_bytes = 4 * (keys * D + keys);
  assert_near(product_flops, 262144, 0);
  assert_near(qk_bytes, 557056, 0);
  assert_near(pv_bytes, 524352, 0);
  assert_near(product_flops / qk_bytes, 0.47, 0.005);
  assert_near(product_flops / pv_bytes, 0.50, 0.005);

  struct record r = {.status = CELL_planned, .attn_case.shape = ATTN_DENSE(1, 1, 1, 1, 16, 8192, ATTN_F32, false)};
  const struct metrics m = metrics_on(&r, "a100");
  assert_near(m.flops, 2 * product_flops, 0);
  assert_near(m.bytes, 2 * qk_bytes, 0); /* Q, K and as much again for V and O */
  assert_near(m.flop_per_byte, 0.47, 0.005);
}

TEST(bytes_count_kv_heads_once) {
  const struct attn_problem gqa = ATTN_DENSE(2, 32, 8, 10, 100, 64, ATTN_F16, false);
  assert_near(work_bytes(&gqa), 2.0 * (2 * 2 * 32 * 10 * 64 + 2 * 2 * 8 * 100 * 64), 0);
  struct attn_problem f32 = gqa;
  f32.dtype = ATTN_F32;
  assert_near(work_bytes(&f32), 2 * work_bytes(&gqa), 0);
}

/* ---- roofs --------------------------------------------------------------------------------------------------- */

static const struct row_spec mission = {
    .B = 1, .H = 8, .S = 512, .D = 64, .math = ATTN_MATH_TENSOR, .grid = {8, 1, 8}, .threads = 128};

/* S4: 0.54 GFLOP in 1177 us is below one percent of the L4's tensor peak. */
TEST(tensor_row_is_held_against_the_tensor_peak) {
  struct row_spec spec = mission;
  spec.cold_us = spec.hot_us = 1177;
  const struct record r = rows_record(&spec);
  const struct mode_metrics hot = metrics_on(&r, "l4").mode[TIME_HOT];
  assert_int_equal(hot.roof, ROOF_TENSOR);
  assert_near(hot.tflop_per_s, 0.456, 0.001);
  assert_near(hot.roof_ratio, 0.456 / 121.2, 1e-4);
  assert_near(hot.roof_clock_mhz, 2040, 0);
  assert_near(hot.floor_us * hot.floor_ratio, 1177, 1e-6);
}

TEST(scalar_row_is_held_against_fp32_but_its_floor_is_the_tensor_pipe) {
  struct row_spec spec = mission;
  spec.math = ATTN_MATH_FP32;
  spec.hot_us = 1750;
  struct record r = rows_record(&spec);
  const struct mode_metrics f16 = metrics_on(&r, "l4").mode[TIME_HOT];
  assert_int_equal(f16.roof, ROOF_FP32);
  assert_near(f16.floor_us, 536870912.0 / (1024.0 * 58 * 2040), 1e-9);
  r.attn_case.shape.dtype = ATTN_F32;
  const struct mode_metrics f32 = metrics_on(&r, "l4").mode[TIME_HOT];
  assert_near(f32.floor_us, 3 * f16.floor_us, 1e-9); /* three 16-bit products */
}

TEST(compute_roof_is_taken_at_the_measured_and_the_highest_clock) {
  struct row_spec spec = mission;
  spec.hot_us = 100;
  struct record r = rows_record(&spec);
  const double at_max = metrics_on(&r, "l4").mode[TIME_HOT].roof_ratio;
  rows_set_time(&r.time[TIME_HOT], 100, 1020);
  const struct mode_metrics half = metrics_on(&r, "l4").mode[TIME_HOT];
  assert_near(half.roof_clock_mhz, 1020, 0);
  assert_near(half.roof_ratio, 2 * at_max, 1e-9);
  assert_near(half.peak_ratio, at_max, 1e-9);
}

/* 2.1 MB: cold they come from DRAM, which takes longer than the products; hot they stay in L2. */
TEST(dram_binds_cold_but_not_when_tensors_stay_in_l2) {
  struct row_spec spec = mission;
  spec.cold_us = spec.hot_us = 100;
  const struct record r = rows_record(&spec);
  const struct metrics m = metrics_on(&r, "l4");
  assert_int_equal(m.mode[TIME_COLD].roof, ROOF_DRAM);
  assert_near(m.mode[TIME_COLD].roof_ratio, m.mode[TIME_COLD].gb_per_s / 300, 1e-9);
  assert_int_equal(m.mode[TIME_HOT].roof, ROOF_TENSOR);
  assert_true(m.mode[TIME_HOT].floor_us < m.mode[TIME_COLD].floor_us);
}

TEST(hot_tensors_larger_than_l2_are_held_against_dram) {
  struct record r = {.math = ATTN_MATH_TENSOR,
                     .status = CELL_ok,
                     .attn_case.shape = ATTN_DENSE(64, 32, 32, 1, 4096, 64, ATTN_F16, false)};
  rows_set_time(&r.time[TIME_HOT], 600, NAN);
  assert_int_equal(metrics_on(&r, "h200").mode[TIME_HOT].roof, ROOF_DRAM);
}

TEST(cpu_rows_have_a_speed_but_no_roof) {
  struct row_spec spec = mission;
  spec.math = ATTN_MATH_FP32_HOST;
  spec.hot_us = 100;
  const struct record r = rows_record(&spec);
  const struct device_info cpu = {.kind = DEVICE_CPU, .sms = 2};
  struct metrics m;
  metrics_of(&r, &cpu, &m);
  assert_true(m.mode[TIME_HOT].known && m.mode[TIME_HOT].tflop_per_s > 0);
  assert_int_equal(m.mode[TIME_HOT].roof, ROOF_NONE);
  assert_true(isnan(m.mode[TIME_HOT].roof_ratio) && isnan(m.mode[TIME_HOT].floor_us));
}

TEST(only_right_rows_have_a_speed) {
  struct row_spec spec = mission;
  spec.hot_us = 100;
  struct record r = rows_record(&spec);
  for (enum cell_status status = 0; status < CELL_STATUS_COUNT; status++) {
    r.status = status;
    const struct metrics m = metrics_on(&r, "l4");
    assert_int_equal(m.mode[TIME_HOT].known, status == CELL_ok);
    assert_int_equal(isnan(m.mode[TIME_HOT].tflop_per_s), status != CELL_ok);
    assert_false(m.mode[TIME_COLD].known);
  }
}

TEST(roof_names_are_stable) {
  assert_string_equal(metrics_roof_name(ROOF_NONE), "none");
  assert_string_equal(metrics_roof_name(ROOF_TENSOR), "tensor_f16");
  assert_string_equal(metrics_roof_name(ROOF_TENSOR_E4M3), "tensor_e4m3");
  assert_string_equal(metrics_roof_name(ROOF_FP32), "fp32");
  assert_string_equal(metrics_roof_name(ROOF_DRAM), "dram");
}

/* ---- launch geometry ----------------------------------------------------------------------------------------- */

/* S1: 2 blocks on 58 SMs = 3.4 %. */
TEST(two_blocks_reach_three_percent_of_the_sms) {
  const struct row_spec spec = {.B = 1,
                                .H = 1,
                                .S = 128,
                                .D = 64,
                                .grid = {1, 1, 2},
                                .threads = 256,
                                .covers = {ATTN_COVERS_H, ATTN_COVERS_B, ATTN_COVERS_Q},
                                .row_threads = 64};
  const struct record r = rows_record(&spec);
  const struct pass_metrics p = metrics_on(&r, "l4").pass[0];
  assert_int_equal(p.blocks, 2);
  assert_near(p.sm_ratio, 0.034, 0.0005);
  assert_int_equal(p.sm_blocks_max, 1);
  assert_near(p.idle_thread_ratio, 0.75, 0);
  assert_int_equal(p.resident_blocks, 6);
  assert_false(p.resident_exact);
  assert_near(p.waves, 2.0 / (58 * 6), 1e-12);
  assert_near(p.occupancy_ratio, 1, 0);
  assert_true(p.covers_b && p.covers_h && p.covers_bh);
}

TEST(waves_and_tail_follow_the_resident_blocks) {
  static const struct {
    uint32_t blocks;
    double waves;
    uint64_t tail;
    double waste;
  } rows[] = {{58, 0.5, 58, 0.5}, {116, 1, 0, 0}, {117, 117 / 116.0, 1, 1 - 117 / 232.0}, {232, 2, 0, 0}};
  for (size_t i = 0; i < ROWS_COUNT(rows); i++) {
    const struct row_spec spec = {
        .B = 1, .H = 1, .S = 64, .D = 64, .grid = {rows[i].blocks}, .threads = 128, .resident_blocks = 2};
    const struct record r = rows_record(&spec);
    const struct pass_metrics p = metrics_on(&r, "l4").pass[0];
    assert_true(p.resident_exact);
    assert_near(p.waves, rows[i].waves, 1e-12);
    assert_int_equal(p.tail_blocks, rows[i].tail);
    assert_near(p.tail_waste_ratio, rows[i].waste, 1e-12);
  }
}

TEST(known_registers_make_planned_residency_exact) {
  struct row_spec spec = mission;
  spec.registers = 128;
  spec.smem_bytes = 16 * 1024;
  struct record r = rows_record(&spec);
  struct pass_metrics p = metrics_on(&r, "l4").pass[0];
  assert_true(p.resident_exact);
  assert_int_equal(p.resident_blocks, 4);
  assert_string_equal(p.limited_by, "registers");
  r.pass[0].facts.static_smem_bytes = 40 * 1024;
  p = metrics_on(&r, "l4").pass[0];
  assert_int_equal(p.resident_blocks, 1);
  assert_string_equal(p.limited_by, "shared memory");
}

TEST(block_that_does_not_fit_has_no_waves) {
  struct row_spec spec = mission;
  spec.smem_bytes = 200 * 1024;
  const struct record r = rows_record(&spec);
  const struct pass_metrics p = metrics_on(&r, "l4").pass[0];
  assert_int_equal(p.resident_blocks, 0);
  assert_true(isnan(p.waves));
  assert_near(p.occupancy_ratio, 0, 0);
}

/* The cover bits decide, not the shape: a grid without B is the same grid when B happens to be 1. */
TEST(covering_is_a_property_of_the_grid) {
  static const struct {
    unsigned covers[3];
    bool b, h;
  } rows[] = {
      {{ATTN_COVERS_Q}, false, false},
      {{ATTN_COVERS_Q, ATTN_COVERS_H}, false, true},
      {{ATTN_COVERS_Q, ATTN_COVERS_B}, true, false},
      {{ATTN_COVERS_Q, ATTN_COVERS_B | ATTN_COVERS_H}, true, true},
      {{ATTN_COVERS_H, ATTN_COVERS_B, ATTN_COVERS_Q | ATTN_COVERS_SPLIT}, true, true},
  };
  for (size_t i = 0; i < ROWS_COUNT(rows); i++) {
    struct row_spec spec = {.B = 1, .H = 1, .S = 64, .D = 64, .threads = 128};
    memcpy(spec.covers, rows[i].covers, sizeof spec.covers);
    const struct record r = rows_record(&spec);
    const struct pass_metrics p = metrics_on(&r, "l4").pass[0];
    assert_int_equal(p.covers_b, rows[i].b);
    assert_int_equal(p.covers_h, rows[i].h);
    assert_int_equal(p.covers_bh, rows[i].b && rows[i].h);
  }
}

/* ---- traffic ------------------------------------------------------------------------------------------------- */

static const struct device_info *h200(void) { return &gpu_model_find("h200")->info; }

/* One head of 512 keys, D 64, f16: a tensor is 65536 bytes. */
static struct record tiled_record(uint32_t tile_q, bool causal) {
  const struct row_spec spec = {.B = 1,
                                .H = 1,
                                .S = 512,
                                .D = 64,
                                .grid = {8, 1, 1},
                                .covers = {ATTN_COVERS_Q, ATTN_COVERS_H, ATTN_COVERS_B},
                                .threads = 128,
                                .resident_blocks = 2};
  struct record r = rows_record(&spec);
  r.attn_case.shape.right = causal ? 0 : -1;
  r.plan.tile_q = tile_q;
  return r;
}

TEST(keys_and_values_are_requested_once_per_query_tile) {
  static const struct {
    uint32_t tile_q;
    bool causal;
    double rereads;
  } cases[] = {{64, false, 8},  {512, false, 1},      {1024, false, 1}, {1, false, 512},
               {100, false, 6}, {64, true, 36.0 / 8}, {512, true, 1},   {1, true, 36.0 * 64 / 8}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    const struct record r = tiled_record(cases[i].tile_q, cases[i].causal);
    struct metrics m;
    metrics_of(&r, h200(), &m);
    assert_true(m.traffic.known && m.traffic.fits_l2);
    assert_near(m.traffic.reread_ratio, cases[i].rereads, 1e-12);
    assert_near(m.traffic.requested_bytes, 65536 * (2 + 2 * cases[i].rereads), 1e-12);
    assert_near(m.traffic.working_set_bytes, 2 * 65536, 1e-12);
    assert_near(m.traffic.dram_bytes, m.bytes, 1e-12);
  }
}

TEST(splits_reread_queries_and_pass_on_a_workspace) {
  struct record r = tiled_record(64, false);
  struct metrics m;
  r.plan.splits = 4, r.plan.workspace_bytes = 1000;
  metrics_of(&r, h200(), &m);
  assert_near(m.traffic.requested_bytes, 65536 * (4 + 2 * 8 + 1) + 2000, 1e-12);
  assert_near(m.traffic.reread_ratio, 8, 1e-12);
}

TEST(grouped_heads_reread_the_same_keys) {
  struct record r = tiled_record(512, false);
  struct metrics m;
  r.attn_case.shape.Hq = 8, r.attn_case.shape.Hkv = 2;
  r.pass[0].pass.grid[0] = 1, r.pass[0].pass.grid[1] = 8;
  metrics_of(&r, h200(), &m);
  assert_near(m.traffic.reread_ratio, 4, 1e-12);
  assert_near(m.traffic.working_set_bytes, 2 * 2 * 65536, 1e-12);
}

/* Query heads of a KV head as rows of the same q tiles: K and V are asked for once per tile of them all. */
TEST(packed_heads_read_the_same_keys_once_per_shared_tile) {
  static const struct {
    uint32_t tile_q;
    double rereads;
  } cases[] = {{4 * 512, 1}, {512, 4}, {1024, 2}, {4 * 512 - 1, 2}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct record r = tiled_record(cases[i].tile_q, false);
    struct metrics m;
    r.attn_case.shape.Hq = 8, r.attn_case.shape.Hkv = 2;
    r.pass[0].pass.grid[0] = (uint32_t)cases[i].rereads, r.pass[0].pass.grid[1] = 2, r.pass[0].pass.grid[2] = 1;
    r.pass[0].pass.covers[0] = ATTN_COVERS_Q, r.pass[0].pass.covers[1] = ATTN_COVERS_HKV;
    r.pass[0].pass.covers[2] = ATTN_COVERS_B;
    metrics_of(&r, h200(), &m);
    assert_true(m.pass[0].covers_bh);
    assert_near(m.traffic.reread_ratio, cases[i].rereads, 1e-12);
    assert_near(m.traffic.working_set_bytes, 2 * 2 * 65536, 1e-12);
  }
}

/* 132 SMs x 2 blocks: one wave sees 264 blocks. */
TEST(working_set_is_the_heads_of_one_wave_in_grid_order) {
  static const struct {
    uint32_t grid[3];
    unsigned covers[3];
    double heads;
  } cases[] = {{{8, 64, 16}, {ATTN_COVERS_Q, ATTN_COVERS_H, ATTN_COVERS_B}, 33},
               {{64, 16, 8}, {ATTN_COVERS_H, ATTN_COVERS_B, ATTN_COVERS_Q}, 64 * 5},
               {{8192, 1, 1}, {ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q}, 33},
               {{8, 1, 1}, {ATTN_COVERS_Q}, 1}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct record r = tiled_record(64, false);
    struct metrics m;
    r.attn_case.shape.B = 16, r.attn_case.shape.Hq = r.attn_case.shape.Hkv = 64;
    memcpy(r.pass[0].pass.grid, cases[i].grid, sizeof cases[i].grid);
    memcpy(r.pass[0].pass.covers, cases[i].covers, sizeof cases[i].covers);
    metrics_of(&r, h200(), &m);
    assert_near(m.traffic.working_set_bytes, cases[i].heads * 2 * 65536, 1e-12);
  }
}

TEST(traffic_is_not_known_without_launches_or_tiles) {
  struct record r = tiled_record(0, false);
  struct metrics m;
  metrics_of(&r, h200(), &m);
  assert_false(m.traffic.known);
  r = tiled_record(64, false);
  r.plan.pass_count = 0;
  metrics_of(&r, h200(), &m);
  assert_false(m.traffic.known);
}

/* Threads that work on query rows decide. A library says of no pass that it has such threads. */
TEST(the_main_pass_is_the_one_that_computes) {
  static const struct {
    uint32_t blocks[2], row_threads[2], main;
  } cases[] = {{{1, 132}, {0, 64}, 1}, {{8, 512}, {64, 64}, 0}, {{1, 132}, {0, 0}, 1}, {{256, 32}, {0, 0}, 0}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct record r = tiled_record(64, false);
    r.plan.pass_count = 2;
    for (uint32_t pass = 0; pass < 2; pass++)
      r.pass[pass].pass = (struct attn_pass){
          .grid = {cases[i].blocks[pass], 1, 1}, .block = {128, 1, 1}, .row_threads = cases[i].row_threads[pass]};
    assert_int_equal(metrics_main_pass(&r), cases[i].main);
  }
}
