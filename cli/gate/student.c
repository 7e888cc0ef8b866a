/* Student's t distribution and Welch's test of two samples. */
#include "cli/gate/judge.h"

#include <float.h>
#include <math.h>

/* The continued fraction of the incomplete beta function, by Lentz's method (Press and others, Numerical Recipes,
 * 6.4). Converges in a few steps for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x) {
  const double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (fabs(d) < tiny ? tiny : d);
  double product = d;
  for (int m = 1; m <= 200; ++m) {
    for (int odd = 0; odd < 2; ++odd) {
      const double k = a + 2 * m + odd;
      const double step = odd == 0 ? m * (b - m) * x / ((k - 1) * k) : -(a + m) * (a + b + m) * x / ((k - 1) * k);
      d = 1 + step * d;
      d = 1 / (fabs(d) < tiny ? tiny : d);
      c = 1 + step / c;
      c = fabs(c) < tiny ? tiny : c;
      product *= d * c;
    }
    if (fabs(d * c - 1) < 4 * DBL_EPSILON) break;
  }
  return product;
}

/* The regularised incomplete beta function. */
static double beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) return x > 0;
  const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_tail(double t, double freedom) {
  if (isinf(t)) return t < 0;
  const double one_side = beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
  return t > 0 ? one_side : 1 - one_side;
}

double student_quantile(double chance, double freedom) {
  double low = 0, high = 1;
  while (student_tail(high, freedom) > chance) high *= 2;
  for (unsigned i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    if (student_tail(middle, freedom) > chance) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return high;
}

struct sample {
  double mean, squared_error; /* variance of the mean */
};

static struct sample sample_of(const double *value, size_t count) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; ++i) sum += value[i];
  const double mean = sum / (double)count;
  for (size_t i = 0; i < count; ++i) squares += (value[i] - mean) * (value[i] - mean);
  return (struct sample){mean, squares / (double)(count - 1) / (double)count};
}

struct student_score student_welch(const double *base, size_t base_count, const double *now, size_t now_count) {
  if (base_count < 2 || now_count < 2) return (struct student_score){.freedom = 0};
  const struct sample one = sample_of(base, base_count), two = sample_of(now, now_count);
  const double error = one.squared_error + two.squared_error;
  const double freedom = error * error /
                         (one.squared_error * one.squared_error / (double)(base_count - 1) +
                          two.squared_error * two.squared_error / (double)(now_count - 1));
  return (struct student_score){two.mean - one.mean, sqrt(error), error > 0 ? freedom : 1};
}

struct student_score student_paired(const double *difference, size_t count) {
  if (count < 2) return (struct student_score){.freedom = 0};
  const struct sample one = sample_of(difference, count);
  return (struct student_score){one.mean, sqrt(one.squared_error), (double)(count - 1)};
}

double student_chance(const struct student_score *score, double shift) {
  if (score->freedom <= 0) return 1;
  if (score->error <= 0) return score->mean > shift ? 0 : 1;
  return student_tail((score->mean - shift) / score->error, score->freedom);
}
