/* Exact rank tests for few observations, with intervals of the shift. */
#include "cli/gate/judge.h"

#include <math.h>
#include <stdlib.h>

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

/* Of n pairs, with m = 0, or of m and n processes: every count, the number of them, and their sum. */
static double counts_of(size_t m, size_t n, double count[PAIRS_MAX + 1], size_t *top) {
  *top = m == 0 ? n * (n + 1) / 2 : m * n;
  return m == 0 ? signed_counts(n, count) : sum_counts(m, n, count);
}

double rank_tail(size_t m, size_t n, size_t at) {
  double count[PAIRS_MAX + 1], sum = 0;
  size_t top;
  const double all = counts_of(m, n, count, &top);
  for (size_t i = 0; i <= at && i <= top; ++i) sum += count[i];
  return sum / all;
}

/* ---- bounds -------------------------------------------------------------------------------------------------- */

/* The largest k >= 1 with P(statistic < k) <= 1 - confidence, as far as k = 1 gets: the k-th smallest of the averages
 * is then a lower bound and the k-th largest an upper one. */
static struct rank_critical critical_rank(const double *count, size_t top, double all, double confidence) {
  double sum = count[0];
  size_t k = 1;
  /* The last digits of 1 - confidence are not the caller's. */
  for (const double most = (1 - confidence) * all * (1 + 1e-12); 2 * k < top && sum + count[k] <= most; ++k)
    sum += count[k];
  return (struct rank_critical){.wanted = confidence, .rank = k, .reached = 1 - sum / all};
}

/* A comparison asks for the same few sizes row after row. */
static struct rank_critical critical_of(size_t m, size_t n, double confidence) {
  enum { CONFIDENCES = 4 };
  static _Thread_local struct rank_critical all_known[RANK_MAX + 1][CONFIDENCES];
  struct rank_critical *known = all_known[n], *end = known + CONFIDENCES - 1;
  while (known < end && known->wanted > 0 && (known->wanted != confidence || known->of != m)) ++known;
  if (known->wanted != confidence || known->of != m) {
    double count[PAIRS_MAX + 1];
    size_t top;
    const double all = counts_of(m, n, count, &top);
    *known = critical_rank(count, top, all, confidence);
    known->of = m;
  }
  return *known;
}

/* ---- averages and differences --------------------------------------------------------------------------------- */

static void range_of(const double *value, size_t count, double *least, double *most) {
  *least = *most = value[0];
  for (size_t i = 1; i < count; ++i) {
    *least = value[i] < *least ? value[i] : *least;
    *most = value[i] > *most ? value[i] : *most;
  }
}

void rank_start(double confidence, struct rank_sample *sample) {
  const size_t m = sample->base_count, n = sample->now_count;
  double least = 0, most = 0;
  sample->critical = critical_of(m, n, confidence);
  range_of(sample->now, n, &sample->least, &sample->most);
  if (m > 0) range_of(sample->base, m, &least, &most);
  sample->least -= most;
  sample->most -= least;
}

static size_t count_all(const struct rank_sample *s) {
  return s->base_count == 0 ? s->now_count * (s->now_count + 1) / 2 : s->base_count * s->now_count;
}

static size_t count_below(const struct rank_sample *s, double at) {
  size_t below = 0;
  if (s->most < at) return count_all(s);
  if (s->least >= at) return 0;
  for (size_t i = 0; s->base_count == 0 && i < s->now_count; ++i) {
    for (size_t j = i; j < s->now_count; ++j) below += s->now[i] / 2 + s->now[j] / 2 < at;
  }
  for (size_t i = 0; i < s->base_count; ++i) {
    for (size_t j = 0; j < s->now_count; ++j) below += s->now[j] - s->base[i] < at;
  }
  return below;
}

bool rank_reaches(const struct rank_sample *sample, double at) {
  const size_t twice = 2 * count_below(sample, at), all = count_all(sample);
  return twice == all ? rank_interval(sample).estimate >= at : twice < all;
}

bool rank_low_is_above(const struct rank_sample *sample, double at) {
  return count_below(sample, nextafter(at, INFINITY)) < sample->critical.rank;
}

bool rank_high_is_below(const struct rank_sample *sample, double at) {
  return count_all(sample) - count_below(sample, at) < sample->critical.rank;
}

bool rank_excludes(const struct rank_sample *sample, double confidence, double at) {
  return count_all(sample) - count_below(sample, at) <
         critical_of(sample->base_count, sample->now_count, confidence).rank;
}

struct rank_interval rank_interval(const struct rank_sample *s) {
  double value[PAIRS_MAX];
  size_t count = 0;
  for (size_t i = 0; s->base_count == 0 && i < s->now_count; ++i) {
    for (size_t j = i; j < s->now_count; ++j) value[count++] = s->now[i] / 2 + s->now[j] / 2;
  }
  for (size_t i = 0; i < s->base_count; ++i) {
    for (size_t j = 0; j < s->now_count; ++j) value[count++] = s->now[j] - s->base[i];
  }
  qsort(value, count, sizeof *value, stats_order);
  return (struct rank_interval){.estimate = value[(count - 1) / 2] / 2 + value[count / 2] / 2,
                                .low = value[s->critical.rank - 1],
                                .high = value[count - s->critical.rank],
                                .confidence = s->critical.reached};
}
