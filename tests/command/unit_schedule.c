/* The order in which cells are measured, which of them a time budget has room for, and how a sentinel drifts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/run.h"
#include "cli/record/run_info.h"
#include "tests/unit.h"

enum { CELLS = 6 };

static struct attn_case cases[CELLS];
static struct cell items[CELLS];

/* From the longest to the shortest, of two variants in turns. */
static struct cells some_cells(void) {
  for (uint32_t i = 0; i < CELLS; ++i) {
    cases[i].shape = (struct attn_problem)ATTN_DENSE(CELLS - i, 1, 1, 8, 8, 8, ATTN_F32, false);
    axes_key(&cases[i].shape, cases[i].key);
    items[i] = (struct cell){.attn_case = &cases[i]};
    snprintf(items[i].spec.text, sizeof items[i].spec.text, i % 2 == 0 ? "a" : "b");
  }
  return (struct cells){.items = items, .count = CELLS};
}

static struct options ordered(const char *order, uint64_t seed) {
  return (struct options){.order = order, .seed = {.value = seed}};
}

static void order_of(const char *order, uint64_t seed, char out[CELLS + 1]) {
  struct cells cells = some_cells();
  static struct options options;
  options = ordered(order, seed);
  assert_int_equal(schedule_order(&options, &cells).code, STATUS_OK);
  for (size_t i = 0; i < CELLS; ++i) out[i] = (char)('0' + cells.items[i].attn_case->shape.B);
  out[CELLS] = '\0';
}

TEST(cells_come_as_the_order_says) {
  char plain[CELLS + 1], shortest[CELLS + 1], seeded[CELLS + 1], again[CELLS + 1], other[CELLS + 1];
  order_of("sweep", 1, plain);
  assert_string_equal(plain, "654321");
  order_of("shortest", 1, shortest);
  assert_string_equal(shortest, "123456");
  order_of("seeded", 1, seeded);
  order_of("seeded", 1, again);
  order_of("seeded", 2, other);
  assert_string_equal(seeded, again);
  assert_string_not_equal(seeded, other);
  assert_string_not_equal(seeded, plain);
}

TEST(a_budget_brings_the_shortest_first_unless_an_order_is_given) {
  static struct options options;
  options = (struct options){.time_budget = {.text = "2h"}};
  assert_string_equal(schedule_order_name(&options), "shortest");
  options.order = "sweep";
  assert_string_equal(schedule_order_name(&options), "");
  options.order = "seeded";
  assert_string_equal(schedule_order_name(&options), "seeded");
}

static const struct record checked = {.status = CELL_ok};

TEST(a_cell_takes_as_long_as_the_variants_last_one_in_the_ratio_of_the_work) {
  struct schedule schedule = {.sum_s = 0};
  some_cells();
  assert_true(schedule_predict(&schedule, &items[0]) == 0);
  schedule_learn(&schedule, &items[4], 3, &checked); /* "a", B=2 */
  assert_true(schedule_predict(&schedule, &items[0]) == 9);
  assert_true(schedule_predict(&schedule, &items[4]) == 3);
  assert_true(schedule_predict(&schedule, &items[1]) == 3); /* "b" is not known */
  schedule_learn(&schedule, &items[5], 1, &checked);        /* "b", B=1 */
  assert_true(schedule_predict(&schedule, &items[1]) == 5);
  schedule_learn(&schedule, &items[0], 12, &checked);
  assert_true(schedule_predict(&schedule, &items[4]) == 12); /* less work need not take less */
}

TEST(a_cell_that_was_timed_takes_longer_only_by_its_launches) {
  struct schedule schedule = {.sum_s = 0};
  struct record timed = {.status = CELL_ok};
  some_cells();
  timed.time[TIME_HOT].us.median = 1000, timed.time[TIME_COLD].us.median = NAN;
  schedule_learn(&schedule, &items[4], 3, &timed);
  assert_true(fabs(schedule_predict(&schedule, &items[0]) - 3.2) < 1e-9); /* 100 launches of 3 ms instead of 1 ms */
  timed.time[TIME_HOT].us.median = 1e6;                                   /* no more than the ratio of the work */
  schedule_learn(&schedule, &items[4], 3, &timed);
  assert_true(fabs(schedule_predict(&schedule, &items[0]) - 9) < 1e-9);
}

TEST(room_is_for_all_rounds_of_all_cells) {
  struct schedule schedule = {.sum_s = 0};
  some_cells();
  schedule_learn(&schedule, &items[5], 1, &checked);
  /* B=3 of the same variant: 3 s, and in each further round 1 + 3 s. */
  assert_true(schedule_has_room(&schedule, &items[3], 1, 3));
  assert_false(schedule_has_room(&schedule, &items[3], 1, 2.9));
  assert_true(schedule_has_room(&schedule, &items[3], 3, 11));
  assert_false(schedule_has_room(&schedule, &items[3], 3, 10.9));
}

TEST(a_sentinel_has_first_last_and_range) {
  const double hot[] = {10, 12, 9, 11};
  struct sentinel sentinel = {.known = false};
  struct sentinel_line line = {.key = "k", .variant = "v", .us = {[TIME_COLD] = NAN}};
  for (size_t i = 0; i < 4; ++i) {
    line.us[TIME_HOT] = hot[i];
    assert_true(sentinel_add(&sentinel, &line));
  }
  const struct sentinel_mode *mode = &sentinel.mode[TIME_HOT];
  assert_int_equal(sentinel.count, 4);
  assert_true(mode->first_us == 10 && mode->last_us == 11 && mode->min_us == 9 && mode->max_us == 12);
  assert_true(mode->drift_ratio == 1.1);
  assert_true(isnan(sentinel.mode[TIME_COLD].drift_ratio));
  /* One that failed has no time: the last one that had counts. */
  line.us[TIME_HOT] = NAN;
  assert_true(sentinel_add(&sentinel, &line));
  assert_true(sentinel.count == 5 && mode->last_us == 11 && mode->drift_ratio == 1.1);
  snprintf(line.variant, sizeof line.variant, "w");
  assert_false(sentinel_add(&sentinel, &line));
}
