/* What gates are drawn from: every timed cell and mode of a report of several processes, in the order of case,
 * variant and mode. */
#ifndef ATTNBENCH_CLI_GATE_POPULATION_H
#define ATTNBENCH_CLI_GATE_POPULATION_H

#include "cli/gate/trial.h"

/* Slowdowns up to this may be tried: 20 %. */
#define POPULATION_MOST_SLOWDOWN 0.2

struct population_row {
  const char *key, *variant; /* point into the report */
  enum time_mode mode;
  double median_us, spread_ratio; /* over the processes */
  double threshold;               /* that applies to such times */
};

struct population {
  uint32_t processes;
  uint32_t family; /* rows of a comparison of two such reports, timed or not */
  size_t row_count;
  struct population_row *rows;
  struct trial_row *trial; /* of the same rows */
  double *logs;            /* into which .trial points */
};

/* STATUS_NOT_COMPARABLE when the report does not carry suites of that many rounds: fewer than 2 x rounds processes,
 * cells with unequal numbers of them, a process without a time, nothing timed. `path` leads the message. The report
 * must outlive *out; free with population_close. */
struct status population_open(const char *path, const struct journal_data *, const struct compare_settings *,
                              uint32_t rounds, struct population *out);
void population_close(struct population *);

#endif
