#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/gate/judge.h"
#include "tests/unit.h"

static struct rank_sample sample_of(const double *base, size_t base_count, const double *now, size_t now_count,
                                    double confidence) {
  struct rank_sample sample = {.base_count = base_count, .now_count = now_count};
  for (size_t i = 0; i < base_count; ++i) sample.base[i] = base[i];
  for (size_t i = 0; i < now_count; ++i) sample.now[i] = now[i];
  rank_start(confidence, &sample);
  return sample;
}

static struct rank_interval rank_unpaired(const double *base, size_t base_count, const double *now, size_t now_count,
                                          double confidence) {
  struct rank_sample sample = sample_of(base, base_count, now, now_count, confidence);
  return rank_interval(&sample);
}

static struct rank_interval rank_paired(const double *difference, size_t n, double confidence) {
  return rank_unpaired(NULL, 0, difference, n, confidence);
}

static void assert_near(double value, double expected, double margin) {
  if (!(fabs(value - expected) <= margin)) fail_msg("%.17g is not within %g of %.17g", value, margin, expected);
}

/* ---- distributions against brute force ----------------------------------------------------------------------- */

static double signed_tail_by_force(unsigned n, unsigned w) {
  unsigned hits = 0;
  for (unsigned signs = 0; signs < 1u << n; ++signs) {
    unsigned sum = 0;
    for (unsigned i = 0; i < n; ++i) sum += (signs >> i & 1) * (i + 1);
    hits += sum <= w;
  }
  return hits / (double)(1u << n);
}

TEST(signed_rank_counts_every_sign_pattern) {
  for (unsigned n = 1; n <= 10; ++n) {
    for (unsigned w = 0; w <= n * (n + 1) / 2 + 1; ++w)
      assert_near(rank_tail(0, n, w), signed_tail_by_force(n, w), 1e-15);
  }
}

TEST(what_is_excluded_is_above_the_bound_of_that_confidence) {
  const double difference[] = {-7, -7, -7, -7, -7, 2.9, 3.1};
  const struct rank_sample sample = sample_of(NULL, 0, difference, 7, 0.95);
  assert_true(rank_high_is_below(&sample, 2.95));
  assert_true(rank_excludes(&sample, 0.95, 2.95));
  assert_false(rank_excludes(&sample, 0.99, 2.95));
  assert_true(rank_excludes(&sample, 0.99, 3.2));
  assert_true(rank_excludes(&sample, 0.9999, 3.2)); /* as far as 7 pairs go */
}

/* All orders of m base and n new observations: the positions of the base ones are the set bits. */
static double sum_tail_by_force(unsigned m, unsigned n, unsigned u) {
  unsigned hits = 0, all = 0;
  for (unsigned order = 0; order < 1u << (m + n); ++order) {
    if ((unsigned)__builtin_popcount(order) != m) continue;
    unsigned wrong = 0;
    for (unsigned i = 0; i < m + n; ++i) {
      for (unsigned j = 0; j < i; ++j) wrong += (order >> i & 1) != 0 && (order >> j & 1) == 0;
    }
    ++all;
    hits += wrong <= u;
  }
  return (double)hits / all;
}

TEST(rank_sum_counts_every_order) {
  for (unsigned m = 1; m <= 5; ++m) {
    for (unsigned n = 1; n <= 6; ++n) {
      for (unsigned u = 0; u <= m * n; ++u) assert_near(rank_tail(m, n, u), sum_tail_by_force(m, n, u), 1e-14);
    }
  }
}

/* Printed tables: Wilcoxon's critical values, and Mann and Whitney's. */
TEST(the_tails_are_those_of_the_tables) {
  assert_near(rank_tail(0, 5, 0), 1.0 / 32, 1e-16);
  assert_near(rank_tail(0, 10, 5), 10.0 / 1024, 1e-15);  /* one-sided 0.01: 5 */
  assert_near(rank_tail(0, 10, 10), 43.0 / 1024, 1e-15); /* one-sided 0.05: 10 */
  assert_true(rank_tail(0, 20, 43) <= 0.01 && rank_tail(0, 20, 44) > 0.01);
  assert_true(rank_tail(0, 50, 397) <= 0.01 && rank_tail(0, 50, 398) > 0.01);
  assert_near(rank_tail(5, 5, 0), 1.0 / 252, 1e-16);
  assert_true(rank_tail(5, 5, 1) <= 0.01 && rank_tail(5, 5, 2) > 0.01);
  assert_true(rank_tail(7, 7, 6) <= 0.01 && rank_tail(7, 7, 7) > 0.01);
  assert_true(rank_tail(20, 20, 114) <= 0.01 && rank_tail(20, 20, 115) > 0.01);
}

