/* Change points: where the level of a series of values changed for good. Pure.
 *
 * Every split of every seeded interval (Kovacs and others: Seeded binary segmentation, 2023) is a Student's t-test of
 * the values before against those after it. All tests together raise a false alarm in at most CHANGE_FALSE_ALARMS of
 * the series in which nothing changes (Bonferroni), however long they are. Values far from the median of their
 * neighbours are moved towards it first, so that a few disturbed runs are no change. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kernels/status.h"

enum { CHANGE_POINTS_MAX = 32, CHANGE_SIDE_LEAST = 3 };
#define CHANGE_FALSE_ALARMS 0.05
/* A smaller change, as a difference of logarithms, is nobody's business. */
#define CHANGE_SHIFT_LEAST 0.005

struct change_point {
  size_t at;               /* index of the first value of the new level */
  size_t earliest, latest; /* between which `at` lies with a confidence of 95 % */
  double before, after;    /* the levels: means, of the values up to the neighbouring change points */
  double shift, low, high; /* after - before, and its 95 % interval */
};

struct change_points {
  size_t count;
  struct change_point item[CHANGE_POINTS_MAX]; /* in the order of the series; of more, the clearest ones */
  bool is_drift; /* a line fits the values better than the steps that were found; count is 0 then */
  double drift;  /* along that line, from the first to the last value */
};

/* STATUS_MEMORY. `count` may be 0. All values are finite. */
struct status change_find(const double *value, size_t count, struct change_points *out);
