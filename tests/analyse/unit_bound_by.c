#include "cli/analyse/bound_by.h"
#include "tests/unit.h"
#include "tests/unit_rows.h"

/* One block of 64 rows per q tile of an H200 at 1980 MHz, unless a case says otherwise. */
#define GRID(h, b, tiles)                                                                          \
  .H = h, .B = b, .grid = {tiles, h, b}, .threads = 128, .row_threads = 128, .resident_blocks = 1, \
  .covers = {ATTN_COVERS_Q, ATTN_COVERS_H, ATTN_COVERS_B}, .math = ATTN_MATH_WGMMA

struct facts {
  const char *name;
  struct row_spec spec;
  double clock_mhz, steady_us, steady_w, limit_w;
  bool opaque; /* a vendor's launch, whose tiles are not known */
  enum bound_kind limit;
  const char *text; /* a part of it */
};

static const struct facts table[] = {
    {"a full pipe of the products",
     {GRID(32, 1, 256), .S = 16384, .D = 128, .hot_us = 4800},
     .clock_mhz = 1980,
     .limit = BOUND_products,
     .text = "wgmma 86 % at 1980 of 1980 MHz; then "},
    {"a lower clock has a lower roof, and the text names it",
     {GRID(32, 1, 256), .S = 16384, .D = 128, .hot_us = 5500},
     .clock_mhz = 1600,
     .limit = BOUND_products,
     .text = "wgmma 93 % at 1600 of 1980 MHz"},
    {"a clock above the highest is its rounding",
     {GRID(32, 1, 256), .S = 16384, .D = 128, .hot_us = 4800},
     .clock_mhz = 1988,
     .limit = BOUND_products,
     .text = "at 1980 of 1980 MHz"},
    {"exponentials where D is small",
     {GRID(32, 1, 256), .S = 16384, .D = 32, .hot_us = 2500},
     .clock_mhz = 1980,
     .limit = BOUND_exponentials,
     .text = "exponentials 82 %"},
    {"power that a steady time shows",
     {GRID(32, 1, 256), .S = 16384, .D = 128, .hot_us = 4800},
     .clock_mhz = 1755,
     .steady_us = 6600,
     .steady_w = 690,
     .limit_w = 700,
     .limit = BOUND_power,
     .text = "power, 690 of 700 W, holds the clock at 1320 of 1980 MHz; there wgmma 94 %"},
    {"a draw below the limit bounds nothing",
     {GRID(32, 1, 256), .S = 16384, .D = 128, .hot_us = 4800},
     .clock_mhz = 1755,
     .steady_us = 6600,
     .steady_w = 500,
     .limit_w = 700,
     .limit = BOUND_products,
     .text = "wgmma"},
    {"an unknown limit bounds nothing",
     {GRID(32, 1, 256), .S = 16384, .D = 128, .hot_us = 4800},
     .clock_mhz = 1755,
     .steady_us = 6600,
     .steady_w = 690,
     .limit_w = NAN,
     .limit = BOUND_products,
     .text = "wgmma"},
    {"bytes of a long cold read",
     {GRID(32, 8, 1), .S = 64, .D = 128, .cold_us = 5.0, .hot_us = 0},
     .clock_mhz = 1980,
     .limit = BOUND_bytes,
     .text = "DRAM"},
    {"a launch that holds little else",
     {GRID(2, 1, 1), .S = 64, .D = 64, .hot_us = 2.4},
     .clock_mhz = 1980,
     .limit = BOUND_launch,
     .text = "2.40 us for 1 launch, where launch, first load and last store take 2.00 us"},
    {"a chain of tiles when every block runs at once",
     {GRID(8, 2, 8), .S = 512, .D = 64, .hot_us = 11},
     .clock_mhz = 1980,
     .limit = BOUND_chain,
     .text = "a chain of 9.00 us: 8 K/V tiles in a row, 2228 clocks each; all 128 blocks at once on 128 SMs; "},
    {"blocks that wait for a slot are no chain",
     {GRID(16, 4, 8), .S = 512, .D = 64, .hot_us = 40},
     .clock_mhz = 1980,
     .limit = BOUND_none,
     .text = "no limit reaches 60 %: L2 21 %"},
    {"a launch whose tiles are not known is no chain",
     {GRID(8, 2, 8), .S = 512, .D = 64, .hot_us = 11},
     .clock_mhz = 1980,
     .opaque = true,
     .limit = BOUND_none,
     .text = "no limit reaches 60 %: "},
    {"the SMs without a block count for nothing",
     {GRID(8, 1, 8), .S = 512, .D = 128, .hot_us = 5.0},
     .clock_mhz = 1980,
     .limit = BOUND_chain,
     .text = "all 64 blocks at once on 64 SMs"},
};

