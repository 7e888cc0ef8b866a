/* How a verb ended that did its work: its exit code, and for any but 0 why, in words that fit one line of a log. */
#ifndef ATTNBENCH_CLI_COMMAND_OUTCOME_H
#define ATTNBENCH_CLI_COMMAND_OUTCOME_H

#include "cli/gate/compare.h"
#include "cli/options/options.h"
#include "cli/record/failures.h"
#include "cli/report/report.h"

struct outcome {
  enum exit_code code;
  char why[FAILURES_TEXT_MAX]; /* empty when code is 0 */
};

/* What the report's cells ask for. */
void outcome_of_report(const struct report *, struct outcome *out);
/* What the comparison asks for. `code` is its own exit code, or a worse one that cells of the new report ask for. */
void outcome_of_compare(const struct compare *, enum exit_code code, struct outcome *out);

/* The line on stderr: why, and in which of the outputs that the options name the rest is. `failure` is what stopped
 * the verb, if anything did; its text leads. Prints nothing when there is nothing to say. */
void outcome_print(const struct outcome *, const struct status *failure, const struct options *, FILE *);

#endif
