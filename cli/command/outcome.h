/* The outcome of a verb that was not stopped by a failure: its exit code, and the reason for any code but 0 in one
 * line. */
#pragma once

#include "cli/gate/compare.h"
#include "cli/options/options.h"
#include "cli/record/failures.h"
#include "cli/report/report.h"

struct outcome {
  enum exit_code code;
  char why[FAILURES_TEXT_MAX]; /* empty when code is 0 */
};

/* The outcome that the cells of the report ask for. */
void outcome_of_report(const struct report *, struct outcome *out);
/* The outcome of a comparison. `code` is its exit code, or the worse one that cells of the new report ask for. */
void outcome_of_compare(const struct compare *, enum exit_code code, struct outcome *out);

/* Prints one line to the stream: the reason, and which of the outputs that the options name have the details. The
 * text of `failure`, if a failure stopped the verb, comes first. Prints nothing for exit code 0 without a failure. */
void outcome_print(const struct outcome *, const struct status *failure, const struct options *, FILE *);
