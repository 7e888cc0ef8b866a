/* Findings of rows that a profiler counted, with counters written down by hand. */
#include "cli/analyse/diagnose.h"
#include "tests/unit.h"
#include "tests/unit_rows.h"

static struct rows rows;

/* A full wave of an H200 that takes 100 us at 1980 MHz; nothing of it is odd. */
static const struct row_spec full_wave = {.B = 4,
                                          .H = 16,
                                          .S = 512,
                                          .D = 64,
                                          .math = ATTN_MATH_TENSOR,
                                          .grid = {66, 16, 1},
                                          .covers = {ATTN_COVERS_Q, ATTN_COVERS_B | ATTN_COVERS_H},
                                          .threads = 256,
                                          .row_threads = 256,
                                          .registers = 32,
                                          .resident_blocks = 8,
                                          .cold_us = 100,
                                          .hot_us = 100};
enum { CYCLES = 198000 };

static struct counter_values *start(const struct row_spec *spec, const char *cache) {
  memset(&rows, 0, sizeof rows);
  rows.count = 1;
  rows.record[0] = rows_record(spec);
  struct counter_record *counters = &rows.record[0].counters;
  counter_record_start(counters);
  snprintf(counters->source, sizeof counters->source, "ncu 2025.3.1");
  snprintf(counters->cache, sizeof counters->cache, "%s", cache);
  counters->launches = 1;
  counters->pass_count = 1;
  counters->done = true;
  struct counter_values *values = &counters->pass[0].values;
  values->gpu_time_us = 100;
  values->sm_cycles = CYCLES;
  return values;
}

static const struct finding *derive(enum finding_id id) {
  rows_derive(&rows, "h200", NULL);
  return rows_finding(&rows, 0, id);
}

static void assert_says(enum finding_id id, const char *part) {
  const struct finding *f = derive(id);
  if (f == NULL) fail_msg("no %s", finding_name(id));
  if (strstr(f->measured, part) == NULL) fail_msg("\"%s\" does not contain \"%s\"", f->measured, part);
}

static void assert_advises(enum finding_id id, const char *part) {
  const struct finding *f = derive(id);
  if (f == NULL) fail_msg("no %s", finding_name(id));
  if (strstr(f->advice, part) == NULL) fail_msg("\"%s\" does not contain \"%s\"", f->advice, part);
}

/* ---- bank conflicts ------------------------------------------------------------------------------------------ */

/* 132 SMs x 198000 cycles = 26.1 million passes at most. */
TEST(repeats_that_cost_time_are_bank_conflicts) {
  struct counter_values *v = start(&full_wave, "cold");
  v->shared_wavefronts = 16e6, v->shared_excess_wavefronts = 15.5e6, v->shared_bank_conflicts = 15.6e6;
  assert_says(FINDING_ID_bank_conflicts, "15.5 of 16 million passes through shared memory are repeats, 97 %");
  assert_says(FINDING_ID_bank_conflicts, "59 % of the time of the SMs in use (measured by ncu 2025.3.1, cold)");
  assert_advises(FINDING_ID_bank_conflicts, "XOR");
  assert_null(derive(FINDING_ID_uncoalesced));
}

TEST(few_or_cheap_repeats_are_not) {
  static const struct {
    double all, repeats;
    bool found;
  } cases[] = {{16e6, 3.9e6, false}, {16e6, 4.1e6, true}, {1e6, 0.7e6, false}, {1e6, 0.9e6, true},
               {0, 0, false},        {NAN, 1e6, false},   {16e6, NAN, false}};
  for (size_t i = 0; i < ROWS_COUNT(cases); i++) {
    struct counter_values *v = start(&full_wave, "cold");
    v->shared_wavefronts = cases[i].all, v->shared_excess_wavefronts = cases[i].repeats;
    if ((derive(FINDING_ID_bank_conflicts) != NULL) != cases[i].found) fail_msg("case %zu", i);
  }
}

