#include "cli/analyse/diagnose.h"
#include "tests/unit.h"
#include "tests/unit_rows.h"

static struct rows rows;

static const struct finding *finding_of(size_t row, enum finding_id id) { return rows_finding(&rows, row, id); }

static bool has(size_t row, enum finding_id id) { return finding_of(row, id) != NULL; }

static void assert_contains(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

static void assert_measured(size_t row, enum finding_id id, const char *part) {
  const struct finding *f = finding_of(row, id);
  if (f == NULL) fail_msg("row %zu has no %s", row, finding_name(id));
  assert_contains(f->measured, part);
}

static void assert_advice(size_t row, enum finding_id id, const char *part) {
  const struct finding *f = finding_of(row, id);
  if (f == NULL) fail_msg("row %zu has no %s", row, finding_name(id));
  assert_contains(f->advice, part);
}

/* ---- the serial grid ----------------------------------------------------------------------------------------- */

#define SERIAL(b, h, us)                                                                       \
  {                                                                                            \
    .variant = "serial", .B = b, .H = h, .S = 512, .D = 64, .grid = {2, 1, 1}, .threads = 128, \
    .covers = {ATTN_COVERS_Q}, .row_threads = 128, .resident_blocks = 4, .cold_us = us         \
  }
/* The scalar kernel's grid: (H, B, q tiles of 64 rows). */
#define SCALAR(b, h, s, us)                                                                                         \
  {                                                                                                                 \
    .variant = "scalar", .B = b, .H = h, .S = s, .D = 64, .grid = {h, b, (s) / 64}, .threads = 256,                 \
    .covers = {ATTN_COVERS_H, ATTN_COVERS_B, ATTN_COVERS_Q}, .row_threads = 64, .resident_blocks = 2, .cold_us = us \
  }

TEST(serial_grid_is_named_from_geometry_and_time) {
  static const struct row_spec specs[] = {SERIAL(1, 8, 6800), SERIAL(4, 16, 45300), SERIAL(8, 16, 117200)};
  rows_build(&rows, specs, 3, "l4", NULL);
  assert_measured(2, FINDING_ID_grid_misses_bh, "grid (2,1,1) = 2 blocks for B*H = 128");
  assert_measured(2, FINDING_ID_grid_misses_bh, "blocks stay at 2 while B*H grows 8 -> 128");
  assert_measured(2, FINDING_ID_grid_misses_bh, "time grew 17.2x for 16.0x the work: serialised over B*H");
  assert_advice(2, FINDING_ID_grid_misses_bh, "put B*H on a grid axis: grid (2,128,1) = 256 blocks");
  assert_measured(2, FINDING_ID_scales_with_bh, "the time grew as a loop over B*H inside a block makes it grow");
  assert_measured(1, FINDING_ID_grid_misses_bh, "time grew 6.7x for 8.0x the work");
  /* The baseline is held against the widest row of its group. */
  assert_measured(0, FINDING_ID_grid_misses_bh, "time grew 17.2x for 16.0x the work");
  for (size_t i = 0; i < 3; i++) assert_int_equal(rows.findings[i].item[0].id, FINDING_ID_grid_misses_bh);
}

/* The same times with a grid that grows: linear growth is what a full GPU shows too. */
TEST(linear_time_alone_is_not_a_serial_grid) {
  static const struct row_spec specs[] = {SCALAR(1, 8, 512, 6800), SCALAR(4, 16, 512, 45300),
                                          SCALAR(8, 16, 512, 117200)};
  rows_build(&rows, specs, 3, "l4", NULL);
  for (size_t i = 0; i < 3; i++) assert_false(has(i, FINDING_ID_grid_misses_bh));
}

TEST(geometry_alone_names_a_serial_grid_without_time) {
  static const struct row_spec specs[] = {SERIAL(1, 8, 0), SERIAL(8, 16, 0)};
  rows_build(&rows, specs, 2, "l4", NULL);
  assert_measured(1, FINDING_ID_grid_misses_bh, "blocks stay at 2 while B*H grows 8 -> 128");
  assert_null(strstr(finding_of(1, FINDING_ID_grid_misses_bh)->measured, "time"));
  rows_build(&rows, &specs[1], 1, "l4", NULL);
  assert_measured(0, FINDING_ID_grid_misses_bh, "a block loops over 128 (batch, head) pairs");
}

TEST(serial_growth_is_not_claimed_when_time_does_not_show_it) {
  static const struct row_spec specs[] = {SERIAL(1, 8, 100), SERIAL(8, 16, 300)};
  rows_build(&rows, specs, 2, "l4", NULL);
  assert_measured(1, FINDING_ID_grid_misses_bh, "time grew 3.0x for 16.0x the work");
  assert_null(strstr(finding_of(1, FINDING_ID_grid_misses_bh)->measured, "serialised"));
}

TEST(only_the_axis_that_is_missing_is_asked_for) {
  static const struct row_spec specs[] = {
      {.B = 4,
       .H = 16,
       .S = 512,
       .D = 64,
       .grid = {8, 16, 1},
       .threads = 128,
       .resident_blocks = 4,
       .covers = {ATTN_COVERS_Q, ATTN_COVERS_H}},
      {.B = 4,
       .H = 16,
       .S = 512,
       .D = 64,
       .grid = {8, 4, 2},
       .threads = 128,
       .resident_blocks = 4,
       .covers = {ATTN_COVERS_Q, ATTN_COVERS_B, ATTN_COVERS_SPLIT},
       .variant = "other"},
      {.B = 1,
       .H = 1,
       .S = 512,
       .D = 64,
       .grid = {2},
       .threads = 128,
       .resident_blocks = 4,
       .covers = {ATTN_COVERS_Q},
       .variant = "nothing to loop over"},
  };
  rows_build(&rows, specs, 3, "l4", NULL);
  assert_advice(0, FINDING_ID_grid_misses_bh, "put B on a grid axis: grid (8,16,4) = 512 blocks");
  assert_advice(1, FINDING_ID_grid_misses_bh, "put H on a grid axis: grid (128,4,2) = 1024 blocks");
  assert_false(has(2, FINDING_ID_grid_misses_bh));
}

/* ---- S1: the table over B and H ------------------------------------------------------------------------------ */

static void build_s1_table(void) {
  static const struct row_spec specs[] = {SCALAR(1, 1, 128, 543), SCALAR(4, 1, 128, 545), SCALAR(1, 4, 128, 545),
                                          SCALAR(4, 4, 128, 554), SCALAR(8, 4, 128, 747)};
  rows_build(&rows, specs, 5, "l4", NULL);
}

TEST(two_blocks_leave_the_gpu_idle) {
  build_s1_table();
  assert_measured(0, FINDING_ID_below_one_wave, "2 blocks on 58 SMs: 2 SMs (3.4 %) get one");
  assert_advice(0, FINDING_ID_below_one_wave,
                "split K/V over blocks (flash decoding), splits = 2 per q tile: 4 blocks where "
                "one wave holds 116; there are no more K/V tiles");
}

TEST(flat_time_is_idle_sms_taking_the_work) {
  build_s1_table();
  for (size_t i = 1; i <= 3; i++) {
    assert_measured(i, FINDING_ID_scales_with_bh, "the time hardly grew: idle SMs took the extra work");
    assert_false(has(i, FINDING_ID_tail_wave));
  }
  assert_measured(3, FINDING_ID_scales_with_bh, "time 1.02x, work 16.0x");
  assert_false(has(0, FINDING_ID_scales_with_bh));
}

TEST(sixty_four_blocks_are_uneven_on_fifty_eight_sms) {
  build_s1_table();
  assert_measured(4, FINDING_ID_tail_wave,
                  "64 blocks on 58 SMs: 6 SMs carry 2 blocks, the other 52 carry 1 (mean 1.10)");
  assert_advice(4, FINDING_ID_tail_wave, "58 or 116 blocks");
  assert_measured(4, FINDING_ID_scales_with_bh,
                  "the time grew more than the waves, but not more than the blocks per SM");
}

TEST(enough_blocks_are_neither_below_nor_past_a_wave) {
  struct row_spec spec = SCALAR(1, 116, 64, 100);
  rows_build(&rows, &spec, 1, "l4", NULL);
  assert_false(has(0, FINDING_ID_below_one_wave));
  assert_false(has(0, FINDING_ID_tail_wave));
}

TEST(mostly_empty_last_wave_is_named) {
  const struct row_spec specs[] = {SCALAR(1, 120, 64, 0), SCALAR(1, 1160 + 4, 64, 0)};
  rows_build(&rows, specs, 2, "l4", NULL);
  assert_measured(0, FINDING_ID_tail_wave, "120 blocks = 1.03 waves of 116: the last wave has 4 blocks; 48 % of all");
  assert_advice(0, FINDING_ID_tail_wave, "116 or 232 blocks");
  assert_false(has(1, FINDING_ID_tail_wave)); /* a tail after ten full waves costs 9 % */
}

TEST(fill_advice_raises_splits_that_are_there) {
  struct row_spec spec = SCALAR(1, 1, 512, 0);
  spec.grid[2] *= 2;
  spec.covers[2] |= ATTN_COVERS_SPLIT;
  spec.resident_blocks = 4;
  rows_build(&rows, &spec, 1, "l4", NULL);
  rows.record[0].plan.splits = 2;
  rows_derive(&rows, "l4", NULL);
  assert_advice(0, FINDING_ID_below_one_wave,
                "raise the K/V splits to 6 per q tile: 48 blocks where one wave holds 232");
  rows.record[0].plan.tile_kv = 512; /* one tile: nothing to split */
  rows_derive(&rows, "l4", NULL);
  assert_advice(0, FINDING_ID_below_one_wave, "a q tile of 32 instead of 64 makes 32 blocks");
}

/* S3: 16 queries of one head, D = 8192, a block per query. */
TEST(queries_of_a_huge_dimension_are_told_to_split_it) {
  struct row_spec spec = {.variant = "one_query",
                          .B = 1,
                          .H = 1,
                          .S = 16,
                          .D = 8192,
                          .grid = {16},
                          .threads = 256,
                          .row_threads = 256,
                          .resident_blocks = 8,
                          .covers = {ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q}};
  rows_build(&rows, &spec, 1, "a100", NULL);
  assert_measured(0, FINDING_ID_below_one_wave, "16 blocks on 108 SMs");
  assert_advice(
      0, FINDING_ID_below_one_wave,
      "split D = 8192 over blocks (d_split), 54 chunks, and let a block share K and V between queries; one wave "
      "holds 864 blocks");
  spec.covers[0] |= ATTN_COVERS_D;
  rows_build(&rows, &spec, 1, "a100", NULL);
  assert_advice(0, FINDING_ID_below_one_wave, "give each block fewer rows");
}

TEST(residency_that_is_only_a_bound_is_said_to_be_one) {
  struct row_spec spec = SCALAR(1, 1, 128, 0);
  spec.resident_blocks = 0;
  rows_build(&rows, &spec, 1, "l4", NULL);
  assert_measured(0, FINDING_ID_below_one_wave, "since at most 6 blocks fit on one SM");
}

/* ---- growth -------------------------------------------------------------------------------------------------- */

TEST(growth_is_judged_against_waves_then_blocks_per_sm) {
  /* 64 blocks -> 1024 on 58 SMs x 2: 9 times the waves, 9 times the blocks of the busiest SM. */
  static const struct {
    double us;
    const char *verdict;
  } cases[] = {{500, "the time grew less than the waves"},
               {900, ": the time grew as the waves did"},
               {1500, "the time grew more than the waves and more than the blocks per SM"}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    const struct row_spec specs[] = {SCALAR(1, 8, 512, 100), SCALAR(8, 16, 512, cases[i].us)};
    rows_build(&rows, specs, 2, "l4", NULL);
    assert_measured(1, FINDING_ID_scales_with_bh, cases[i].verdict);
    assert_measured(1, FINDING_ID_scales_with_bh, "work 16.0x, waves say 9.0x");
  }
}

TEST(growth_prefers_hot_time) {
  struct row_spec specs[] = {SCALAR(1, 8, 512, 100), SCALAR(8, 16, 512, 300)};
  specs[0].hot_us = 90;
  specs[1].hot_us = 810;
  rows_build(&rows, specs, 2, "l4", NULL);
  assert_measured(1, FINDING_ID_scales_with_bh, "hot time 9.00x");
}

/* ---- resources ----------------------------------------------------------------------------------------------- */

/* 256 threads, 1160 blocks: many waves whatever fits. */
static struct row_spec full_grid(void) {
  return (struct row_spec){.B = 1,
                           .H = 1160,
                           .S = 64,
                           .D = 64,
                           .grid = {1160},
                           .threads = 256,
                           .row_threads = 256,
                           .covers = {ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q},
                           .registers = 32};
}

TEST(shared_memory_that_limits_occupancy_is_named) {
  struct row_spec specs[] = {full_grid(), full_grid(), full_grid()};
  specs[0].smem_bytes = 70 * 1024;
  specs[1].smem_bytes = 24 * 1024; /* 4 of 6 blocks: two thirds of the threads */
  specs[2].smem_bytes = 70 * 1024; /* below one wave, so residency does not matter */
  specs[2].grid[0] = 8;
  rows_build(&rows, specs, 3, "l4", NULL);
  assert_measured(0, FINDING_ID_smem_limits_occupancy, "71680 bytes of shared memory per block: blocks per SM 1,");
  assert_advice(0, FINDING_ID_smem_limits_occupancy, "at most 50176 bytes per block");
  assert_false(has(0, FINDING_ID_registers_limit_occupancy));
  assert_false(has(1, FINDING_ID_smem_limits_occupancy));
  assert_false(has(2, FINDING_ID_smem_limits_occupancy));
}

/* Two blocks of 256 threads take at most 128 registers per thread, and 49 KiB each. */
TEST(what_no_second_block_would_gain_is_not_asked_for) {
  static const struct {
    uint32_t smem_bytes, registers;
    enum finding_id id; /* FINDING_ID_COUNT: neither */
  } cases[] = {{70 * 1024, 128, FINDING_ID_smem_limits_occupancy},
               {40 * 1024, 168, FINDING_ID_registers_limit_occupancy},
               {70 * 1024, 168, FINDING_ID_COUNT},
               {70 * 1024, 0, FINDING_ID_smem_limits_occupancy}}; /* not known */
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct row_spec spec = full_grid();
    spec.smem_bytes = cases[i].smem_bytes, spec.registers = cases[i].registers;
    rows_build(&rows, &spec, 1, "l4", NULL);
    assert_int_equal(rows.metrics[0].pass[0].resident_blocks, 1);
    for (enum finding_id id = FINDING_ID_smem_limits_occupancy; id <= FINDING_ID_registers_limit_occupancy; id++)
      if (has(0, id) != (id == cases[i].id)) fail_msg("case %zu, %s", i, finding_name(id));
  }
}

