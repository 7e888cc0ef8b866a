/* Times entered by hand (attnbench.times/1, results/README.md): a table from a paper or a colleague as if attnbench
 * had measured it, so that it can be diagnosed. Nothing in it was checked by attnbench, and its report says so. */
#ifndef ATTNBENCH_CLI_RECORD_TIMES_H
#define ATTNBENCH_CLI_RECORD_TIMES_H

#include "cli/base/json.h"
#include "cli/record/journal.h"

#define TIMES_SCHEMA "attnbench.times/1"

/* Rows with a time are `ok`, without one `planned`; geometry is as given, or planned from the registry ("like"), or
 * not known. STATUS_INPUT names the place. On success the caller frees with journal_free. */
struct status times_read(const struct json_doc *, struct journal_data *out);

#endif
