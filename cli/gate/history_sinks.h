/* A history as text, JSON and CSV, and the commands that search a commit between two runs. */
#pragma once

#include <stdio.h>

#include "cli/gate/history.h"

#define HISTORY_SCHEMA "attnbench.history/1"

/* Each writes to an open stream; the caller checks ferror. */
struct status history_sinks_text(const struct history *, FILE *);
struct status history_sinks_json(const struct history *, FILE *);
struct status history_sinks_csv(const struct history *, FILE *);
/* For each slowdown that stands, the largest first, a line for a shell that lets git bisect find its commit. */
struct status history_sinks_bisect(const struct history *, FILE *);

/* A change with its series, for lists of all changes. */
struct history_item {
  const struct history *history;
  const struct history_series *series;
  const struct history_change *change; /* NULL: the series drifts */
};
/* All changes and drifts, worst first: regressions, then other changes that stand, then those that do not. The caller
 * frees *out, also on failure. */
struct status history_sinks_list(const struct history *, struct history_item **out, size_t *count);
/* "slower", "faster", "slower, reverted", "drifts". */
const char *history_sinks_word(const struct history_item *);
/* The change in percent: "+3.1 %". */
enum { HISTORY_PERCENT_MAX = 32 };
void history_sinks_percent(double shift, char out[HISTORY_PERCENT_MAX]);
/* "3 series of 2 cases in 40 runs, 2026-01-02 to 2026-03-04; 1 file left out", and the answer: "1 is slower". */
enum { HISTORY_LINE_MAX = 512 };
void history_sinks_counts(const struct history *, char out[HISTORY_LINE_MAX]);
void history_sinks_answer(const struct history *, char out[HISTORY_LINE_MAX]);