TEST(registers_that_limit_occupancy_are_named) {
  struct row_spec specs[] = {full_grid(), full_grid()};
  specs[0].registers = 168;
  specs[1].registers = 64;
  rows_build(&rows, specs, 2, "l4", NULL);
  assert_measured(0, FINDING_ID_registers_limit_occupancy,
                  "168 registers per thread x 256 threads: blocks per SM 1,");
  assert_advice(0, FINDING_ID_registers_limit_occupancy, "at most 128 registers per thread to fit 2 blocks");
  assert_false(has(0, FINDING_ID_smem_limits_occupancy));
  assert_false(has(1, FINDING_ID_registers_limit_occupancy));
}

TEST(spills_are_named_with_their_bytes) {
  struct row_spec specs[] = {full_grid(), full_grid()};
  specs[0].local_bytes = 96;
  rows_build(&rows, specs, 2, "l4", NULL);
  assert_measured(0, FINDING_ID_spills, "96 bytes of local memory per thread at 32 registers");
  assert_advice(0, FINDING_ID_spills, "at least 24 fewer 32-bit values");
  assert_false(has(1, FINDING_ID_spills));
}

TEST(threads_without_a_row_are_named) {
  struct row_spec specs[] = {full_grid(), full_grid(), full_grid(), full_grid(), full_grid()};
  specs[0].row_threads = 64;
  specs[1].threads = 160; /* one producer warp beside four: 20 % */
  specs[1].row_threads = 128;
  specs[2].row_threads = 192;
  specs[3].row_threads = specs[3].producer_threads = 128; /* a warpgroup that fetches for the other */
  specs[4].row_threads = specs[4].producer_threads = 64;
  rows_build(&rows, specs, 5, "l4", NULL);
  assert_measured(0, FINDING_ID_idle_threads, "64 of 256 threads hold a query row in the compute phase: 75 % wait");
  assert_advice(0, FINDING_ID_idle_threads, "let 4 threads share a query row");
  assert_false(has(1, FINDING_ID_idle_threads));
  assert_advice(2, FINDING_ID_idle_threads, "launch 192 threads");
  assert_false(has(3, FINDING_ID_idle_threads));
  assert_measured(4, FINDING_ID_idle_threads, "compute phase and 64 fetch for them: 50 % wait");
}

