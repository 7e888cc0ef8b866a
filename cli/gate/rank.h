/* How far two samples lie apart, from ranks alone: the Hodges-Lehmann estimate and exact one-sided bounds. They hold
 * for any continuous noise that is the same on both sides, however heavy its tails. Ties need no correction: with
 * them a closed bound covers more, never less. Pure.
 *
 * Hodges, Lehmann: Estimates of location based on rank tests (1963); Hollander, Wolfe: Nonparametric Statistical
 * Methods, chapters 3 and 4. */
#ifndef ATTNBENCH_CLI_GATE_RANK_H
#define ATTNBENCH_CLI_GATE_RANK_H

#include <stdbool.h>
#include <stddef.h>

enum { RANK_MAX = 128 }; /* observations of one side */

struct rank_interval {
  double estimate;
  double low, high;  /* the true shift is above low, and below high, with `confidence` each */
  double confidence; /* at least what was asked for, or the most that so few observations reach */
};

/* The shift of n differences, 1 <= n <= RANK_MAX: the median of the Walsh averages (x_i + x_j) / 2, i <= j; bounds
 * from Wilcoxon's signed-rank distribution. Assumes differences symmetric about the shift, as those of pairs are. */
struct rank_interval rank_paired(const double *difference, size_t n, double confidence);

/* The shift from `base` to `now`, 1 to RANK_MAX of each: the median of all differences now_j - base_i; bounds from
 * the rank-sum (Mann-Whitney) distribution. */
struct rank_interval rank_unpaired(const double *base, size_t base_count, const double *now, size_t now_count,
                                   double confidence);

/* The same evidence in order, for who only asks on which side of a value an interval lies: counting is cheaper than
 * the interval, and the answers are the same. */
struct rank_sorted {
  double base[RANK_MAX], now[RANK_MAX]; /* ascending; of pairs `now` holds the differences */
  size_t base_count, now_count;         /* of pairs 0 and their number */
  size_t rank;                          /* the bounds are the rank-th smallest and largest */
};
/* Puts what is in .base and .now in order and fills the rest but the counts. */
void rank_sort(struct rank_sorted *, double confidence);
/* Of the interval shifted by `shift`: estimate >= at, low > at, high < at. */
bool rank_reaches(const struct rank_sorted *, double shift, double at);
bool rank_low_is_above(const struct rank_sorted *, double shift, double at);
bool rank_high_is_below(const struct rank_sorted *, double shift, double at);

/* P(W <= w), W the sum of the ranks 1..n that get a plus by a fair coin each. */
double rank_signed_tail(size_t n, size_t w);
/* P(U <= u), U the number of pairs (base, now) in the wrong order when all orders are equally likely. */
double rank_sum_tail(size_t base_count, size_t now_count, size_t u);

#endif
