/* Is a loaded journal or report one that attnbench can have written? What is read is evidence, and evidence that
 * contradicts itself is none. Pure. */
#ifndef ATTNBENCH_CLI_RECORD_VALIDATE_H
#define ATTNBENCH_CLI_RECORD_VALIDATE_H

#include "cli/record/journal.h"

/* Is it a median that a report may have? A nanosecond to a day. */
bool validate_is_time(double us);

/* STATUS_INPUT names the file, the cell and what is wrong with it: an `ok` cell whose check is not right or is
 * missing, a time or a clock that cannot be, quantiles out of order, no samples, a process without a time,
 * processes that contradict the cell's own time, a run in an unknown state or with other cells than it says. Of times
 * entered by hand (a report without a start) nothing was checked, so nothing is asked of their checks. */
struct status validate_data(const char *path, const struct journal_data *);

/* Of a report: are the counts of its "summary" those of its results? STATUS_INPUT names the place. */
struct status validate_summary(const struct json_doc *, const struct journal_data *);

#endif
