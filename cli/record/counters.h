/* Counter files: what a profiler counted of the cells of a report, as scripts/profile_sweep.py writes it. The format
 * is in results/README.md. */
#ifndef ATTNBENCH_CLI_RECORD_COUNTERS_H
#define ATTNBENCH_CLI_RECORD_COUNTERS_H

#include "cli/base/json.h"
#include "cli/record/journal.h"

#define COUNTERS_SCHEMA "attnbench.counters/1"

/* Gives the rows of the report what the document says of them; rows that it does not name keep what they have. Every
 * row it names must be there and `ok`, with as many passes, of the same grids and blocks. STATUS_INPUT names the
 * place; *into is then not to be used. */
struct status counters_read(const struct json_doc *, struct journal_data *into);

#endif
