/* The settings of a comparison, from the command line and from the sweep. */
#pragma once

#include "cli/gate/compare.h"
#include "cli/options/options.h"
#include "cli/sweep/cells.h"

/* Fills the gate's settings. The command line overrides the sweep of the base. The sweep of the new report has no
 * influence, so that it cannot choose how much slower the new report may be. .paired is false. STATUS_USAGE when a
 * glob of the command line matches no cell of `now`, unless --only picked the cells. */
struct status gate_options_settings(const struct options *, const struct journal_data *base,
                                    const struct journal_data *now, struct compare_settings *out);
/* The same check of the globs against the cells to be measured, at least one, before any of them is measured. */
struct status gate_options_check(const struct options *, const struct cells *);