static struct bound_by bound_of(const struct facts *facts, const char *gpu) {
  const struct device_info *device = &gpu_model_find(gpu)->info;
  struct record record = rows_record(&facts->spec);
  struct metrics metrics;
  struct bound_by out;
  record.time[TIME_HOT].sm_clock_mhz = record.time[TIME_COLD].sm_clock_mhz = facts->clock_mhz;
  rows_set_time(&record.time[TIME_STEADY], facts->steady_us, 1320);
  record.time[TIME_STEADY].power_w = facts->steady_w;
  if (facts->opaque) record.plan.tile_q = record.plan.tile_kv = 0;
  metrics_of(&record, device, &metrics);
  bound_by_of(&record, &metrics, device, facts->limit_w, &out);
  return out;
}

TEST(each_row_is_bounded_by_what_its_facts_say) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const struct bound_by bound = bound_of(&table[i], "h200");
    if (!bound.known || bound.limit != table[i].limit || strstr(bound.text, table[i].text) == NULL)
      fail_msg("%s: %s, \"%s\" lacks \"%s\"", table[i].name, bound_by_name(bound.limit), bound.text, table[i].text);
  }
}

/* The share on the SMs that have a block, not of the whole GPU: half of the SMs at full rate are a bound. */
TEST(half_of_the_sms_can_be_full) {
  const struct facts facts = {.spec = {GRID(1, 1, 66), .S = 4224, .D = 128, .hot_us = 24}, .clock_mhz = 1980};
  const struct bound_by bound = bound_of(&facts, "h200");
  assert_int_equal(bound.limit, BOUND_products);
  assert_true(bound.ratio > 0.6 && bound.ratio < 1);
  assert_non_null(strstr(bound.text, ", on 66 of 132 SMs"));
}

/* Bytes that a profiler counted with flushed caches bound a cold launch, and no hot one that finds them in L2. */
TEST(counted_bytes_bound_no_launch_that_hits_l2) {
  const struct device_info *device = &gpu_model_find("h200")->info;
  const struct row_spec spec = {GRID(8, 2, 8), .S = 512, .D = 64, .hot_us = 11};
  struct record record = rows_record(&spec);
  struct metrics metrics;
  struct bound_by bound;
  metrics_of(&record, device, &metrics);
  metrics.counted.known = true;
  metrics.counted.total = (struct counter_values){
      .gpu_time_us = 11, .dram_read_bytes = 4e7, .l2_bytes = NAN, .shared_wavefronts = NAN, .sm_cycles = NAN};
  bound_by_of(&record, &metrics, device, NAN, &bound);
  assert_int_equal(bound.limit, BOUND_chain);
}

TEST(what_is_not_known_bounds_nothing) {
  const struct facts untimed = {.spec = {GRID(8, 2, 8), .S = 512, .D = 64}, .clock_mhz = 1980};
  struct facts no_products = {.spec = {GRID(8, 2, 8), .S = 512, .D = 64, .hot_us = 11}, .clock_mhz = 1980};
  assert_false(bound_of(&untimed, "h200").known);
  no_products.spec.math = ATTN_MATH_FP64_HOST;
  assert_false(bound_of(&no_products, "h200").known);
}

TEST(limits_have_names_and_help) {
  for (uint32_t kind = 0; kind < BOUND_COUNT; kind++) assert_true(strlen(bound_by_help(kind)) > 10);
  assert_null(bound_by_name(BOUND_COUNT));
}