/* ---- roofs --------------------------------------------------------------------------------------------------- */

/* S4: v6a on the mission shape; "tensor cores saturated" is impossible at 0.46 TFLOP/s. */
TEST(slow_tensor_kernel_is_latency_bound_not_compute_bound) {
  const struct row_spec spec = {.B = 1,
                                .H = 8,
                                .S = 512,
                                .D = 64,
                                .math = ATTN_MATH_TENSOR,
                                .grid = {8, 1, 8},
                                .covers = {ATTN_COVERS_H, ATTN_COVERS_B, ATTN_COVERS_Q},
                                .threads = 128,
                                .row_threads = 128,
                                .registers = 60,
                                .resident_blocks = 2,
                                .hot_us = 1177};
  rows_build(&rows, &spec, 1, "l4", NULL);
  assert_measured(0, FINDING_ID_latency_bound, "0.456 TFLOP/s");
  assert_measured(0, FINDING_ID_latency_bound, "0.39 % of the mma.sync roof (hot)");
  assert_measured(0, FINDING_ID_latency_bound, ": 1177 us where the shape's floor is 4.43 us");
  assert_advice(0, FINDING_ID_latency_bound, "ncu says what warps wait for");
  assert_false(has(0, FINDING_ID_compute_bound));
  assert_false(has(0, FINDING_ID_memory_bound));
}

