/* Which measured processes a drawn gate compares. A suite takes `rounds` processes for each side, disjoint and always
 * the whole process, so that what a process has in common over its cells stays. Pairs take neighbours in time, in
 * random order, as `attnbench ab` measures them. The second measurement takes processes that the first left over when
 * there are enough; else it draws again from all, as every later one does. Of two samples only the new side is
 * measured again. Pure: the same seed draws the same. */
#ifndef ATTNBENCH_CLI_GATE_DRAWS_H
#define ATTNBENCH_CLI_GATE_DRAWS_H

#include "cli/gate/compare.h"

/* The first measurement and those that may follow it. */
enum { DRAWS_LOOKS = 1 + COMPARE_LOOKS_MAX, DRAWS_ROUNDS_MAX = PROCESSES_MAX / 2 };

/* What is drawn from, and the state of chance. 2 x rounds <= processes <= PROCESSES_MAX. */
struct draws_source {
  bool paired;
  uint32_t processes, rounds;
  uint64_t random;
};

/* Numbers of processes, by measurement and observation. */
struct draws {
  uint8_t base[DRAWS_LOOKS][DRAWS_ROUNDS_MAX], now[DRAWS_LOOKS][DRAWS_ROUNDS_MAX];
};

void draws_next(struct draws_source *, struct draws *out);
/* Does the second measurement take processes that the first left over? */
bool draws_leave_over(const struct draws_source *);

#endif
