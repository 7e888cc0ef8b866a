/* Student's t: how likely a mean this far out is by chance. Pure. */
#ifndef ATTNBENCH_CLI_GATE_STUDENT_H
#define ATTNBENCH_CLI_GATE_STUDENT_H

#include <stddef.h>

/* P(T > t) with `freedom` > 0 degrees of freedom, which need not be whole. */
double student_tail(double t, double freedom);

/* The chance of two samples of at least two values each, whose means lie at least this far above `shift`, when their
 * true distance is `shift`: Welch's test (1947), for unequal variances. 1 when a side is too small. */
double student_welch(const double *base, size_t base_count, const double *now, size_t now_count, double shift);

/* The same of differences within pairs: the chance of a mean this far above `shift`. */
double student_paired(const double *difference, size_t count, double shift);

#endif
