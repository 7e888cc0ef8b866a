/* What the gate is worth on one machine: its false alarms and the slowdowns that it finds, by drawing suites from the
 * processes that were measured there and giving them to the very comparison. Pure: the same evidence and seed give
 * the same numbers.
 *
 * A suite takes `rounds` processes for each side, disjoint and always the whole process, so that what a process has
 * in common over its cells stays. Paired sides take neighbours in time, in random order, as `attnbench ab` measures
 * them. The second measurement takes processes that the first left over when there are enough; else it draws again
 * from all, as every later one does. */
#ifndef ATTNBENCH_CLI_GATE_POWER_H
#define ATTNBENCH_CLI_GATE_POWER_H

#include "cli/gate/compare.h"

/* Slowdowns are tried in steps of this, up to COMPARE_POWER_STEPS of them. */
#define COMPARE_POWER_STEP 0.0025
enum { COMPARE_POWER_STEPS = 80 };

struct compare_power_settings {
  struct compare_settings compare; /* .paired: as `ab`; else as `--baseline` */
  uint32_t rounds;                 /* processes per side of a suite */
  uint32_t suites;                 /* without any change, for the false alarms */
  uint32_t trials;                 /* per case and slowdown; 0: false alarms only */
  uint64_t seed;
};

/* One case x variant x mode, with its own times multiplied and nothing else changed. */
struct compare_power_row {
  const char *key, *variant; /* point into the evidence */
  enum time_mode mode;
  double median_us, spread_ratio;          /* over the processes */
  double threshold;                        /* that applied */
  uint64_t false_alarms;                   /* suites in which it failed although nothing changed */
  uint64_t inconclusive;                   /* or did not decide, the clock included */
  double found_2_percent, found_3_percent; /* share of the slowdowns of that size that were found */
  double slowdown_80, slowdown_99; /* smallest slowdown found in 80 % and 99 % of the trials, 0.02 = 2 %; NAN: none */
};

struct compare_power {
  struct compare_power_settings settings;
  uint32_t processes;
  bool leftover; /* the second measurement took processes that the first left over */
  struct compare_power_row *rows;
  size_t row_count;
  uint64_t suites, failed, undecided; /* suites of A/A that failed, or did not decide */
  uint64_t suite_failed;              /* of these, because of all cases together */
  double uniform_1_percent;           /* share found when all cases are 1 % slower; NAN: too few rows or no trials */
  double failed_upper, undecided_upper;    /* 95 % upper bounds of the rates, as far as drawing more suites goes */
  double least_2_percent, least_3_percent; /* found of the case that is found least, each in its better mode */
};

/* STATUS_NOT_COMPARABLE when the evidence does not carry it: fewer than 2 x rounds processes, cells with unequal
 * numbers of them, nothing timed. `path` leads the message. The evidence must outlive *out; free with
 * power_free. */
struct status power_measure(const char *path, const struct journal_data *evidence,
                            const struct compare_power_settings *, struct compare_power *out);
void power_free(struct compare_power *);

/* One-sided 95 % upper bound of a rate of which `hits` of n were seen (Clopper and Pearson). */
double power_upper(uint64_t hits, uint64_t n);

/* A real slowdown: put into one cell of a candidate that is otherwise the base, and given to a real gate run. */
struct compare_power_control {
  const char *key, *variant; /* point into the evidence */
  enum time_mode mode;
  double percent;        /* that was asked for */
  double injected_ratio; /* time with the slowdown over time without, in turns; NAN: it could not be put in, so this
                          * is no control */
  double time_ratio;     /* the gate run's estimate; NAN likewise */
  enum compare_verdict verdict;
  char reason[COMPARE_TEXT_MAX]; /* of the verdict, or why it could not be put in */
};
bool power_is_control(const struct compare_power_control *);
bool power_is_found(const struct compare_power_control *);

/* What is written: one or several measurements of the same evidence (paired, unpaired), and the controls. */
struct compare_power_report {
  const struct journal_data *evidence;
  const struct compare_power *power;
  size_t power_count;
  const struct compare_power_control *control;
  size_t control_count;
};

/* The table for people, and attnbench.selftest/1; the cases of the first measurement. */
struct status power_text_write(const struct compare_power_report *, FILE *);
struct status power_json_write(const struct compare_power_report *, FILE *);

#endif
