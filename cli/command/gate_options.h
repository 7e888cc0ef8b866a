/* What the command line and the sweep say of how a comparison judges. */
#ifndef ATTNBENCH_CLI_COMMAND_GATE_OPTIONS_H
#define ATTNBENCH_CLI_COMMAND_GATE_OPTIONS_H

#include "cli/gate/compare.h"
#include "cli/options/options.h"
#include "cli/sweep/cells.h"

/* The gate's settings, from the command line over those of the sweep that the base measured: a new report does not
 * choose how much slower it may be. .paired is false. STATUS_USAGE when a glob of the command line matches no cell of
 * `now`, unless --only picked the cells. */
struct status gate_options_settings(const struct options *, const struct journal_data *base,
                                    const struct journal_data *now, struct compare_settings *out);
/* The same of the globs, before cells are measured, of which there is at least one. */
struct status gate_options_check(const struct options *, const struct cells *);

#endif