TEST(latency_advice_follows_the_cause) {
  struct row_spec specs[] = {SCALAR(1, 1, 128, 543), SCALAR(1, 1, 64, 4.2), SERIAL(8, 16, 117200)};
  for (size_t i = 0; i < 3; i++) specs[i].math = ATTN_MATH_FP32;
  rows_build(&rows, specs, 3, "l4", NULL);
  assert_advice(0, FINDING_ID_latency_bound, "97 % of the SMs have no block: give them work first");
  assert_measured(1, FINDING_ID_launch_bound, "4.20 us (cold) for 1 launch");
  assert_false(has(1, FINDING_ID_latency_bound));
  assert_false(has(0, FINDING_ID_launch_bound));
  assert_advice(2, FINDING_ID_latency_bound, "give them work first, by a grid that covers B*H");
}

/* One query against 4096 keys in 2048 heads: 2.15 GB, 447 us at 4.8 TB/s. */
TEST(streaming_keys_at_the_dram_rate_is_memory_bound) {
  const struct row_spec spec = {.B = 64,
                                .H = 32,
                                .S = 4096,
                                .D = 64,
                                .math = ATTN_MATH_TENSOR,
                                .grid = {32, 64, 1},
                                .covers = {ATTN_COVERS_H, ATTN_COVERS_B, ATTN_COVERS_Q},
                                .threads = 128,
                                .row_threads = 128,
                                .resident_blocks = 8,
                                .cold_us = 560};
  static const struct {
    double us;
    bool memory, latency;
  } cases[] = {{560, true, false}, {900, false, false}, {2000, false, true}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    rows_build(&rows, &spec, 1, "h200", NULL);
    rows.record[0].attn_case.shape.Sq = 1;
    rows_set_time(&rows.record[0].time[TIME_COLD], cases[i].us, NAN);
    rows_derive(&rows, "h200", NULL);
    assert_int_equal(has(0, FINDING_ID_memory_bound), cases[i].memory);
    assert_int_equal(has(0, FINDING_ID_latency_bound), cases[i].latency);
    assert_false(has(0, FINDING_ID_compute_bound));
    if (cases[i].memory)
      assert_measured(0, FINDING_ID_memory_bound, "= 83 % of the 4608 GB/s that DRAM reaches (cold)");
  }
}

