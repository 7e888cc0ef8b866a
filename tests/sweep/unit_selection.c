/* The names of a run's cells, and how their cases are dealt to shards. */
#include <stdio.h>
#include <string.h>

#include "cli/sweep/cells.h"
#include "tests/unit.h"

enum { CASES = 11, VARIANTS = 3, CELLS = CASES * VARIANTS };

static struct selection names(void) {
  struct selection out;
  assert_int_equal(selection_make(CELLS, &out).code, STATUS_OK);
  for (size_t i = 0; i < CELLS; ++i)
    snprintf(out.name[i], sizeof out.name[i], "B%zu.H1/v%zu", i / VARIANTS, i % VARIANTS);
  return out;
}

TEST(every_case_is_in_one_shard_and_shards_are_even) {
  struct selection selection = names();
  for (uint32_t shards = 1; shards <= CASES; ++shards) {
    uint32_t of[CELLS], cases[CASES + 1] = {0};
    assert_int_equal(selection_deal(&selection, shards, of).code, STATUS_OK);
    for (size_t i = 0; i < CELLS; ++i) {
      assert_in_range(of[i], 1, shards);
      assert_int_equal(of[i], of[i / VARIANTS * VARIANTS]);
      cases[of[i]] += i % VARIANTS == 0;
    }
    for (uint32_t i = 1; i <= shards; ++i) assert_in_range(cases[i], CASES / shards, (CASES + shards - 1) / shards);
  }
  uint32_t of[CELLS];
  assert_int_equal(selection_deal(&selection, CASES + 1, of).code, STATUS_USAGE);
  selection_free(&selection);
}

/* Nodes with other builds of one version, and later versions, must deal in the same way. */
TEST(the_deal_is_pinned) {
  static const uint32_t wanted[CASES] = {2, 2, 1, 3, 1, 2, 1, 1, 2, 3, 3};
  struct selection selection = names();
  uint32_t of[CELLS];
  assert_int_equal(selection_deal(&selection, 3, of).code, STATUS_OK);
  for (size_t i = 0; i < CASES; ++i) assert_int_equal(of[i * VARIANTS], wanted[i]);
  selection_free(&selection);
}

TEST(ranks_are_places_in_the_selection) {
  struct selection selection = names(), other;
  size_t rank[2];
  assert_int_equal(selection_make(2, &other).code, STATUS_OK);
  snprintf(other.name[0], sizeof other.name[0], "B10.H1/v2");
  snprintf(other.name[1], sizeof other.name[1], "B10.H1/v3");
  assert_int_equal(selection_ranks(&selection, &other, rank).code, STATUS_OK);
  assert_int_equal(rank[0], CELLS - 1);
  assert_true(rank[1] == SIZE_MAX);
  selection_free(&other);
  selection_free(&selection);
}

TEST(the_hash_tells_orders_apart) {
  struct selection selection = names();
  char before[HASH_TEXT_MAX], after[HASH_TEXT_MAX], swapped[CELL_NAME_MAX];
  selection_hash(&selection, before);
  memcpy(swapped, selection.name[0], sizeof swapped);
  memcpy(selection.name[0], selection.name[1], sizeof swapped);
  memcpy(selection.name[1], swapped, sizeof swapped);
  selection_hash(&selection, after);
  assert_string_not_equal(before, after);
  selection_free(&selection);
}
