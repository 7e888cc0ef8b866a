/* Can two reports be compared at all, and may a report be a baseline? */
#ifndef ATTNBENCH_CLI_GATE_IDENTITY_H
#define ATTNBENCH_CLI_GATE_IDENTITY_H

#include "cli/gate/compare.h"

/* Fills difference and comparable. */
void identity_compare(struct compare *);

/* May this report be the base of `--baseline`? STATUS_NOT_COMPARABLE with what is wrong and how to make a better one:
 * unfinished, of a tree with uncommitted changes, profiled, or fewer than COMPARE_BASELINE_MIN processes. `path`
 * leads the message. */
struct status identity_check_baseline(const char *path, const struct journal_data *);

#endif