/* 1.1 PFLOP of long prefill: 1027 us at the tensor peak of 1980 MHz. */
TEST(long_prefill_near_the_tensor_peak_is_compute_bound) {
  static const struct {
    enum attn_math math;
    double us;
    bool compute;
    const char *advice;
  } cases[] = {{ATTN_MATH_TENSOR, 1400, true, "at most 1.36x is left on this pipe"},
               {ATTN_MATH_TENSOR, 6000, false, NULL},
               {ATTN_MATH_FP32, 20000, true, "move QK^T and PV to tensor cores: mma.sync gives 11x"}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    const struct row_spec spec = {.B = 4,
                                  .H = 32,
                                  .S = 4096,
                                  .D = 128,
                                  .math = cases[i].math,
                                  .grid = {32, 4, 32},
                                  .covers = {ATTN_COVERS_H, ATTN_COVERS_B, ATTN_COVERS_Q},
                                  .threads = 128,
                                  .row_threads = 128,
                                  .resident_blocks = 2,
                                  .cold_us = cases[i].us,
                                  .hot_us = cases[i].us};
    rows_build(&rows, &spec, 1, "h200", NULL);
    assert_int_equal(has(0, FINDING_ID_compute_bound), cases[i].compute);
    assert_false(has(0, FINDING_ID_memory_bound));
    assert_false(has(0, FINDING_ID_latency_bound));
    if (cases[i].compute) assert_advice(0, FINDING_ID_compute_bound, cases[i].advice);
  }
}

/* S3: one query per block. The SMs are the cause, and the rereads are L2 hits. */
TEST(rereads_by_single_queries_are_named_and_held_against_l2) {
  const struct row_spec spec = {.B = 1,
                                .H = 1,
                                .S = 16,
                                .D = 8192,
                                .grid = {16},
                                .covers = {ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q},
                                .threads = 256,
                                .row_threads = 256,
                                .resident_blocks = 8,
                                .cold_us = 183};
  static const struct {
    uint32_t tile_q;
    bool named;
  } cases[] = {{1, true}, {4, true}, {8, false}, {16, false}, {64, false}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    rows_build(&rows, &spec, 1, "a100", NULL);
    rows.record[0].attn_case.shape.dtype = ATTN_F32;
    rows.record[0].plan.tile_q = cases[i].tile_q;
    rows_derive(&rows, "a100", NULL);
    assert_int_equal(has(0, FINDING_ID_rereads_kv), cases[i].named);
    if (i > 0) continue;
    assert_measured(0, FINDING_ID_rereads_kv, "asked for 16 times (1 query row per read): 17.8 MB");
    assert_measured(0, FINDING_ID_rereads_kv, "the 1.05 MB of K and V in flight stay in the 41.9 MB of L2");
    assert_advice(0, FINDING_ID_rereads_kv, "at least 16 query rows");
    assert_measured(0, FINDING_ID_below_one_wave, "16 blocks on 108 SMs");
  }
}

