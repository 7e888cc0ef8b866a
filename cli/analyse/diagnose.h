/* Why a row is slow: findings, each a measured fact, what it means and one concrete change. Pure: works on a saved
 * report as well as on a fresh one. */
#ifndef ATTNBENCH_CLI_ANALYSE_DIAGNOSE_H
#define ATTNBENCH_CLI_ANALYSE_DIAGNOSE_H

#include "cli/analyse/finding.h"
#include "cli/analyse/scaling.h"

/* Rows of other reports of the same device, in which advice is looked up too. */
struct diagnose_evidence {
  const struct record *records;
  const struct metrics *metrics;
  size_t count;
  const char *source; /* the file they come from */
};

/* Where a row has counters (record.h), findings quote these instead of what launch, times and traffic model let one
 * infer, and say which profiler counted; bank_conflicts and uncoalesced come from counters alone.
 *
 * Findings of row `index`. records, metrics and scaling (scaling_of) belong together; a row of a scaling group is
 * held against that group's baseline, and advice against rows of the same case that follow it: where such a row is
 * faster, its time is quoted; where it is slower, nothing is advised. `elsewhere`, which may be NULL, has more such
 * rows. Every finding appears at most once, about the
 * pass where it is worst. Rows without a launch plan get none about geometry, and only rows with status ok get
 * findings that speak of time. `device` is that of the row; every finding is about a GPU, so a row that a CPU
 * measured has none. */
void diagnose(const struct record *records, const struct metrics *metrics, const struct scaling *scaling,
              size_t count, size_t index, const struct device_info *, const struct diagnose_evidence *elsewhere,
              struct findings *out);

/* The order of findings of one row, and of those of several: more microseconds first, then severity, then as
 * declared. Negative when `a` comes first. */
int diagnose_order(const struct finding *a, const struct finding *b);

#endif
