/* Compares the time that the processes of a side report of themselves with the time that `ab` saw them take. The
 * program that is judged measures itself, so only a view from outside shows that its clock is wrong. Also compares
 * how busy other processes kept the processors beside the two sides. */
#pragma once

#include "cli/gate/compare.h"

/* WITNESS(name, text, share, seconds): one kind of time seen from outside. The two sides may differ by these seconds
 * plus a share of the new side's mean time: of `journal` for `journal`, of `process` for the others. `journal` is the
 * time from the first line of a journal to its last one. `process` also contains the start and the end of the
 * process, which a busy machine delays; but no process can hide time in it by writing its journal late. `others` is
 * the processor time of other processes of the control group, meanwhile, and `all` that of all processes; both may be
 * NAN. Where all processors are busy, a side that uses more of them leaves less to others. So loads count as unlike
 * only if the sides differ in both. What is compared is processor time per second of the process. */
#define WITNESS_MAP(X)                            \
  X(journal, "growth of the journals", 0.05, 0.1) \
  X(process, "time of the processes", 0.25, 0.5)  \
  X(others, "load of other processes", 0.5, 0.5)  \
  X(all, "load of all processes", 0.5, 0.5)

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
  struct witness_side base, now; /* pairs of processes: as many of either side, in the same order */
};

/* Adds what a process says: the duration of its run, or the sum of its samples where that is longer. */
void witness_add(struct witness_side *, const struct journal_data *told, const double seen_s[WITNESS_COUNT]);

/* Whether the mean of the pairs so far is beyond what is allowed, whatever their scatter: more pairs are needed to
 * decide. */
bool witness_doubts(const struct witness *);

/* Adds a fatal difference to the comparison where the new side reports less, or more, of its time than the base does:
 * by more than is allowed in the mean of the pairs, and by more than their scatter explains. */
void witness_judge(const struct witness *, struct compare *);