/* Arbitration between copies and reads is in the hardware's count, but in no address. */
TEST(what_the_addresses_say_comes_before_the_hardwares_count) {
  struct counter_values *v = start(&full_wave, "cold");
  v->shared_wavefronts = 16e6, v->shared_bank_conflicts = 8e6, v->shared_excess_wavefronts = 0;
  assert_null(derive(FINDING_ID_bank_conflicts));
  v->shared_excess_wavefronts = NAN;
  assert_says(FINDING_ID_bank_conflicts, "8 of 16 million");
}

TEST(without_cycles_the_clock_and_without_both_the_share_decides) {
  struct counter_values *v = start(&full_wave, "cold");
  v->shared_wavefronts = 16e6, v->shared_excess_wavefronts = 15.5e6;
  v->sm_cycles = NAN;
  assert_says(FINDING_ID_bank_conflicts, "59 % of the time");
  v->gpu_time_us = NAN;
  assert_says(FINDING_ID_bank_conflicts, "repeats, 97 % (measured by ncu");
}

/* Two blocks keep two SMs busy: the same repeats cost them more. */
TEST(only_sms_in_use_count) {
  struct row_spec spec = full_wave;
  spec.grid[0] = 2, spec.grid[1] = 1;
  struct counter_values *v = start(&spec, "cold");
  v->shared_wavefronts = 0.3e6, v->shared_excess_wavefronts = 0.2e6;
  assert_says(FINDING_ID_bank_conflicts, "51 % of the time");
}

/* ---- uncoalesced --------------------------------------------------------------------------------------------- */

TEST(scattered_sectors_are_uncoalesced) {
  struct counter_values *v = start(&full_wave, "cold");
  v->global_sectors = 8e6, v->global_excess_sectors = 7e6;
  assert_says(FINDING_ID_uncoalesced, "8 million sectors of global memory are touched where 1 million hold");
  assert_says(FINDING_ID_uncoalesced, "8.0x; at 64 bytes a cycle from L2 that is 13 % of the time");
  assert_null(derive(FINDING_ID_bank_conflicts));
  v->global_excess_sectors = 3.9e6;
  assert_null(derive(FINDING_ID_uncoalesced));
  v->global_excess_sectors = NAN;
  assert_null(derive(FINDING_ID_uncoalesced));
  v->global_sectors = 0.8e6, v->global_excess_sectors = 0.7e6; /* 1.3 % of the time */
  assert_null(derive(FINDING_ID_uncoalesced));
}

/* ---- quotes instead of inference ----------------------------------------------------------------------------- */

TEST(memory_bound_is_what_dram_really_moved) {
  struct counter_values *v = start(&full_wave, "cold");
  v->dram_read_bytes = 400e6, v->dram_write_bytes = 20e6;
  assert_says(FINDING_ID_memory_bound, "DRAM moved 420 MB in 100.0 us = 4200 GB/s, 88 % of the 4800 GB/s");
  assert_says(FINDING_ID_memory_bound, "(measured by ncu 2025.3.1, cold)");
  assert_advises(FINDING_ID_memory_bound, "move each byte once");
  v->dram_read_bytes = 200e6;
  assert_null(derive(FINDING_ID_memory_bound));
}

/* By its time the row looks memory-bound; what it reads comes from L2. */
TEST(a_roof_that_time_suggests_is_not_claimed_against_the_count) {
  struct row_spec spec = full_wave;
  spec.B = 64, spec.H = 32, spec.S = 4096, spec.cold_us = 560, spec.hot_us = 0;
  struct counter_values *v = start(&spec, "cold");
  rows.record[0].attn_case.shape.Sq = 1;
  axes_key(&rows.record[0].attn_case.shape, rows.record[0].attn_case.key);
  assert_non_null(derive(FINDING_ID_memory_bound));
  v->gpu_time_us = 560, v->dram_read_bytes = 300e6, v->dram_write_bytes = 1e6;
  assert_null(derive(FINDING_ID_memory_bound));
  v->dram_read_bytes = 2150e6;
  assert_says(FINDING_ID_memory_bound, "DRAM moved 2.15 GB");
  assert_advises(FINDING_ID_memory_bound, "fewer KV heads");
}

