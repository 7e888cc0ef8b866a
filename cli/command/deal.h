/* Deals the cells of a run to its cards: whoever is free takes the next case, large ones first. */
#ifndef ATTNBENCH_CLI_COMMAND_DEAL_H
#define ATTNBENCH_CLI_COMMAND_DEAL_H

#include "cli/command/progress.h"
#include "cli/command/run.h"

/* All rounds of run->cells with run->fleet, into the run's journal. The cells of one case go to one card, and later
 * rounds of a cell to the card of its first. A card whose worker does not start any more is told of and gets nothing
 * more; what it had not begun goes to the others. STATUS_COVERAGE when the later rounds of its cells are missing in
 * the end, and the failure of the last card when none is left. */
struct status deal_rounds(struct run *, struct progress *);

#endif
