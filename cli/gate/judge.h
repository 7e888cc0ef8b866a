/* The verdict of one row, from the observations of both sides, and the tests that it rests on. Used by cli/gate and
 * cli/rates only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/gate/compare.h"

/* The shift between two samples from ranks: the Hodges-Lehmann estimate and exact one-sided bounds. They are valid
 * for any continuous noise with the same distribution on both sides, however heavy its tails. Ties need no
 * correction, since they only increase the coverage of the bounds. Pure.
 *
 * Hodges, Lehmann: Estimates of location based on rank tests (1963); Hollander, Wolfe: Nonparametric Statistical
 * Methods, chapters 3 and 4. */

enum { RANK_MAX = 128 }; /* observations of one side */

struct rank_interval {
  double estimate;
  double low, high;  /* the true shift is above low, and below high, with `confidence` each */
  double confidence; /* at least the one asked for, or the highest that n observations allow */
};

/* Which of the sorted averages or differences is a bound, and the confidence that it reaches. */
struct rank_critical {
  double wanted; /* confidence that was asked for */
  size_t of, rank;
  double reached;
};

/* What a shift is told from: n > 0 differences of pairs in .now, with base_count 0, or two samples. The caller fills
 * the first four members, rank_start the others. */
struct rank_sample {
  size_t base_count, now_count;
  double base[RANK_MAX], now[RANK_MAX];
  struct rank_critical critical;
  double least, most; /* no average and no difference lies outside */
};
void rank_start(double confidence, struct rank_sample *);

/* Of pairs: the median of the Walsh averages (x_i + x_j) / 2, i <= j; bounds from Wilcoxon's signed-rank
 * distribution. Assumes differences symmetric about the shift, as those of pairs are. Of two samples: the median of
 * all differences now_j - base_i; bounds from the rank-sum (Mann-Whitney) distribution. */
struct rank_interval rank_interval(const struct rank_sample *);

/* The same as comparing a member of the interval with `at`. Counting is faster than sorting. */
bool rank_reaches(const struct rank_sample *, double at); /* estimate >= at */
bool rank_low_is_above(const struct rank_sample *, double at);
bool rank_high_is_below(const struct rank_sample *, double at);
/* The same with the bound of another confidence, as far as so many observations allow it. */
bool rank_excludes(const struct rank_sample *, double confidence, double at);

/* P(W <= at): of n pairs, with base_count 0, W is the sum of a random subset of the ranks 1..n, each taken with
 * probability 1/2; of two samples it is the Mann-Whitney statistic, the number of (base, now) in inverse order, when
 * all orders are equally likely. */
double rank_tail(size_t base_count, size_t now_count, size_t at);

/* Student's t-test. Pure. */

/* P(T > t) with `freedom` > 0 degrees of freedom, which need not be whole. */
double student_tail(double t, double freedom);

/* The t with P(T > t) = chance, for a chance of at most 1/2. */
double student_quantile(double chance, double freedom);

/* A difference of means, and its standard error. */
struct student_score {
  double mean;    /* difference of the two means, or mean of the differences */
  double error;   /* standard error of `mean` */
  double freedom; /* degrees of freedom; 0: a side is too small for a variance */
};

/* Of two samples: Welch's test (1947), for unequal variances. */
struct student_score student_welch(const double *base, size_t base_count, const double *now, size_t now_count);
/* Of differences within pairs. */
struct student_score student_paired(const double *difference, size_t count);

/* The one-sided p-value: the probability of a mean this far above `shift` when the true mean is `shift`; 1 when a
 * side is too small. */
double student_chance(const struct student_score *, double shift);

/* One process of one side. Ratios are taken on logarithms, where slower and faster are mirror images. */
struct compare_process {
  double us, mhz;         /* mhz: the SM clock; NAN when unknown */
  double log_us, log_mhz; /* of the time without the overhead, and of the clock; NAN when there is none */
  uint64_t throttle_reasons;
};

/* Observations of both sides, one per process. */
struct compare_evidence {
  struct compare_observations {
    uint32_t count, times, clocks; /* of the processes, how many have a time, and a clock */
    double least_us, most_us;      /* of the times */
    uint64_t throttle_reasons;     /* union over the processes */
    struct compare_process process[RANK_MAX];
  } base, now;
  bool is_unsettled, is_single; /* of a row */
};

/* Was this mode of the record timed? False for NULL. */
bool judge_is_timed(const struct record *, enum time_mode);
/* A process of these times; overhead_us is the part of the time that belongs to no kernel. */
struct compare_process judge_process(double us, double mhz, uint64_t throttle_reasons, double overhead_us);
/* Collects the observations of one side, or of both sides of a row. */
void judge_observe(const struct compare_side *, enum time_mode, double overhead_us, struct compare_observations *);
void judge_observe_row(const struct compare_row *, double overhead_us, struct compare_evidence *);
/* Removes all observations; adds a process to a side; adds those of another measurement. */
void judge_clear(struct compare_evidence *);
void judge_add(struct compare_process, struct compare_observations *);
void judge_append(const struct compare_evidence *from, bool with_base, struct compare_evidence *to);
/* Leaves only so many processes of each side, the first ones. */
void judge_keep(uint32_t most, struct compare_evidence *);
/* Fills the median, spread and clock of one side. */
void judge_summary(const struct compare_observations *, struct compare_side *out);
/* Why these times are not fit for a verdict, as a sentence without a full stop; NULL when they are. */
const char *judge_unfit(const struct compare_settings *, const struct compare_evidence *);

/* The threshold whose decision line is a difference of floor_us, for times of about around_us without overhead. */
double judge_floor_threshold(double floor_us, double around_us);
/* What estimates are held against with this threshold. */
struct compare_limits judge_limits(double threshold);

/* Whether these are fewer pairs than were planned, so that the rule for few pairs applies. */
bool judge_has_few(const struct compare_settings *, const struct compare_evidence *);
/* How much processes of the row differ within each side. */
struct compare_noise judge_noise(const struct compare_settings *, const struct compare_evidence *,
                                 const struct compare_row *);

/* Fills the verdict of a row that is timed on both sides, and unless settings->only_verdicts its sides, estimates and
 * reason. */
void judge_timed(const struct compare_settings *, const struct compare_evidence *, struct compare_row *);
/* Fills the verdict and reason of a row that is not timed on both sides. */
void judge_untimed(struct compare_row *);

/* All cases of a comparison together. */

/* Sums of logarithms over rows, for each process of both sides. */
struct suite_sums {
  size_t rows;    /* to begin with: 0 */
  bool has_clock; /* no row is bound by DRAM */
  struct suite_sum {
    uint32_t count;
    double log_us[RANK_MAX], log_mhz[RANK_MAX];
  } base, now;
};
/* Adds a row that is judged, unless it is improved, implausible, by_hosts or without a ratio. */
void suite_add(const struct compare_row *, const struct compare_evidence *, struct suite_sums *);

/* Fills compare->suite from the sums over all rows, with the same test over processes as for a row (judge_timed). A
 * slowdown that all cases share is easier to detect here, since the noise of the cases averages out. */
void suite_judge(const struct suite_sums *, struct compare *);

/* Collects, for each process, the geometric mean over the rows that suite_add counts. Returns their number. */
size_t suite_observe(const struct compare *, struct compare_evidence *out);