TEST(spills_are_what_moved_not_what_was_reserved) {
  struct row_spec spec = full_wave;
  spec.local_bytes = 96;
  struct counter_values *v = start(&spec, "cold");
  assert_says(FINDING_ID_spills, "96 bytes of local memory per thread at 32 registers per thread");
  v->local_bytes = 12e6;
  assert_says(FINDING_ID_spills, "; 12.0 MB of local memory loaded and stored per launch (measured by ncu");
  v->local_bytes = 0;
  assert_null(derive(FINDING_ID_spills));
  rows.record[0].pass[0].facts.local_bytes = 0;
  v->local_bytes = 12e6;
  assert_says(FINDING_ID_spills, "12.0 MB of local memory");
  assert_advises(FINDING_ID_spills, "keep fewer 32-bit values");
}

TEST(latency_bound_says_what_warps_wait_for) {
  struct counter_values *v = start(&full_wave, "hot");
  struct counter_stall *stall = &rows.record[0].counters.pass[0].top_stall;
  *stall = (struct counter_stall){.known = true, .name = "long_scoreboard", .ratio = 0.41};
  v->issue_ratio = 0.12;
  assert_says(
      FINDING_ID_latency_bound,
      "; warps wait 41 % of their time for loads from L2 or DRAM (long_scoreboard), schedulers issue in 12 % of "
      "cycles (measured by ncu 2025.3.1, hot)");
  assert_advises(FINDING_ID_latency_bound, "more loads in flight");
  snprintf(stall->name, sizeof stall->name, "something_new");
  assert_says(FINDING_ID_latency_bound, "for something_new, schedulers");
  assert_advises(FINDING_ID_latency_bound, "ncu says what warps wait for");
}

TEST(occupancy_that_was_reached_stands_beside_what_is_possible) {
  struct row_spec spec = full_wave;
  spec.smem_bytes = 100 * 1024, spec.resident_blocks = 2;
  struct counter_values *v = start(&spec, "cold");
  v->achieved_occupancy_ratio = 0.19;
  assert_says(FINDING_ID_smem_limits_occupancy, "occupancy 25 %, of which 19 % was reached (measured by ncu");
}

TEST(rereads_are_followed_to_l2_and_dram) {
  struct counter_values *v = start(&full_wave, "cold");
  rows.record[0].plan.tile_q = 4;
  v->l2_bytes = 1100e6, v->l2_hit_ratio = 0.97, v->dram_read_bytes = 30e6, v->dram_write_bytes = 0;
  assert_says(FINDING_ID_rereads_kv,
              "the SMs asked L2 for 1.10 GB, 97 % of it was there, and DRAM gave 30.0 MB (measured by ncu");
  /* With tiles of 64 rows the model says that rereads stay in L2; the count says otherwise. */
  rows.record[0].plan.tile_q = 64;
  assert_null(derive(FINDING_ID_rereads_kv));
  v->dram_read_bytes = 90e6;
  assert_says(FINDING_ID_rereads_kv, "DRAM gave 90.0 MB");
}

/* ---- plans of several passes --------------------------------------------------------------------------------- */

TEST(the_worst_pass_is_named) {
  start(&full_wave, "cold");
  struct record *r = &rows.record[0];
  r->plan.pass_count = r->counters.pass_count = 2;
  r->pass[1] = r->pass[0];
  r->counters.pass[1] = r->counters.pass[0];
  snprintf(r->pass[0].name, sizeof r->pass[0].name, "split");
  snprintf(r->pass[1].name, sizeof r->pass[1].name, "combine");
  r->counters.pass[1].values.shared_wavefronts = 16e6;
  r->counters.pass[1].values.shared_excess_wavefronts = 15e6;
  assert_says(FINDING_ID_bank_conflicts, "pass combine: 15 of 16 million");
}

TEST(a_row_without_counters_has_none_of_their_findings) {
  start(&full_wave, "cold")->shared_wavefronts = 16e6;
  rows.record[0].counters.pass[0].values.shared_excess_wavefronts = 15e6;
  rows.record[0].counters.done = false;
  assert_null(derive(FINDING_ID_bank_conflicts));
  rows.record[0].counters.done = true;
  assert_non_null(derive(FINDING_ID_bank_conflicts));
  rows.record[0].status = CELL_wrong;
  assert_null(derive(FINDING_ID_bank_conflicts));
}
