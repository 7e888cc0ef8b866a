/* The cells to be measured again before the verdicts of a comparison are final (confirm.h): those of the rows that
 * need it, or every cell when all cases together need it. */
#pragma once

#include "cli/gate/compare.h"

struct suspects {
  char (*text)[CELL_NAME_MAX];
  const char **only; /* "KEY/VARIANT", each cell once; points into text */
  size_t count;
};

/* On success the caller frees with suspects_free. */
struct status suspects_of(const struct compare *, struct suspects *out);
/* The cells that a measurement in steps goes on with: those with a row that is open (compare_is_open). */
struct status suspects_open(const struct compare *, struct suspects *out);
void suspects_free(struct suspects *);

/* The worse one of the exit codes of the comparison and of the new report's cells: a failed cell fails the gate even
 * when the base does not have it. Worst first: 6, 3, 4, 1, 5, 0. */
enum exit_code suspects_exit_code(const struct compare *);
