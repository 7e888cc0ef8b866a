/* Rows that still moved while they were measured: ratios that were not steady, and times that were taken at another
 * clock than the ratio. */
#ifndef ATTNBENCH_CLI_REPORT_UNSTEADY_H
#define ATTNBENCH_CLI_REPORT_UNSTEADY_H

#include <stdio.h>

#include "cli/report/report.h"

/* Did the ratio to the reference move by more than RATIO_DRIFT_MOST while it was measured? Where that is not known:
 * no.
 */
bool unsteady_ratio(const struct ratio_record *);

/* Clock of the hot ratio over that of the hot time: below 1 the time was taken at a clock that the GPU does not keep
 * under this load. NAN where one of them is not known. */
double unsteady_clock(const struct record *);

/* One paragraph each, where there are such rows; the first explains the mark of their ratios. */
void unsteady_print(FILE *, const struct report *);

#endif
