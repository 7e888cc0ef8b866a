/* Exact rank tests for few observations, with intervals of the shift. */
#include "cli/gate/rank.h"

#include <math.h>

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

/* Which of the sorted averages or differences is a bound, and the confidence that it reaches. */
struct critical {
  double wanted; /* confidence that was asked for; 0: not looked up yet */
  size_t of, rank;
  double reached;
};

/* The largest k >= 1 with P(statistic < k) <= 1 - confidence, as far as k = 1 gets: the k-th smallest of the averages
 * is then a lower bound and the k-th largest an upper one. */
static struct critical critical_rank(const double *count, size_t top, double all, double confidence) {
  double sum = count[0];
  size_t k = 1;
  /* The last digits of 1 - confidence are not the caller's. */
  for (const double most = (1 - confidence) * all * (1 + 1e-12); 2 * k < top && sum + count[k] <= most; ++k) {
    sum += count[k];
  }
  return (struct critical){.wanted = confidence, .rank = k, .reached = 1 - sum / all};
}

/* A comparison asks for the same few sizes row after row. */
static struct critical critical_signed(size_t n, double confidence) {
  static _Thread_local struct critical known[RANK_MAX + 1];
  if (known[n].wanted != confidence) {
    double count[WALSH_MAX + 1];
    const double all = signed_counts(n, count);
    known[n] = critical_rank(count, n * (n + 1) / 2, all, confidence);
  }
  return known[n];
}

static struct critical critical_sum(size_t m, size_t n, double confidence) {
  static _Thread_local struct critical known[RANK_MAX + 1];
  if (known[n].wanted != confidence || known[n].of != m) {
    double count[PAIRS_MAX + 1];
    const double all = sum_counts(m, n, count);
    known[n] = critical_rank(count, m * n, all, confidence);
    known[n].of = m;
  }
  return known[n];
}

/* ---- order --------------------------------------------------------------------------------------------------- */

/* Above it, searching for four of the values is cheaper than sorting them. */
enum { INSERTION_MAX = 128 };

static void insertion_sort(double *value, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    const double moved = value[i];
    size_t at = i;
    for (; at > 0 && value[at - 1] > moved; --at) value[at] = value[at - 1];
    value[at] = moved;
  }
}

/* Puts the value that belongs at `at` there, smaller ones before it and larger ones behind it (Hoare's FIND). */
static void place(double *value, size_t count, size_t at) {
  size_t low = 0, high = count - 1;
  while (low < high) {
    const double pivot = value[at];
    size_t i = low, j = high;
    while (i <= j) {
      while (value[i] < pivot) ++i;
      while (value[j] > pivot) --j;
      if (i > j) break;
      const double kept = value[i];
      value[i++] = value[j];
      value[j] = kept;
      if (j == 0) break;
      --j;
    }
    if (j < at) low = i;
    if (at < i) high = j;
  }
}

/* Of values that are nearly in order. */
static struct rank_interval interval_of(double *value, size_t count, const struct critical *critical) {
  const size_t wanted[] = {critical->rank - 1, (count - 1) / 2, count / 2, count - critical->rank};
  if (count <= INSERTION_MAX) {
    insertion_sort(value, count);
  } else {
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) place(value, count, wanted[i]);
  }
  return (struct rank_interval){.estimate = value[wanted[1]] / 2 + value[wanted[2]] / 2,
                                .low = value[wanted[0]],
                                .high = value[wanted[3]],
                                .confidence = critical->reached};
}

static void sorted_copy(const double *value, size_t count, double out[RANK_MAX]) {
  for (size_t i = 0; i < count; ++i) out[i] = value[i];
  insertion_sort(out, count);
}

struct rank_interval rank_paired(const double *difference, size_t n, double confidence) {
  double x[RANK_MAX], average[WALSH_MAX];
  size_t averages = 0;
  const struct critical critical = critical_signed(n, confidence);
  sorted_copy(difference, n, x);
  /* By the sum of the ranks, which is nearly the order of the averages. */
  for (size_t ranks = 0; ranks <= 2 * (n - 1); ++ranks) {
    for (size_t i = ranks < n ? 0 : ranks - n + 1; 2 * i <= ranks; ++i) {
      average[averages++] = x[i] / 2 + x[ranks - i] / 2;
    }
  }
  return interval_of(average, averages, &critical);
}

