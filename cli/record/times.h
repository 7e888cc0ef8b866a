/* Times that were entered by hand, from a paper or another tool, so that attnbench can diagnose them (format
 * attnbench.times/1, results/format.md). attnbench did not check the results, and the report says so. */
#pragma once

#include "cli/base/json.h"
#include "cli/record/journal.h"

#define TIMES_SCHEMA "attnbench.times/1"

/* A row with a time gets the status `ok`, a row without one `planned`. The launch geometry is as given, or that of
 * the variant named by "like", or not known. STATUS_INPUT names the place. On success the caller frees with
 * journal_free. */
struct status times_read(const struct json_doc *, struct journal_data *out);
