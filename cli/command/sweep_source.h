/* What a command line measures: a sweep file, a shipped sweep, or shapes. */
#ifndef ATTNBENCH_CLI_COMMAND_SWEEP_SOURCE_H
#define ATTNBENCH_CLI_COMMAND_SWEEP_SOURCE_H

#include "cli/options/options.h"
#include "cli/sweep/sweep.h"

/* Verbs that start attnbench again, each time with the sweep: one that comes on stdin is kept in memory, under a path
 * that those processes can open too. Call it once, before the verb. */
struct status sweep_source_keep(struct options *);
/* On success the caller frees with sweep_free. */
struct status sweep_source_load(const struct options *, struct sweep *out);

#endif
