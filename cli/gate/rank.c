/* Exact rank tests for few observations, with intervals of the shift. */
#include "cli/gate/rank.h"

#include <math.h>
#include <stdlib.h>

#include "cli/base/stats.h"

enum { WALSH_MAX = RANK_MAX * (RANK_MAX + 1) / 2, PAIRS_MAX = RANK_MAX * RANK_MAX };

/* ---- distributions ------------------------------------------------------------------------------------------- */

/* In how many of the 2^n sign patterns the positive ranks sum to w: the coefficients of prod (1 + q^i). Whole numbers
 * in a double: exact below 2^53, else to rounding. */
static double signed_counts(size_t n, double count[WALSH_MAX + 1]) {
  const size_t top = n * (n + 1) / 2;
  count[0] = 1;
  for (size_t w = 1; w <= top; ++w) count[w] = 0;
  for (size_t rank = 1, reach = 0; rank <= n; ++rank) {
    reach += rank;
    for (size_t w = reach; w >= rank; --w) count[w] += count[w - rank];
  }
  return ldexp(1, (int)n);
}

/* In how many of the C(m+n, m) orders u pairs are in the wrong order: the coefficients of the Gaussian binomial,
 * prod (1 - q^(n+i)) / (1 - q^i). A coefficient depends on those of lower degree only, so the small counts of the
 * tail stay exact. */
static double sum_counts(size_t m, size_t n, double count[PAIRS_MAX + 1]) {
  const size_t top = m * n;
  double all = 1;
  count[0] = 1;
  for (size_t u = 1; u <= top; ++u) count[u] = 0;
  for (size_t i = 1; i <= m; ++i) {
    for (size_t u = top; u >= n + i; --u) count[u] -= count[u - n - i];
    for (size_t u = i; u <= top; ++u) count[u] += count[u - i];
    all *= (double)(n + i) / (double)i;
  }
  return all;
}

static double tail(const double *count, size_t top, size_t at, double all) {
  double sum = 0;
  for (size_t i = 0; i <= at && i <= top; ++i) sum += count[i];
  return sum / all;
}

double rank_signed_tail(size_t n, size_t w) {
  double count[WALSH_MAX + 1];
  const double all = signed_counts(n, count);
  return tail(count, n * (n + 1) / 2, w, all);
}

double rank_sum_tail(size_t base_count, size_t now_count, size_t u) {
  double count[PAIRS_MAX + 1];
  const double all = sum_counts(base_count, now_count, count);
  return tail(count, base_count * now_count, u, all);
}

/* ---- intervals ----------------------------------------------------------------------------------------------- */

/* The largest k >= 1 with P(statistic < k) <= 1 - confidence, as far as k = 1 gets: the k-th smallest of the averages
 * is then a lower bound and the k-th largest an upper one. */
static size_t critical_rank(const double *count, size_t top, double all, double confidence, double *reached) {
  double sum = count[0];
  size_t k = 1;
  /* The last digits of 1 - confidence are not the caller's. */
  for (const double most = (1 - confidence) * all * (1 + 1e-12); 2 * k < top && sum + count[k] <= most; ++k) {
    sum += count[k];
  }
  *reached = 1 - sum / all;
  return k;
}

static struct rank_interval interval_of(double *value, size_t count, size_t rank, double confidence) {
  qsort(value, count, sizeof *value, stats_order);
  return (struct rank_interval){.estimate = value[(count - 1) / 2] / 2 + value[count / 2] / 2,
                                .low = value[rank - 1],
                                .high = value[count - rank],
                                .confidence = confidence};
}

struct rank_interval rank_paired(const double *difference, size_t n, double confidence) {
  double count[WALSH_MAX + 1], average[WALSH_MAX], reached;
  size_t averages = 0;
  const double all = signed_counts(n, count);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i; j < n; ++j) average[averages++] = difference[i] / 2 + difference[j] / 2;
  }
  const size_t rank = critical_rank(count, averages, all, confidence, &reached);
  return interval_of(average, averages, rank, reached);
}

struct rank_interval rank_unpaired(const double *base, size_t base_count, const double *now, size_t now_count,
                                   double confidence) {
  double count[PAIRS_MAX + 1], difference[PAIRS_MAX], reached;
  size_t differences = 0;
  const double all = sum_counts(base_count, now_count, count);
  for (size_t i = 0; i < base_count; ++i) {
    for (size_t j = 0; j < now_count; ++j) difference[differences++] = now[j] - base[i];
  }
  const size_t rank = critical_rank(count, differences, all, confidence, &reached);
  return interval_of(difference, differences, rank, reached);
}
