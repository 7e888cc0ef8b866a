/* The failed cells of a run in one line, for a reader who sees only the end of a log. */
#pragma once

#include "cli/record/record.h"

enum { FAILURES_TEXT_MAX = 1280 };

/* Writes "2 of 4 cells failed (1 implausible, 1 timeout), first: KEY VARIANT: reason". `expected` is the number of
 * cells of the run; missing records are counted too. A cell failed when its status has an exit code other than 0;
 * where all of them were left out they "have no result". The named cell is the first `wrong` one, else the first that
 * failed. "" when no cell failed and none is missing. */
void failures_text(const struct record *, size_t count, uint64_t expected, char out[FAILURES_TEXT_MAX]);
