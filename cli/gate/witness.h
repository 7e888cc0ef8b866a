/* Compares what the processes of a side say of their own time with what was seen from outside. A program that is
 * judged measures itself, so a clock of its own would go unseen otherwise. */
#pragma once

#include "cli/gate/compare.h"

/* WITNESS(name, in words, the part of what was seen and the seconds by which the two sides may differ). The journal
 * grows from a run's first line to its last. A process also starts and ends, which a busy machine delays, but it
 * cannot write late what it did before. */
#define WITNESS_MAP(X)                            \
  X(journal, "growth of the journals", 0.05, 0.1) \
  X(process, "time of the processes", 0.25, 0.5)

enum witness_kind {
#define WITNESS_ENUM(name, words, share, seconds) WITNESS_##name,
  WITNESS_MAP(WITNESS_ENUM)
#undef WITNESS_ENUM
      WITNESS_COUNT
};

struct witness_side {
  uint32_t count;
  double told_s[PROCESSES_MAX], seen_s[WITNESS_COUNT][PROCESSES_MAX];
};

struct witness {
  struct witness_side base, now; /* of pairs of processes: of both equally many, in one order */
};

/* Adds what a process says: the duration of its run, or the sum of its samples where that is longer. */
void witness_add(struct witness_side *, const struct journal_data *told, const double seen_s[WITNESS_COUNT]);

/* Whether the mean of any number of pairs, however it scatters, is beyond what is allowed: more pairs have to tell.
 */
bool witness_doubts(const struct witness *);

/* Adds a fatal difference where the new side hides, or makes up, more time than the base does: in the mean of the
 * pairs by more than is allowed, and by more than their scatter explains. */
void witness_judge(const struct witness *, struct compare *);