/* 512 heads of 4 MB: with heads on x all of them are in flight; with q tiles on x a handful is. */
TEST(rereads_past_l2_are_a_matter_of_the_grid_order) {
  struct row_spec spec = {.B = 16,
                          .H = 32,
                          .S = 8192,
                          .D = 128,
                          .grid = {32, 16, 128},
                          .covers = {ATTN_COVERS_H, ATTN_COVERS_B, ATTN_COVERS_Q},
                          .threads = 128,
                          .row_threads = 128,
                          .resident_blocks = 4};
  rows_build(&rows, &spec, 1, "h200", NULL);
  assert_measured(0, FINDING_ID_rereads_kv, "exceed the 62.9 MB of L2, so DRAM moves up to");
  assert_advice(0, FINDING_ID_rereads_kv, "put the q tiles on the fastest grid axis");
  const uint32_t q_first[3] = {128, 32, 16};
  memcpy(rows.record[0].pass[0].pass.grid, q_first, sizeof q_first);
  const unsigned covers[3] = {ATTN_COVERS_Q, ATTN_COVERS_H, ATTN_COVERS_B};
  memcpy(rows.record[0].pass[0].pass.covers, covers, sizeof covers);
  rows_derive(&rows, "h200", NULL);
  assert_false(has(0, FINDING_ID_rereads_kv));
  const uint32_t few_q[3] = {2, 32, 16}; /* which loop over the q tiles, so that all heads are in flight again */
  memcpy(rows.record[0].pass[0].pass.grid, few_q, sizeof few_q);
  rows_derive(&rows, "h200", NULL);
  assert_advice(0, FINDING_ID_rereads_kv, "put the q tiles on the fastest grid axis");
  spec.resident_blocks = 16; /* so many heads run at once that their keys do not fit */
  memcpy(spec.grid, q_first, sizeof q_first);
  memcpy(spec.covers, covers, sizeof covers);
  rows_build(&rows, &spec, 1, "h200", NULL);
  assert_advice(0, FINDING_ID_rereads_kv,
                "take more query rows per block: the q tiles of a head already run together");
}

/* 64 sequences of one query row with 8 query heads to a KV head: what each says of what it shares already. */
TEST(shared_reads_are_not_advised_again) {
  static const struct {
    uint32_t prefix, tile_q;
    unsigned heads;
    const char *advice; /* NULL: no finding */
  } cases[] = {
      {0, 8, ATTN_COVERS_HKV, NULL},
      {4032, 8, ATTN_COVERS_HKV,
       "the 8 query rows of a KV head share a read already; what is left is the prefix of 4032 keys"},
      {0, 1, ATTN_COVERS_H, "take the 8 query heads of a KV head into one q tile: K and V are then read once"},
      {4032, 1, ATTN_COVERS_H,
       "K and V are then asked for 32.3 times, since each sequence reads the shared prefix of 4032 keys"}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    const bool tiled = cases[i].heads == ATTN_COVERS_HKV;
    const struct row_spec spec = {.B = 64,
                                  .H = 32,
                                  .S = 4096,
                                  .D = 128,
                                  .grid = {1, tiled ? 4 : 32, 64},
                                  .covers = {ATTN_COVERS_Q, cases[i].heads, ATTN_COVERS_B},
                                  .threads = 128,
                                  .row_threads = 128,
                                  .resident_blocks = 1};
    rows_build(&rows, &spec, 1, "h200", NULL);
    struct attn_problem *problem = &rows.record[0].attn_case.shape;
    problem->Sq = 1, problem->Hkv = 4, problem->page = 16, problem->prefix = cases[i].prefix;
    rows.record[0].plan.tile_q = cases[i].tile_q;
    rows_derive(&rows, "h200", NULL);
    if (cases[i].advice == NULL)
      assert_false(has(0, FINDING_ID_rereads_kv));
    else
      assert_advice(0, FINDING_ID_rereads_kv, cases[i].advice);
  }
}

