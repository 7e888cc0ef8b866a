/* The files that a command writes: probed before any work, written at its end. */
#ifndef ATTNBENCH_CLI_COMMAND_OUTPUTS_H
#define ATTNBENCH_CLI_COMMAND_OUTPUTS_H

#include "cli/command/outcome.h"

/* Can every output be written, each to a file of its own? */
struct status outputs_probe(const struct options *);
/* Is what people read printed on stdout? Not with --quiet, not when an output goes there, and not when stdout is
 * closed and there are outputs elsewhere. */
bool outputs_is_text_wanted(const struct options *);
/* Every report that was asked for, and the table on stdout. *outcome is what its rows ask for. One that cannot be
 * written takes no other one with it: what was measured for them is not measured again. */
struct status outputs_write(const struct options *, const struct journal_data *, struct outcome *outcome);
/* The same without the table. */
struct status outputs_write_files(const struct options *, const struct journal_data *, struct outcome *outcome);
/* Is any report asked for? */
bool outputs_is_report_wanted(const struct options *);
/* The comparison to every output that was asked for, and as text on stdout. */
struct status outputs_write_compare(const struct options *, const struct compare *);

#endif
