/* What failed among the cells of a run, in one line for whoever sees no more than the end of a log. */
#ifndef ATTNBENCH_CLI_RECORD_FAILURES_H
#define ATTNBENCH_CLI_RECORD_FAILURES_H

#include "cli/record/record.h"

enum { FAILURES_TEXT_MAX = 1024 };

/* "2 of 4 cells failed (1 implausible, 1 timeout), first: KEY VARIANT: reason", and how many of `expected` there are
 * no records of; "" when each is there and none asks for an exit code. Named is the first cell that is wrong, else
 * the first that failed. */
void failures_text(const struct record *, size_t count, uint64_t expected, char out[FAILURES_TEXT_MAX]);

#endif
