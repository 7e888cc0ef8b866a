/* The shift between two samples from ranks: the Hodges-Lehmann estimate and exact one-sided bounds. They are valid
 * for any continuous noise with the same distribution on both sides, however heavy its tails. Ties need no
 * correction, since they only increase the coverage of the bounds. Pure.
 *
 * Hodges, Lehmann: Estimates of location based on rank tests (1963); Hollander, Wolfe: Nonparametric Statistical
 * Methods, chapters 3 and 4. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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