struct rank_interval rank_unpaired(const double *base, size_t base_count, const double *now, size_t now_count,
                                   double confidence) {
  double from[RANK_MAX], to[RANK_MAX], difference[PAIRS_MAX];
  size_t differences = 0;
  const struct critical critical = critical_sum(base_count, now_count, confidence);
  sorted_copy(base, base_count, from);
  sorted_copy(now, now_count, to);
  for (size_t ranks = 0; ranks < base_count + now_count - 1; ++ranks) {
    for (size_t j = ranks < base_count ? 0 : ranks - base_count + 1; j <= ranks && j < now_count; ++j) {
      difference[differences++] = to[j] - from[base_count - 1 - (ranks - j)];
    }
  }
  return interval_of(difference, differences, &critical);
}

/* ---- questions ----------------------------------------------------------------------------------------------- */

void rank_sort(struct rank_sorted *sorted, double confidence) {
  const size_t m = sorted->base_count, n = sorted->now_count;
  insertion_sort(sorted->base, m);
  insertion_sort(sorted->now, n);
  const struct critical critical = m == 0 ? critical_signed(n, confidence) : critical_sum(m, n, confidence);
  sorted->rank = critical.rank;
}

static size_t all_of(const struct rank_sorted *sorted) {
  const size_t m = sorted->base_count, n = sorted->now_count;
  return m == 0 ? n * (n + 1) / 2 : m * n;
}

static bool is_under(double value, double at, bool with_equal) { return value < at || (with_equal && value == at); }

/* How many averages lie below `at`: along each row they ascend, and where a row ends below it, so does the next one
 * no later. */
static size_t averages_under(const struct rank_sorted *sorted, double at, bool with_equal) {
  const double *x = sorted->now;
  size_t under = 0, end = sorted->now_count;
  for (size_t i = 0; i < end; ++i) {
    while (end > i && !is_under(x[i] / 2 + x[end - 1] / 2, at, with_equal)) --end;
    under += end - i;
  }
  return under;
}

static size_t differences_under(const struct rank_sorted *sorted, double at, bool with_equal) {
  size_t under = 0, end = 0;
  for (size_t i = 0; i < sorted->base_count; ++i) {
    while (end < sorted->now_count && is_under(sorted->now[end] - sorted->base[i], at, with_equal)) ++end;
    under += end;
  }
  return under;
}

static size_t count_under(const struct rank_sorted *sorted, double at, bool with_equal) {
  return sorted->base_count == 0 ? averages_under(sorted, at, with_equal) : differences_under(sorted, at, with_equal);
}

/* The mean of the two neighbours of `at`, which half of the values lie below. */
static double middle_around(const struct rank_sorted *sorted, double at) {
  double under = -INFINITY, over = INFINITY;
  const size_t rows = sorted->base_count == 0 ? sorted->now_count : sorted->base_count;
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = sorted->base_count == 0 ? i : 0; j < sorted->now_count; ++j) {
      const double value =
          sorted->base_count == 0 ? sorted->now[i] / 2 + sorted->now[j] / 2 : sorted->now[j] - sorted->base[i];
      under = value < at ? fmax(under, value) : under;
      over = value < at ? over : fmin(over, value);
    }
  }
  return under / 2 + over / 2;
}

bool rank_reaches(const struct rank_sorted *sorted, double shift, double at) {
  const size_t all = all_of(sorted), under = count_under(sorted, at - shift, false);
  if (all % 2 == 0 && under == all / 2) return middle_around(sorted, at - shift) >= at - shift;
  return under <= (all - 1) / 2;
}

bool rank_low_is_above(const struct rank_sorted *sorted, double shift, double at) {
  return count_under(sorted, at - shift, true) < sorted->rank;
}

bool rank_high_is_below(const struct rank_sorted *sorted, double shift, double at) {
  return all_of(sorted) - count_under(sorted, at - shift, false) < sorted->rank;
}