TEST(grouped_queries_of_one_row_are_told_to_share_a_tile) {
  const struct row_spec spec = {.B = 64,
                                .H = 32,
                                .S = 4096,
                                .D = 128,
                                .grid = {1, 32, 64},
                                .covers = {ATTN_COVERS_Q, ATTN_COVERS_H, ATTN_COVERS_B},
                                .threads = 128,
                                .row_threads = 128,
                                .resident_blocks = 8};
  rows_build(&rows, &spec, 1, "h200", NULL);
  rows.record[0].attn_case.shape.Sq = 1;
  rows_derive(&rows, "h200", NULL);
  assert_int_equal(has(0, FINDING_ID_rereads_kv), rows.metrics[0].traffic.reread_ratio >= 2);
  rows.record[0].attn_case.shape.Hkv = 4;
  rows_derive(&rows, "h200", NULL);
  assert_advice(0, FINDING_ID_rereads_kv, "take the 8 query heads of a KV head into one q tile");
}

/* Two-pass plans are two launches: 8 us is no more than they take. */
TEST(launch_bound_counts_the_launches) {
  struct row_spec spec = full_grid();
  spec.math = ATTN_MATH_TENSOR, spec.B = 1, spec.H = 1, spec.S = 64, spec.cold_us = 8;
  rows_build(&rows, &spec, 1, "l4", NULL);
  assert_false(has(0, FINDING_ID_launch_bound));
  rows.record[0].plan.pass_count = 2;
  rows.record[0].pass[1] = rows.record[0].pass[0];
  rows_derive(&rows, "l4", NULL);
  assert_measured(0, FINDING_ID_launch_bound, "8.00 us (cold) for 2 launches");
}

/* S0 without its grid: linear growth has two explanations, and neither may be picked. */
TEST(times_without_launches_get_growth_but_no_cause) {
  static const struct row_spec specs[] = {SERIAL(1, 8, 6800), SERIAL(8, 16, 117200)};
  rows_build(&rows, specs, 2, "l4", NULL);
  for (size_t i = 0; i < 2; i++) rows.record[i].plan.pass_count = 0;
  rows_derive(&rows, "l4", NULL);
  assert_measured(1, FINDING_ID_scales_with_bh, "time alone cannot tell them apart");
  assert_measured(1, FINDING_ID_scales_with_bh, "(1.08x per unit of work)");
  assert_advice(1, FINDING_ID_scales_with_bh, "record the launch");
  assert_false(has(1, FINDING_ID_grid_misses_bh));
  assert_false(has(1, FINDING_ID_below_one_wave));
}

/* Every finding is about a GPU: its SMs, its waves, its launches. */
TEST(rows_that_a_cpu_measured_have_no_findings) {
  static const struct row_spec specs[] = {SERIAL(1, 8, 6800), SERIAL(8, 16, 117200)};
  const struct device_info cpu = {.kind = DEVICE_CPU, .name = "a CPU", .sms = 2};
  struct findings findings;
  rows_build(&rows, specs, 2, "l4", NULL);
  assert_true(rows.findings[1].count > 0);
  diagnose(rows.record, rows.metrics, rows.scaling, 2, 1, &cpu, NULL, &findings);
  assert_int_equal(findings.count, 0);
}

/* ---- the list ------------------------------------------------------------------------------------------------ */

static bool speaks_of_time(enum finding_id id) {
  return id == FINDING_ID_memory_bound || id == FINDING_ID_compute_bound || id == FINDING_ID_latency_bound ||
         id == FINDING_ID_scales_with_bh || id == FINDING_ID_launch_bound || id == FINDING_ID_between_roofs ||
         id == FINDING_ID_exp_bound || id == FINDING_ID_l2_bound || id == FINDING_ID_shared_bound ||
         id == FINDING_ID_clock_lowered;
}

TEST(rows_without_a_speed_get_geometry_only) {
  static const struct row_spec specs[] = {SERIAL(1, 8, 6800), SERIAL(8, 16, 117200)};
  for (enum cell_status status = CELL_ok + 1; status < CELL_STATUS_COUNT; status++) {
    rows_build(&rows, specs, 2, "l4", NULL);
    rows.record[1].status = status;
    rows_derive(&rows, "l4", NULL);
    assert_true(has(1, FINDING_ID_grid_misses_bh));
    for (size_t i = 0; i < rows.findings[1].count; i++) {
      assert_false(speaks_of_time(rows.findings[1].item[i].id));
      assert_null(strstr(rows.findings[1].item[i].measured, "time"));
    }
  }
}

TEST(rows_without_passes_get_nothing) {
  struct row_spec spec = SERIAL(8, 16, 0);
  rows_build(&rows, &spec, 1, "l4", NULL);
  rows.record[0].plan.pass_count = 0;
  rows_derive(&rows, "l4", NULL);
  assert_int_equal(rows.findings[0].count, 0);
}

