/* The error rates of the gate on one machine: its false alarms, and the slowdowns that it finds. They are estimated
 * by resampling gates from the processes that were measured there and judging them (drawn.h). Pure: the
 * same evidence and seed give the same numbers.
 *
 * One draw is used for every row and every size of slowdown. The number of judged rows per rate is limited: with many
 * rows fewer gates are drawn, down to the minima below. Each rate comes with the number of gates behind it. */
#pragma once

#include "cli/gate/compare.h"

/* The step between the slowdowns that are tried (0.25 %); COMPARE_POWER_STEPS is their number. */
#define COMPARE_POWER_STEP 0.0025
enum { COMPARE_POWER_STEPS = 80, POWER_STEP_2_PERCENT = 8, POWER_STEP_3_PERCENT = 12 };

/* The minimum numbers of drawn gates, for the false alarms and for the slowdowns of each row. */
enum { POWER_SUITES_LEAST = 20, POWER_TRIALS_LEAST = 200 };

struct compare_power_settings {
  struct compare_settings compare; /* .paired: as `ab`; else as `--baseline` */
  uint32_t rounds;                 /* processes per side of a suite */
  uint32_t suites;                 /* at most, for the false alarms and for all cases slower */
  uint32_t trials;                 /* at most, per row; 0: false alarms only */
  uint64_t seed;
};

/* The rates of one case x variant x mode. For its slowdowns only its own times are multiplied. */
struct compare_power_row {
  const char *key, *variant; /* point into the evidence */
  enum time_mode mode;
  double median_us, spread_ratio;          /* over the processes */
  double threshold;                        /* the effective one */
  uint64_t false_alarms;                   /* suites in which it failed although nothing changed */
  uint64_t inconclusive;                   /* suites in which it was `inconclusive` or `clock` */
  double found_2_percent, found_3_percent; /* share of the slowdowns of that size that were found */
  double slowdown_80, slowdown_99; /* smallest slowdown found in 80 % and 99 % of the trials, 0.02 = 2 %; NAN: none */
};

struct compare_power {
  struct compare_power_settings settings;
  uint32_t processes;
  bool leftover; /* the second measurement used processes that the first did not use */
  struct compare_power_row *rows;
  size_t row_count;
  uint64_t suites, failed, undecided;                /* suites of A/A that failed, or did not decide */
  uint64_t pairs;                                    /* that all of these took at first */
  double pairs_of_row;                               /* that a row took part in, the sum over these */
  uint64_t suite_failed;                             /* of `failed`, those because of all cases together */
  uint32_t trials;                                   /* gates behind each share of a row */
  uint64_t rows_tried;                               /* rows that have shares; those of the other rows are NAN */
  uint64_t uniform_suites, uniform_found;            /* with all cases 1 % slower */
  double uniform_1_percent, uniform_1_percent_lower; /* share of them; NAN: too few rows or no trials */
  double failed_upper, undecided_upper;    /* 95 % upper bounds of the rates, as far as drawing more suites goes */
  double least_2_percent, least_3_percent; /* found of the case that is found least, each in its better mode */
  double least_2_percent_lower, least_3_percent_lower; /* 95 % lower bounds of these */
  /* Whole gates that failed when that case, and no other, was slower in all its modes; NAN as the shares of rows. */
  double whole_2_percent, whole_3_percent;
  uint64_t whole_suites; /* gates behind each of the two */
};

/* Estimates the rates. STATUS_NOT_COMPARABLE when the evidence does not suffice (population_open). The message begins
 * with `path`. The evidence must outlive *out; free with power_free. */
struct status power_measure(const char *path, const struct journal_data *evidence,
                            const struct compare_power_settings *, struct compare_power *out);
void power_free(struct compare_power *);

/* One-sided 95 % upper bound of a rate of which `hits` of n were seen (Clopper and Pearson). */
double power_upper(uint64_t hits, uint64_t n);

/* A positive control: a gate run on a candidate that equals the base but for a slowdown injected into one cell. */
struct compare_power_control {
  const char *key, *variant; /* point into the evidence */
  enum time_mode mode;
  double percent;        /* the slowdown asked for */
  double injected_ratio; /* time with the slowdown / time without, as measured; NAN: it could not be injected, so
                          * there is no control */
  double time_ratio;     /* the estimate of the gate run; NAN in the same case */
  enum compare_verdict verdict;
  char reason[COMPARE_TEXT_MAX]; /* of the verdict, or why the slowdown could not be injected */
};
bool power_is_control(const struct compare_power_control *);
bool power_is_found(const struct compare_power_control *);

/* The report of `gate --selftest`: one or several estimates from the same evidence (paired, unpaired), and the
 * controls. */
struct compare_power_report {
  const struct journal_data *evidence;
  const struct compare_power *power;
  size_t power_count;
  const struct compare_power_control *control;
  size_t control_count;
};

/* Writes the text report; its table of cases is that of power[0]. */
struct status power_text_write(const struct compare_power_report *, FILE *);
/* Writes attnbench.selftest/1; its cases are those of power[0]. */
struct status power_json_write(const struct compare_power_report *, FILE *);
