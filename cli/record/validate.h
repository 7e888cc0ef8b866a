/* Checks that a loaded journal or report is consistent, so that attnbench can have written it. Pure. */
#pragma once

#include "cli/record/journal.h"

/* Can this be the median of a report: at least a nanosecond and at most a day? */
bool validate_is_time(double us);

/* NULL, or what is wrong with the times of a later round of a cell on this device. */
const char *validate_round(const struct record *, const struct device_info *);

/* STATUS_INPUT names the file, the cell and the problem: an `ok` cell whose check failed, is missing or looked at too
 * little (checked.h), a device or clock that the table of GPUs excludes, an impossible time, statistics that are out
 * of order or not those of the samples, a cell without a speed that was measured, processes that contradict the
 * cell's own time or the rounds of the run, parts that last longer than the whole, an unknown state of the run, or
 * more cells than the run has. In times that were entered by hand (a report without a start) no check is expected. */
struct status validate_data(const char *path, const struct journal_data *);

/* Checks that the counts in a report's "summary" are those of its results. STATUS_INPUT names the place. */
struct status validate_summary(const struct json_doc *, const struct journal_data *);
