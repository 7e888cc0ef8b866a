/* What is measured again, in fresh processes, before a verdict stands.
 *
 * A row that is regressed (or needs more cycles) stays so only when the fresh processes alone say so too: its first
 * measurement was picked for being slow. A row that is undecided is judged over all that was measured of it, and is
 * regressed only when the fresh processes alone are as well; this is repeated up to COMPARE_LOOKS_MAX times. Times
 * that were not fit are left out. All cases together are treated as a row. */
#ifndef ATTNBENCH_CLI_GATE_CONFIRM_H
#define ATTNBENCH_CLI_GATE_CONFIRM_H

#include "cli/gate/compare.h"

/* Should this row be measured again before its verdict stands? */
bool confirm_wants(const struct compare_row *);
/* The same by its verdict, and how often it was measured again. */
bool confirm_wants_more(enum compare_verdict, uint32_t looks);
/* Any of them; and whether that must be the whole sweep, for all cases together. */
bool confirm_wants_any(const struct compare *);
bool confirm_wants_all(const struct compare *);

/* Takes one more measurement of the rows that wanted it. `fresh` compares fresh processes only, of these cells or
 * more, with the same settings; its base is new too when paired, and the same data when not. Copies what it needs. */
struct status confirm_add(struct compare *, const struct compare *fresh);

#endif
