/* Robust statistics of samples, and the rule that says when there are enough samples. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All in the unit of the samples. Quantiles interpolate linearly between order statistics (type 7). */
struct stats {
  uint32_t n;
  double min, p25, median, p75, p95, max;
  double mad;             /* median absolute deviation from the median, unscaled */
  double ci_low, ci_high; /* 95 % interval of the median from order statistics (exact binomial ranks, so
                             coverage is at least 95 %); min and max when n < 6 */
};

/* Does not change samples. n >= 1. Without memory everything but n is NAN, and stats_should_stop does not stop by the
 * interval. */
struct stats stats_of(const double *samples, size_t n);

/* How often an interval of n samples covers the true median: at least 95 %, less when n < 6; 0 for one sample. */
double stats_confidence(size_t n);

/* For qsort, of doubles: ascending. */
int stats_order(const void *left, const void *right);

/* Half-width of the interval relative to the median; infinite when the median is 0. */
double stats_relative_half_width(const struct stats *);

double stats_median(const double *samples, size_t n);

enum stats_stop { STATS_GO_ON, STATS_STOP_INTERVAL, STATS_STOP_BUDGET, STATS_STOP_SAMPLES, STATS_STOP_COUNT };

struct stats_rule {
  uint32_t min_samples, max_samples;
  double relative_half_width; /* 0.005 */
  double budget_s;            /* wall time for this mode; once it is used up, stop as soon as n >= floor_samples */
  uint32_t floor_samples;     /* never fewer than this, whatever the budget */
  uint32_t few_samples;       /* takes the place of min_samples when a sample takes slow_s or longer on average */
  double slow_s;              /* 0: min_samples always holds */
};

/* Why measuring should stop now, or STATS_GO_ON. */
enum stats_stop stats_should_stop(const struct stats_rule *, const struct stats *, double elapsed_s);

const char *stats_stop_name(uint32_t stop); /* "interval", "budget", "max_samples"; NULL past the last */
