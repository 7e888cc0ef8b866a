/* The sentinel: one cell that a long run measures repeatedly (--sentinel). A change of its time shows a change of the
 * device during the run. */
#pragma once

#include "cli/sweep/variant_spec.h"
#include "kernels/device.h"
#include "kernels/problem/axes.h"

/* One measurement of the sentinel, a line of the journal. */
struct sentinel_line {
  char key[AXIS_KEY_MAX], variant[VARIANT_SPEC_MAX];
  double us[TIME_MODE_COUNT]; /* medians; NAN: not timed in this mode */
};

/* The summary of all its measurements, a part of the report. */
struct sentinel {
  bool known;
  char key[AXIS_KEY_MAX], variant[VARIANT_SPEC_MAX];
  uint32_t count;
  struct sentinel_mode {
    double first_us, last_us, min_us, max_us, drift_ratio; /* drift: last over first; NAN: not timed in this mode */
  } mode[TIME_MODE_COUNT];
};

/* Adds a measurement. The first one sets the cell; false when the line is of another cell. */
bool sentinel_add(struct sentinel *, const struct sentinel_line *);
