/* The files that a command writes: probed before any work, written at its end. */
#ifndef ATTNBENCH_CLI_COMMAND_OUTPUTS_H
#define ATTNBENCH_CLI_COMMAND_OUTPUTS_H

#include "cli/command/outcome.h"

/* Can every output be written, each to a file of its own? */
struct status outputs_probe(const struct options *);
/* Every report that was asked for, or the table on stdout. *outcome is what its rows ask for. */
struct status outputs_write(const struct options *, const struct journal_data *, struct outcome *outcome);
/* Is any report asked for? */
bool outputs_is_report_wanted(const struct options *);
/* The comparison to every output that was asked for, and as text on stdout unless an output goes there. */
struct status outputs_write_compare(const struct options *, const struct compare *);

#endif
