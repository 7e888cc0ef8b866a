/* Medians with intervals from order statistics, and when to stop sampling. */
#include "cli/base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int stats_order(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

enum { FEW = 4096 };

/* A verdict must not depend on whether there is memory: what a measurement takes is sorted in `few`, without asking
 * for any. Freed with release unless NULL. */
static double *sorted_copy(const double *samples, size_t n, double few[FEW]) {
  double *copy = n <= FEW ? few : n <= SIZE_MAX / sizeof *copy ? malloc(n * sizeof *copy) : NULL;
  if (copy == NULL) return NULL;
  memcpy(copy, samples, n * sizeof *copy);
  qsort(copy, n, sizeof *copy, stats_order);
  return copy;
}

static void release(double *sorted, const double few[FEW]) {
  if (sorted != few) free(sorted);
}

static double quantile(const double *sorted, size_t n, double p) {
  const double position = p * (double)(n - 1);
  const size_t below = (size_t)position;
  if (below + 1 >= n) return sorted[n - 1];
  return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* Largest zero-based rank k with P(Binomial(n, 1/2) <= k) <= 2.5 %: sorted[k] .. sorted[n - 1 - k] then covers the
 * true median with at least 95 %, whatever the distribution; 0 when even the full range does not reach 95 % (n < 6).
 * *below: that chance, of at most k samples below the true median. In logarithms, since 2^-n underflows. */
static size_t interval_rank(size_t n, double *below) {
  double log_mass = -(double)n * log(2.0), sum = exp(log_mass);
  size_t rank = 0;
  *below = sum;
  for (size_t k = 1; k <= n / 2; k++) {
    log_mass += log((double)(n - k + 1) / (double)k);
    sum += exp(log_mass);
    if (sum > 0.025) break;
    rank = k;
    *below = sum;
  }
  return rank;
}

double stats_confidence(size_t n) {
  double below;
  interval_rank(n, &below);
  return n > 1 ? 1 - 2 * below : 0;
}

/* Overwrites sorted, which is no longer needed in order. */
static double deviation(double *sorted, size_t n, double median) {
  for (size_t i = 0; i < n; i++) sorted[i] = fabs(sorted[i] - median);
  qsort(sorted, n, sizeof *sorted, stats_order);
  return quantile(sorted, n, 0.5);
}

struct stats stats_of(const double *samples, size_t n) {
  struct stats s = {(uint32_t)n, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
  double few[FEW], *sorted = n == 0 ? NULL : sorted_copy(samples, n, few);
  if (sorted == NULL) return s;
  double below;
  const size_t rank = interval_rank(n, &below);
  s.min = sorted[0];
  s.p25 = quantile(sorted, n, 0.25);
  s.median = quantile(sorted, n, 0.5);
  s.p75 = quantile(sorted, n, 0.75);
  s.p95 = quantile(sorted, n, 0.95);
  s.max = sorted[n - 1];
  s.ci_low = sorted[rank];
  s.ci_high = sorted[n - 1 - rank];
  s.mad = deviation(sorted, n, s.median);
  release(sorted, few);
  return s;
}

double stats_relative_half_width(const struct stats *s) {
  return s->median != 0 ? (s->ci_high - s->ci_low) / 2 / fabs(s->median) : INFINITY;
}

double stats_median(const double *samples, size_t n) {
  double few[FEW], *sorted = n == 0 ? NULL : sorted_copy(samples, n, few);
  if (sorted == NULL) return NAN;
  const double median = quantile(sorted, n, 0.5);
  release(sorted, few);
  return median;
}

enum stats_stop stats_should_stop(const struct stats_rule *rule, const struct stats *s, double elapsed_s) {
  const bool is_slow = rule->slow_s > 0 && elapsed_s >= rule->slow_s * s->n;
  if (s->n >= (is_slow ? rule->few_samples : rule->min_samples) &&
      stats_relative_half_width(s) <= rule->relative_half_width)
    return STATS_STOP_INTERVAL;
  if (s->n >= rule->max_samples) return STATS_STOP_SAMPLES;
  if (s->n >= rule->floor_samples && elapsed_s >= rule->budget_s) return STATS_STOP_BUDGET;
  return STATS_GO_ON;
}

const char *stats_stop_name(uint32_t stop) {
  static const char *const names[STATS_STOP_COUNT] = {"go_on", "interval", "budget", "max_samples"};
  return stop < STATS_STOP_COUNT ? names[stop] : NULL;
}
