#include <stdio.h>
#include <string.h>

#include "cli/gate/compare.h"
#include "tests/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

TEST(a_cell_is_suspected_once_whichever_of_its_modes_is) {
  struct compare_row rows[] = {
      {.key = "A", .variant = "wmma", .mode = TIME_HOT, .verdict = COMPARE_regressed, .ratio = 1.1},
      {.key = "A", .variant = "wmma", .mode = TIME_COLD, .verdict = COMPARE_regressed, .ratio = 1.1},
      {.key = "B", .variant = "wmma", .mode = TIME_HOT, .verdict = COMPARE_same, .ratio = 1},
      {.key = "B", .variant = "split_kv:splits=4", .mode = TIME_HOT, .verdict = COMPARE_regressed, .ratio = 1.1},
      {.key = "C", .variant = "wmma", .mode = TIME_HOT, .verdict = COMPARE_wrong},
  };
  const struct compare compare = {.rows = rows, .row_count = COUNT(rows)};
  struct suspects suspects;
  assert_int_equal(suspects_of(&compare, &suspects).code, STATUS_OK);
  assert_int_equal(suspects.count, 2);
  assert_string_equal(suspects.only[0], "A/wmma");
  assert_string_equal(suspects.only[1], "B/split_kv:splits=4");
  assert_true(suspects.modes[TIME_HOT] && suspects.modes[TIME_COLD] && !suspects.modes[TIME_STEADY]);
  suspects_free(&suspects);
}

/* In steps: where all cases together are undecided, all that are compared. */
TEST(a_measurement_goes_on_with_what_is_open) {
  struct compare_row rows[] = {
      {.key = "A", .variant = "wmma", .mode = TIME_COLD, .verdict = COMPARE_same, .has_ratio = true},
      {.key = "A", .variant = "wmma", .mode = TIME_HOT, .verdict = COMPARE_inconclusive, .has_ratio = true},
      {.key = "B", .variant = "wmma", .mode = TIME_HOT, .verdict = COMPARE_regressed, .has_ratio = true},
      {.key = "C", .variant = "wmma", .mode = TIME_HOT, .verdict = COMPARE_missing},
  };
  struct compare compare = {.rows = rows, .row_count = COUNT(rows)};
  struct suspects open;
  assert_int_equal(suspects_open(&compare, &open).code, STATUS_OK);
  assert_int_equal(open.count, 1);
  assert_string_equal(open.only[0], "A/wmma");
  assert_true(open.modes[TIME_HOT] && !open.modes[TIME_COLD]);
  suspects_free(&open);
  compare.suite = (struct compare_row){.key = "all cases", .verdict = COMPARE_inconclusive};
  assert_int_equal(suspects_open(&compare, &open).code, STATUS_OK);
  assert_int_equal(open.count, 2);
  assert_string_equal(open.only[1], "B/wmma");
  suspects_free(&open);
}

TEST(no_rows_are_no_suspects) {
  const struct compare compare = {.row_count = 0};
  struct suspects suspects;
  assert_int_equal(suspects_of(&compare, &suspects).code, STATUS_OK);
  assert_int_equal(suspects.count, 0);
  suspects_free(&suspects);
}

/* The worse of what the comparison says and of what the new cells themselves are: 6, 3, 4, 1, 5, 0. */
TEST(the_worse_of_comparison_and_cells_decides) {
  static const struct {
    enum exit_code compared;
    enum cell_status cell;
    uint64_t missing;
    enum exit_code expected;
  } cases[] = {
      {EXIT_CODE_OK, CELL_ok, 0, EXIT_CODE_OK},
      {EXIT_CODE_OK, CELL_skipped, 0, EXIT_CODE_OK},
      {EXIT_CODE_OK, CELL_wrong, 0, EXIT_CODE_WRONG},
      {EXIT_CODE_OK, CELL_crashed, 0, EXIT_CODE_COVERAGE},
      {EXIT_CODE_OK, CELL_ok, 1, EXIT_CODE_COVERAGE},
      {EXIT_CODE_REGRESSION, CELL_ok, 0, EXIT_CODE_REGRESSION},
      {EXIT_CODE_REGRESSION, CELL_timeout, 0, EXIT_CODE_COVERAGE},
      {EXIT_CODE_INCONCLUSIVE, CELL_ok, 0, EXIT_CODE_INCONCLUSIVE},
      {EXIT_CODE_INCONCLUSIVE, CELL_wrong, 1, EXIT_CODE_WRONG},
      {EXIT_CODE_COVERAGE, CELL_wrong, 0, EXIT_CODE_WRONG},
      {EXIT_CODE_NOT_COMPARABLE, CELL_wrong, 1, EXIT_CODE_NOT_COMPARABLE},
  };
  for (size_t i = 0; i < COUNT(cases); ++i) {
    static struct record records[2];
    records[1].status = cases[i].cell;
    const struct journal_data now = {
        .records = records, .record_count = COUNT(records), .run.cell_count = COUNT(records) + cases[i].missing};
    const struct compare compare = {.now = &now, .exit_code = cases[i].compared};
    assert_int_equal(suspects_exit_code(&compare), cases[i].expected);
  }
}
