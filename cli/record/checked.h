/* What the check of an `ok` cell must have looked at. Pure. */
#pragma once

#include "cli/record/record.h"

/* NULL, or why an `ok` cell cannot have been checked like this: something that was found wrong, or fewer elements,
 * rows, launches or samples than a check of its shape looks at. `is_capture`: the cell was launched for a profiler,
 * and checked once. */
const char *checked_problem(const struct record *, bool is_capture);

/* Did this check look at less than the one of `base`, a check of the same cell? */
bool checked_is_weaker(const struct check_record *, const struct check_record *base);
