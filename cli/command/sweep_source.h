/* What a command line measures: a sweep file, a shipped sweep, or shapes. */
#ifndef ATTNBENCH_CLI_COMMAND_SWEEP_SOURCE_H
#define ATTNBENCH_CLI_COMMAND_SWEEP_SOURCE_H

#include "cli/options/options.h"
#include "cli/sweep/sweep.h"

/* On success the caller frees with sweep_free. */
struct status sweep_source_load(const struct options *, struct sweep *out);

#endif
