/* --baseline FILE: the gate over a finished run. */
#ifndef ATTNBENCH_CLI_COMMAND_BASELINE_H
#define ATTNBENCH_CLI_COMMAND_BASELINE_H

#include "cli/command/outcome.h"
#include "cli/command/run.h"

/* Compares `now` with the baseline as two samples, measures suspects again, writes the comparison. */
struct status baseline_judge(struct run *, const struct journal_data *base, const struct journal_data *now,
                             struct outcome *outcome);

#endif
