/* The sweep that a command line names: a file, a shipped sweep, or shapes. */
#pragma once

#include "cli/options/options.h"
#include "cli/sweep/sweep.h"

/* Copies a sweep that comes on stdin into memory and replaces its path in the options by one that child processes can
 * open too, for verbs that start attnbench several times. Call it once, before the verb. */
struct status sweep_source_keep(struct options *);
/* Reads the sweep. On success the caller frees with sweep_free. */
struct status sweep_source_load(const struct options *, struct sweep *out);
