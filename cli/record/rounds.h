/* Journals of several rounds that measured the same cells with the same program, folded into the evidence of
 * all of them (record.process). Pure. */
#ifndef ATTNBENCH_CLI_RECORD_ROUNDS_H
#define ATTNBENCH_CLI_RECORD_ROUNDS_H

#include "cli/record/journal.h"

/* Adds `next`, the journal of one more round, to `into`, which began as the journal of the first. Fails closed:
 * what one round found wrong or did not measure is so in `into`, with "round N: " before the reason.
 * STATUS_NOT_COMPARABLE when the two cannot be of one series: another device, sweep, seed or program, or other cells;
 * into is then not to be used. */
struct status rounds_add(struct journal_data *into, const struct journal_data *next);

#endif
