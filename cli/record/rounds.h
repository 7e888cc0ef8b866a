/* Merges the journals of several rounds that measured the same cells with the same program: the times of all rounds
 * go into record.process. Pure. */
#pragma once

#include "cli/record/journal.h"

/* Adds `next`, the journal of one more round, to `into`, which began as the journal of the first round. A cell that
 * any round found wrong or did not measure is so in `into`, with "round N: " before the reason. STATUS_NOT_COMPARABLE
 * when device, sweep, seed, program or cells differ; `into` must not be used then. A round may have measured only
 * `cells` of the cells: the others keep the rounds that they have. */
struct status rounds_add(struct journal_data *into, const struct journal_data *next, size_t cells);
