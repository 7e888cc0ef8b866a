/* Distributes the cells of a run over its cards: a card that is free measures the next case, large cases first. */
#pragma once

#include "cli/command/progress.h"
#include "cli/command/run.h"

/* Measures all rounds of run->cells with run->fleet and writes them to the run's journal. The cells of one case go to
 * one card, and later rounds of a cell go to the card of its first round. When the worker of a card cannot be started
 * again, stderr says so, and the other cards measure the cells that this card had not begun. STATUS_COVERAGE when
 * later rounds of the cells that it had begun are missing at the end. When no card is left, returns the failure of
 * the last one. */
struct status deal_rounds(struct run *, struct progress *);