TEST(worst_pass_is_the_one_that_is_named) {
  struct row_spec spec = full_grid();
  spec.cold_us = 100;
  rows_build(&rows, &spec, 1, "l4", NULL);
  struct record *r = &rows.record[0];
  r->plan.pass_count = 2;
  r->pass[1] = r->pass[0];
  snprintf(r->pass[1].name, sizeof r->pass[1].name, "combine");
  r->pass[1].facts.local_bytes = 16;
  r->pass[0].cold_us = r->pass[1].cold_us = 50;
  rows_derive(&rows, "l4", NULL);
  assert_int_equal(finding_of(0, FINDING_ID_spills)->pass, 1);
  assert_measured(0, FINDING_ID_spills, "pass combine: 16 bytes");
  r->pass[0].cold_us = 98; /* now the pass takes 2 % of the time */
  r->pass[1].cold_us = 2;
  rows_derive(&rows, "l4", NULL);
  assert_false(has(0, FINDING_ID_spills));
}

/* Clearing locks takes one small block per tile; that grid is nobody's problem, timed or only planned. */
TEST(pass_that_only_prepares_memory_is_not_judged) {
  struct row_spec spec = full_grid();
  for (int timed = 0; timed < 2; timed++) {
    spec.cold_us = timed ? 100 : 0;
    rows_build(&rows, &spec, 1, "l4", NULL);
    struct record *r = &rows.record[0];
    r->plan.pass_count = 2;
    r->pass[1] = r->pass[0];
    snprintf(r->pass[0].name, sizeof r->pass[0].name, "reset");
    r->pass[0].pass.grid[0] = r->pass[0].pass.grid[1] = r->pass[0].pass.grid[2] = 1;
    r->pass[0].cold_us = r->pass[1].cold_us = timed ? 50 : 0;
    rows_derive(&rows, "l4", NULL);
    assert_true(has(0, FINDING_ID_below_one_wave));
    r->pass[0].pass.row_threads = 0;
    rows_derive(&rows, "l4", NULL);
    assert_false(has(0, FINDING_ID_below_one_wave));
  }
}

/* A finding about the whole row, here its clock, names the pass that takes most of the time. */
TEST(pass_before_the_kernel_is_not_named_for_the_row) {
  struct row_spec spec = full_grid();
  for (int timed = 0; timed < 2; timed++) {
    spec.cold_us = 100;
    rows_build(&rows, &spec, 1, "l4", NULL);
    struct record *r = &rows.record[0];
    r->plan.pass_count = 2;
    r->pass[1] = r->pass[0];
    if (!timed) r->pass[0].pass.row_threads = 0;
    r->pass[0].cold_us = timed ? 20 : NAN;
    r->pass[1].cold_us = timed ? 80 : NAN;
    r->time[TIME_COLD].sm_clock_mhz = 1000;
    rows_derive(&rows, "l4", NULL);
    assert_true(has(0, FINDING_ID_clock_lowered));
    assert_int_equal(finding_of(0, FINDING_ID_clock_lowered)->pass, 1);
  }
}

TEST(findings_are_sorted_and_appear_once) {
  static const struct row_spec specs[] = {SERIAL(1, 8, 6800), SERIAL(8, 16, 117200), SCALAR(1, 1, 128, 543),
                                          SCALAR(8, 4, 128, 747)};
  rows_build(&rows, specs, 4, "l4", NULL);
  for (size_t row = 0; row < 4; row++) {
    bool seen[FINDING_ID_COUNT] = {false};
    const struct findings *all = &rows.findings[row];
    assert_true(all->count > 0);
    for (size_t i = 0; i < all->count; i++) {
      assert_false(seen[all->item[i].id]);
      seen[all->item[i].id] = true;
      assert_true(all->item[i].measured[0] != 0 && all->item[i].advice[0] != 0);
      assert_true(strlen(all->item[i].measured) < FINDING_TEXT_MAX - 1);
      if (i > 0) assert_true(diagnose_order(&all->item[i - 1], &all->item[i]) < 0);
    }
  }
}

TEST(ids_and_severities_are_stable) {
  assert_string_equal(finding_name(FINDING_ID_grid_misses_bh), "grid_misses_bh");
  assert_string_equal(finding_name(FINDING_ID_scales_with_bh), "scales_with_bh");
  assert_string_equal(finding_severity_name(finding_severity(FINDING_ID_grid_misses_bh)), "severe");
  assert_string_equal(finding_severity_name(finding_severity(FINDING_ID_below_one_wave)), "warning");
  assert_string_equal(finding_severity_name(finding_severity(FINDING_ID_memory_bound)), "note");
  for (enum finding_id id = 0; id < FINDING_ID_COUNT; id++) assert_true(strlen(finding_help(id)) > 20);
}
