/* Texts that all output formats of a comparison share. */
#pragma once

#include "cli/base/markup.h"
#include "cli/base/units.h"
#include "cli/gate/compare.h"

enum {
  COMPARE_ROWS_SHOWN = 50,
  COMPARE_LINE_MAX = 640,
  COMPARE_COMMAND_MAX = 10240,
  COMPARE_PERCENT_MAX = 32,
  COMPARE_FAILURE_MAX = 1024
};

/* A text that stands among the arguments of a message: sinks_counts_text(compare).text. */
struct sinks_line {
  char text[COMPARE_LINE_MAX];
};

/* The number of rows that the base has and that are not `untimed`, as the total of "38 compared of 40 expected". */
uint64_t sinks_expected(const struct compare *);
/* Whether this row makes the exit code other than 0 under the settings. */
bool sinks_row_fails(const struct compare *, const struct compare_row *);
/* "38 compared of 40 expected: 1 regressed, 1 missing, 38 same" */
struct sinks_line sinks_counts_text(const struct compare *);
/* "1 regressed, 38 same": those that are not 0, worst first */
struct sinks_line sinks_verdicts_text(const uint64_t count[COMPARE_VERDICT_COUNT]);
/* "FAILED, exit code 1: 2 of 40 rows are slower", "UNDECIDED, exit code 5: ...", "passed: ..." */
struct sinks_line sinks_outcome_text(const struct compare *);
/* Why the exit code is not 0, in one line: "1 of 12 rows: 1 regressed, first: KEY VARIANT hot: ..."; "" when
 * it is. */
void sinks_failure_text(const struct compare *, char out[COMPARE_FAILURE_MAX]);
/* "attnbench 0.1.0 (commit 0123abc), NVIDIA H200, driver 580.95.05, sweep v3, 2026-11-20T11:04:00Z" */
struct sinks_line sinks_report_text(const struct journal_data *);
/* Were there enough rows to judge all cases together? */
bool sinks_has_suite(const struct compare *);
/* "all cases together: same, +0.10 % in the geometric mean of 40 rows (bounds ...)" */
struct sinks_line sinks_suite_text(const struct compare *);
/* How many rows were clear before the last pair, so that they have fewer. */
size_t sinks_clear_before(const struct compare *);
/* "3 of at most 7 pairs of processes: every verdict was clear"; "" where nothing was measured in pairs. */
struct sinks_line sinks_pairs_text(const struct compare *);
/* Why no more pairs were measured; "" where nothing was measured in pairs. */
const char *sinks_stop(const struct compare *);
/* What to do now, as a sentence without its end; "" when everything passed. */
const char *sinks_advice(const struct compare *);
/* Whether too few processes are the only reason for the exit code, so that one advice applies to all rows. */
bool sinks_needs_processes(const struct compare *);
/* Whether the row is shown in the one line of its group and not in a line of its own: rows that are `same` or
 * `untimed` always, `inconclusive` ones when four or more have the same reason. */
bool sinks_is_grouped(const struct compare *, const struct compare_row *);
/* Writes the line of the row's group, "38 rows have the verdict same: -0.31 % to +0.44 %, bounds -0.90 % to +1.20 %".
 * False when the row is not grouped or is not the first of its group. */
bool sinks_group_text(const struct compare *, const struct compare_row *, char out[COMPARE_LINE_MAX]);
/* The row as one sentence: its reason, else what its verdict means. */
const char *sinks_row_text(const struct compare_row *);

/* A ratio as a change: 1.031 is "+3.10 %"; "-" when not finite. */
struct sinks_percent {
  char text[COMPARE_PERCENT_MAX];
};
struct sinks_percent sinks_percent(double ratio);
/* A row's numbers; "-" where one is not known. */
struct sinks_numbers {
  char base[UNITS_TEXT_MAX], now[UNITS_TEXT_MAX]; /* medians in microseconds */
  char change[COMPARE_PERCENT_MAX];
  char bounds[COMPARE_PERCENT_MAX];    /* "+1.20 to +4.90 %" */
  char processes[COMPARE_PERCENT_MAX]; /* "7+7": of the base and of the new report */
};
struct sinks_numbers sinks_numbers(const struct compare_row *);