TEST(large_samples_follow_the_normal_limit) {
  const double n = RANK_MAX, middle = n * (n + 1) / 4, sd = sqrt(n * (n + 1) * (2 * n + 1) / 24);
  assert_near(rank_tail(0, RANK_MAX, (size_t)(middle - 2 * sd)), 0.02275, 3e-4);
  const double pairs = n * n / 2, pairs_sd = sqrt(n * n * (2 * n + 1) / 12);
  assert_near(rank_tail(RANK_MAX, RANK_MAX, (size_t)(pairs - 2 * pairs_sd)), 0.02275, 3e-4);
  assert_near(rank_tail(RANK_MAX, RANK_MAX, RANK_MAX * RANK_MAX), 1, 1e-9);
}

/* ---- intervals ----------------------------------------------------------------------------------------------- */

TEST(the_estimate_is_the_median_of_the_averages) {
  const double difference[] = {1, 2, 9}; /* averages 1 1.5 2 5 5.5 9 */
  const struct rank_interval paired = rank_paired(difference, 3, 0.95);
  assert_near(paired.estimate, 3.5, 1e-15);
  assert_near(paired.low, 1, 0);
  assert_near(paired.high, 9, 0);
  assert_near(paired.confidence, 7.0 / 8, 1e-15);
  const double base[] = {0, 10}, now[] = {1, 12, 13}; /* differences 1 12 13 -9 2 3 */
  const struct rank_interval unpaired = rank_unpaired(base, 2, now, 3, 0.95);
  assert_near(unpaired.estimate, 2.5, 1e-15);
  assert_near(unpaired.low, -9, 0);
  assert_near(unpaired.confidence, 0.9, 1e-15);
}

TEST(more_observations_reach_more_confidence) {
  double x[10];
  for (size_t i = 0; i < 10; ++i) x[i] = (double)(i * i);
  for (size_t n = 1; n <= 10; ++n) {
    const double reached = rank_paired(x, n, 0.95).confidence;
    if (n < 5) assert_near(reached, 1 - ldexp(1, -(int)n), 1e-15);
    if (n >= 5) assert_true(reached >= 0.95 && reached < 0.98);
  }
  assert_near(rank_unpaired(x, 3, x, 3, 0.95).confidence, 0.95, 1e-15);
  assert_near(rank_unpaired(x, 5, x, 5, 0.99).confidence, 1 - 2.0 / 252, 1e-15);
}

TEST(swapping_the_sides_swaps_the_bounds) {
  const double base[] = {1.25, 0.75, 1.5, 1.125, 0.5}, now[] = {2, 1.75, 0.25, 3.5, 1, 0.875};
  const struct rank_interval forth = rank_unpaired(base, 5, now, 6, 0.95),
                             back = rank_unpaired(now, 6, base, 5, 0.95);
  assert_true(forth.estimate == -back.estimate && forth.low == -back.high && forth.high == -back.low);
  double negated[6];
  for (size_t i = 0; i < 6; ++i) negated[i] = -now[i];
  const struct rank_interval plus = rank_paired(now, 6, 0.95), minus = rank_paired(negated, 6, 0.95);
  assert_true(plus.estimate == -minus.estimate && plus.low == -minus.high && plus.high == -minus.low);
}

/* Every sign pattern of five differences, or every way to deal 3 + 3 values, is equally likely when nothing changed:
 * the share whose lower bound lies above zero is the error the bound admits, 1 - confidence. */
