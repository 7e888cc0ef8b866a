/* Student's t: how likely a mean this far out is by chance. Pure. */
#ifndef ATTNBENCH_CLI_GATE_STUDENT_H
#define ATTNBENCH_CLI_GATE_STUDENT_H

#include <stdbool.h>
#include <stddef.h>

/* P(T > t) with `freedom` > 0 degrees of freedom, which need not be whole. */
double student_tail(double t, double freedom);

/* How far a mean lies out, and how sure that is. */
struct student_score {
  double mean;    /* distance of the two means, or mean of the differences */
  double error;   /* its standard error */
  double freedom; /* of its variance; 0: a side is too small for one */
};

/* Of two samples: Welch's test (1947), for unequal variances. */
struct student_score student_welch(const double *base, size_t base_count, const double *now, size_t now_count);
/* Of differences within pairs. */
struct student_score student_paired(const double *difference, size_t count);

/* The chance of a mean this far above `shift` when the true one is `shift`; 1 when a side is too small. */
double student_chance(const struct student_score *, double shift);
/* Is that chance above `most`? */
bool student_may_be_luck(const struct student_score *, double shift, double most);

#endif
