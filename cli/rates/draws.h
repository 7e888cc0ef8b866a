/* Draws the measured processes that a resampled gate compares. Each side gets `rounds` processes, and no process is
 * on both sides. A process is drawn with all its cells, so that effects common to its cells are kept. A pair consists
 * of two processes that ran one after the other, in random order, as in `attnbench ab`. The second measurement uses
 * processes that the first did not use when there are enough; otherwise it draws from all again, as every later
 * measurement does. Of two samples only the new side is drawn again. Pure: the same seed gives the same draws. */
#pragma once

#include "cli/gate/compare.h"

/* The first measurement and those that may follow it. */
enum { DRAWS_LOOKS = 1 + COMPARE_LOOKS_MAX, DRAWS_ROUNDS_MAX = PROCESSES_MAX / 2 };

/* The processes to draw from, and the state of the random numbers. 2 x rounds <= processes <= PROCESSES_MAX. */
struct draws_source {
  bool paired;
  uint32_t processes, rounds;
  uint64_t random;
};

/* Indices of processes, by measurement and observation. */
struct draws {
  uint32_t rounds;
  uint8_t base[DRAWS_LOOKS][DRAWS_ROUNDS_MAX], now[DRAWS_LOOKS][DRAWS_ROUNDS_MAX];
};

void draws_next(struct draws_source *, struct draws *out);
/* Whether the second measurement uses processes that the first did not use. */
bool draws_leave_over(const struct draws_source *);