TEST(a_bound_errs_exactly_as_often_as_it_says) {
  const double size[] = {1, 2.5, 3.25, 4.75, 8};
  unsigned above = 0;
  for (unsigned signs = 0; signs < 32; ++signs) {
    double x[5];
    for (unsigned i = 0; i < 5; ++i) x[i] = (signs >> i & 1) != 0 ? size[i] : -size[i];
    above += rank_paired(x, 5, 0.95).low > 0;
  }
  assert_int_equal(above, 1);
  unsigned dealt = 0;
  above = 0;
  for (unsigned deal = 0; deal < 64; ++deal) {
    const double value[] = {1, 1.5, 2.25, 4, 7, 7.75};
    double side[2][6];
    size_t count[2] = {0, 0};
    for (unsigned i = 0; i < 6; ++i) side[deal >> i & 1][count[deal >> i & 1]++] = value[i];
    if (count[0] != 3) continue;
    ++dealt;
    above += rank_unpaired(side[0], 3, side[1], 3, 0.95).low > 0;
  }
  assert_int_equal(dealt, 20);
  assert_int_equal(above, 1);
}

static int by_value(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* The largest k with P(fewer than k) <= 5 %, from 1 on. */
static size_t rank_by_force(size_t n, size_t m) {
  size_t low = 1, high = m == 0 ? n * (n + 1) / 2 : n * m;
  while (low + 1 < high) {
    const size_t k = (low + high) / 2;
    *(rank_tail(m == 0 ? 0 : n, m == 0 ? n : m, k - 1) <= 0.05 ? &low : &high) = k;
  }
  return low;
}

static void assert_of_sorted(const struct rank_interval *seen, double *value, size_t count, size_t rank) {
  qsort(value, count, sizeof *value, by_value);
  assert_near(seen->estimate, value[(count - 1) / 2] / 2 + value[count / 2] / 2, 0);
  assert_near(seen->low, value[rank - 1], 0);
  assert_near(seen->high, value[count - rank], 0);
}

/* Few values and many are put in order in two ways; ties, and values that come sorted, are no exception. */
TEST(bounds_are_those_of_sorted_values) {
  static double x[RANK_MAX], y[RANK_MAX], value[RANK_MAX * RANK_MAX];
  for (size_t n = 5; n <= RANK_MAX; n += n < 20 ? 1 : 36) {
    const size_t k = rank_by_force(n, 0), u = rank_by_force(n, n / 2 + 3);
    for (unsigned kind = 0; kind < 3; ++kind) {
      size_t averages = 0, differences = 0;
      const size_t m = n / 2 + 3;
      for (size_t i = 0; i < n; ++i)
        x[i] = kind == 0 ? (double)i : kind == 1 ? (double)(i * 37 % 5) : sin((double)(i * i));
      for (size_t i = 0; i < m; ++i) y[i] = kind == 0 ? 0.5 - (double)i : kind == 1 ? 3 : cos((double)(i * i));
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = i; j < n; ++j) value[averages++] = x[i] / 2 + x[j] / 2;
      }
      const struct rank_interval paired = rank_paired(x, n, 0.95), unpaired = rank_unpaired(x, n, y, m, 0.95);
      assert_of_sorted(&paired, value, averages, k);
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < m; ++j) value[differences++] = y[j] - x[i];
      }
      assert_of_sorted(&unpaired, value, differences, u);
    }
  }
}

/* What is asked without an interval is answered as the interval would, on its members, beside them and at ties. */
TEST(comparing_agrees_with_the_interval) {
  unsigned answers[2] = {0, 0};
  for (unsigned seed = 0; seed < 400; ++seed) {
    double x[12], y[12];
    const size_t n = 1 + seed % 12, m = seed % 2 == 0 ? 0 : 1 + seed % 7;
    for (size_t i = 0; i < 12; ++i) {
      const double value = sin((double)(seed * 31 + i * i * 7));
      x[i] = seed % 3 == 0 ? round(4 * value) : value;
      y[i] = cos((double)(seed + 5 * i));
    }
    const struct rank_interval is = rank_unpaired(y, m, x, n, 0.95);
    const double member[] = {is.estimate, is.low, is.high};
    for (unsigned k = 0; k < 9; ++k) {
      const double at = k % 3 == 0 ? member[k / 3] : nextafter(member[k / 3], k % 3 == 1 ? INFINITY : -INFINITY);
      struct rank_sample sample = sample_of(y, m, x, n, 0.95);
      assert_int_equal(rank_reaches(&sample, at), is.estimate >= at);
      assert_int_equal(rank_low_is_above(&sample, at), is.low > at);
      assert_int_equal(rank_high_is_below(&sample, at), is.high < at);
      ++answers[is.estimate >= at];
    }
  }
  assert_true(answers[0] > 100 && answers[1] > 100);
}
