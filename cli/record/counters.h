/* Counter files: a profiler's counters for the cells of a report, written by scripts/profile_sweep.py. The format is
 * documented in results/format.md. */
#pragma once

#include "cli/base/json.h"
#include "cli/record/journal.h"

#define COUNTERS_SCHEMA "attnbench.counters/1"

/* Fills the counters of the rows that the document names; other rows keep theirs. Each named row must exist in *into,
 * be `ok` and have as many passes, with the same grids and blocks. On STATUS_INPUT, which names the place, *into must
 * not be used any more. */
struct status counters_read(const struct json_doc *, struct journal_data *into);
