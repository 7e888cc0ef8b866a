/* Student's t-test. Pure. */
#pragma once

#include <stddef.h>

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
