/* Measures rows again in fresh processes before their verdict is final.
 *
 * A row that is regressed (or needs more cycles) remains so only when the fresh processes alone give that verdict
 * too, since its first measurement was selected for being slow. A row that is undecided is judged by all its
 * measurements, and is regressed only when the fresh processes alone are regressed as well; this is repeated up to
 * COMPARE_LOOKS_MAX times. Times that are not fit for a verdict (judge_unfit) are left out. All cases together are
 * treated as a row. */
#pragma once

#include "cli/gate/compare.h"

/* Whether this row has to be measured again before its verdict is final. */
bool confirm_wants(const struct compare_row *);
/* Whether any row has to, or all cases together. */
bool confirm_wants_any(const struct compare *);
/* Whether all cases together have to, so that the whole sweep is measured again. */
bool confirm_wants_all(const struct compare *);

/* Adds one more measurement of the rows that need it and judges them again. `fresh` compares only the fresh
 * processes, with the same settings, and may hold more cells. When paired, its base is measured again too; else it is
 * the same data. *fresh may be freed afterwards; its rows are put in another order. */
struct status confirm_add(struct compare *, struct compare *fresh);
