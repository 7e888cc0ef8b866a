/* What the gate is worth on one machine: its false alarms and the slowdowns that it finds, by drawing suites from the
 * processes that were measured there (draws.h) and judging them as the comparison does (drawn.h, trial.h). Pure: the
 * same evidence and seed give the same numbers.
 *
 * One draw serves every row and every size of slowdown, and no more rows are judged for any rate than keeps the time
 * linear: with many rows there are fewer gates, down to the fewest below. How many there were is told with each rate.
 */
#ifndef ATTNBENCH_CLI_GATE_POWER_H
#define ATTNBENCH_CLI_GATE_POWER_H

#include "cli/gate/compare.h"

/* Slowdowns are tried in steps of this, up to COMPARE_POWER_STEPS of them. */
#define COMPARE_POWER_STEP 0.0025
enum { COMPARE_POWER_STEPS = 80, POWER_STEP_2_PERCENT = 8, POWER_STEP_3_PERCENT = 12 };

/* Fewest drawn gates, however many rows there are: for the false alarms, and for the slowdowns of each row. */
enum { POWER_SUITES_LEAST = 20, POWER_TRIALS_LEAST = 200 };

struct compare_power_settings {
  struct compare_settings compare; /* .paired: as `ab`; else as `--baseline` */
  uint32_t rounds;                 /* processes per side of a suite */
  uint32_t suites;                 /* at most, for the false alarms and for all cases slower */
  uint32_t trials;                 /* at most, per row; 0: false alarms only */
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
  uint64_t suites, failed, undecided;                /* suites of A/A that failed, or did not decide */
  uint64_t suite_failed;                             /* of these, because of all cases together */
  uint32_t trials;                                   /* gates that each share of a row is of */
  uint64_t rows_tried;                               /* rows with such shares; the others' are NAN */
  uint64_t uniform_suites, uniform_found;            /* with all cases 1 % slower */
  double uniform_1_percent, uniform_1_percent_lower; /* share of them; NAN: too few rows or no trials */
  double failed_upper, undecided_upper;    /* 95 % upper bounds of the rates, as far as drawing more suites goes */
  double least_2_percent, least_3_percent; /* found of the case that is found least, each in its better mode */
  double least_2_percent_lower, least_3_percent_lower; /* 95 % lower bounds of these */
};

/* STATUS_NOT_COMPARABLE when the evidence does not carry it: fewer than 2 x rounds processes, cells with unequal
 * numbers of them, nothing timed. `path` leads the message. The evidence must outlive *out; free with
 * power_free. */
struct status power_measure(const char *path, const struct journal_data *evidence,
                            const struct compare_power_settings *, struct compare_power *out);
void power_free(struct compare_power *);

/* One-sided 95 % upper bound of a rate of which `hits` of n were seen (Clopper and Pearson). */
double power_upper(uint64_t hits, uint64_t n);
/* The lower one. */
double power_lower(uint64_t hits, uint64_t n);

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
