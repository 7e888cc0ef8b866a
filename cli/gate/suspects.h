/* The cells that a comparison wants to see measured again before its verdicts stand: those of rows that want it, and
 * every cell when all cases together do. */
#ifndef ATTNBENCH_CLI_GATE_SUSPECTS_H
#define ATTNBENCH_CLI_GATE_SUSPECTS_H

#include "cli/gate/compare.h"

struct suspects {
  char (*text)[CELL_NAME_MAX];
  const char **only; /* "KEY/VARIANT", each cell once; points into text */
  size_t count;
};

/* On success the caller frees with suspects_free. */
struct status suspects_of(const struct compare *, struct suspects *out);
void suspects_free(struct suspects *);

/* The exit code of the comparison, or of the new report's cells where that is worse: a failed cell fails the gate
 * even when it is compared with nothing. Worst first: 6, 3, 4, 1, 5, 0. */
enum exit_code suspects_exit_code(const struct compare *);

#endif
