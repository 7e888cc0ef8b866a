/* The cells that a comparison wants to see measured again before its verdicts stand. */
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

/* What the comparison asks for, or the cells of the new report when that is worse: a failed cell fails the gate even
 * where nothing is compared with it. Worst first: 6, 3, 4, 1, 5, 0. */
enum exit_code suspects_exit_code(const struct compare *);

#endif
