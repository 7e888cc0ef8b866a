/* The line that says which cells failed. */
#include <stdio.h>
#include <string.h>

#include "cli/record/record.h"
#include "tests/unit.h"

enum { CELLS_MAX = 6 };

static void fill(struct record out[CELLS_MAX], const enum cell_status *status, size_t count) {
  memset(out, 0, CELLS_MAX * sizeof *out);
  for (size_t i = 0; i < count; ++i) {
    out[i].status = status[i];
    snprintf(out[i].attn_case.key, sizeof out[i].attn_case.key, "key%zu", i);
    snprintf(out[i].variant, sizeof out[i].variant, "variant%zu", i);
    if (status[i] != CELL_ok) snprintf(out[i].reason, sizeof out[i].reason, "reason %zu", i);
  }
}

TEST(every_failed_cell_is_counted_and_the_one_behind_the_exit_code_named) {
  static const struct {
    const char *expect;
    uint64_t expected;
    size_t count;
    enum cell_status status[CELLS_MAX];
  } rows[] = {
      {"", 3, 3, {CELL_ok, CELL_skipped, CELL_planned}},
      {"", 0, 0, {CELL_ok}},
      {"1 of 1 cells failed (1 timeout), first: key0 variant0: reason 0", 1, 1, {CELL_timeout}},
      {"3 of 4 cells failed (2 crashed, 1 implausible), first: key1 variant1: reason 1",
       4,
       4,
       {CELL_ok, CELL_crashed, CELL_implausible, CELL_crashed}},
      {"2 of 3 cells failed (1 wrong, 1 error), first: key2 variant2: reason 2",
       3,
       3,
       {CELL_error, CELL_ok, CELL_wrong}},
      {"2 of 3 cells have no result (2 left_out), first: key1 variant1: reason 1",
       3,
       3,
       {CELL_ok, CELL_left_out, CELL_left_out}},
      {"2 of 4 cells were not measured", 4, 2, {CELL_ok, CELL_planned}},
      {"1 of 3 cells was not measured, 1 of 3 cells failed (1 oom_predicted), first: key1 variant1: reason 1",
       3,
       2,
       {CELL_ok, CELL_oom_predicted}},
  };
  struct record records[CELLS_MAX];
  char text[FAILURES_TEXT_MAX];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    fill(records, rows[i].status, rows[i].count);
    failures_text(records, rows[i].count, rows[i].expected, text);
    assert_string_equal(text, rows[i].expect);
  }
}

/* The longest names and reason fit. */
TEST(nothing_of_a_reason_is_cut) {
  struct record record = {.status = CELL_error};
  char text[FAILURES_TEXT_MAX];
  memset(record.attn_case.key, 'k', sizeof record.attn_case.key - 1);
  memset(record.variant, 'v', sizeof record.variant - 1);
  memset(record.reason, 'r', sizeof record.reason - 1);
  failures_text(&record, 1, UINT64_MAX, text);
  assert_non_null(strstr(text, record.reason));
}
