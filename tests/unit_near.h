/* cmocka compares floating point in single precision; this compares doubles and prints both. */
#ifndef ATTNBENCH_TESTS_UNIT_NEAR_H
#define ATTNBENCH_TESTS_UNIT_NEAR_H

#include <math.h>

#define assert_near(actual, expected, tolerance) near_check((actual), (expected), (tolerance), __FILE__, __LINE__)

static inline void near_check(double actual, double expected, double tolerance, const char *file, int line) {
  if (actual == expected || fabs(actual - expected) <= tolerance) return;
  print_error("%.17g is not within %g of %.17g\n", actual, tolerance, expected);
  _fail(file, line);
}

#endif
