/* What the sinks of a comparison share: the words for its outcome. */
#ifndef ATTNBENCH_CLI_GATE_SINKS_H
#define ATTNBENCH_CLI_GATE_SINKS_H

#include "cli/base/markup.h"
#include "cli/gate/compare.h"

enum {
  COMPARE_ROWS_SHOWN = 50,
  COMPARE_LINE_MAX = 640,
  COMPARE_COMMAND_MAX = 10240,
  COMPARE_PERCENT_MAX = 32,
  COMPARE_FAILURE_MAX = 1024
};

/* Cells x modes that the base has and that can be judged: what `compared` is held against. */
uint64_t sinks_expected(const struct compare *);
/* Does this row keep the exit code from being 0, the settings considered? */
bool sinks_row_fails(const struct compare *, const struct compare_row *);
/* "38 compared of 40 expected: 1 regressed, 1 missing, 38 same" */
void sinks_counts_text(const struct compare *, char out[COMPARE_LINE_MAX]);
/* "1 regressed, 38 same": those that are not 0, worst first */
void sinks_verdicts_text(const uint64_t count[COMPARE_VERDICT_COUNT], char out[COMPARE_LINE_MAX]);
/* "FAILED, exit code 1: a case, or all cases together, became slower", "passed: ..." */
void sinks_outcome_text(const struct compare *, char out[COMPARE_LINE_MAX]);
/* Why the exit code is not 0, in one line: "1 of 12 rows failed (1 regressed), first: KEY VARIANT hot: ..."; "" when
 * it is. */
void sinks_failure_text(const struct compare *, char out[COMPARE_FAILURE_MAX]);
/* "attnbench 0.1.0 (commit 0123abc), NVIDIA H200, driver 580.95.05, sweep v3, 2026-11-20T11:04:00Z" */
void sinks_report_text(const struct journal_data *, char out[COMPARE_LINE_MAX]);
/* Were there enough rows to judge all cases together? */
bool sinks_has_suite(const struct compare *);
/* "all cases together: same, +0.10 % in the geometric mean of 40 rows (bounds ...)" */
void sinks_suite_text(const struct compare *, char out[COMPARE_LINE_MAX]);
/* What to do now, as a sentence without its end; "" when everything passed. */
const char *sinks_advice(const struct compare *);
/* Is the exit code only for want of processes? Then one answer fits all rows. */
bool sinks_needs_processes(const struct compare *);
/* Rows that say the same are told in one line instead of each on its own: `same` and `untimed` always, `inconclusive`
 * when four or more have one reason. A row's group, as "38 rows are same: -0.31 % to +0.44 %"; false when it stands
 * alone, or when an earlier row has told the group. */
bool sinks_is_grouped(const struct compare *, const struct compare_row *);
bool sinks_group_text(const struct compare *, const struct compare_row *, char out[COMPARE_LINE_MAX]);
/* The row as one sentence: its reason, else what its verdict means. */
const char *sinks_row_text(const struct compare_row *);

/* A ratio as a change: 1.031 is "+3.10 %"; "-" when not finite. */
void sinks_percent(double ratio, char out[COMPARE_PERCENT_MAX]);
/* "+1.20 to +4.90 %"; "-" when not known. */
void sinks_bounds(const struct compare_row *, char out[COMPARE_PERCENT_MAX]);
/* "7+7": processes of the base and of the new report; "-" for a side that has none. */
void sinks_processes(const struct compare_row *, char out[COMPARE_PERCENT_MAX]);

#endif
