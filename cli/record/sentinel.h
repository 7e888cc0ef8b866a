/* One cell that a long run measures again and again (--sentinel): what its times do over the run, the device did. */
#ifndef ATTNBENCH_CLI_RECORD_SENTINEL_H
#define ATTNBENCH_CLI_RECORD_SENTINEL_H

#include "cli/sweep/case_key.h"
#include "cli/sweep/variant_spec.h"
#include "kernels/device.h"

/* One measurement: a line of the journal. */
struct sentinel_line {
  char key[CASE_KEY_MAX], variant[VARIANT_SPEC_MAX];
  double us[TIME_MODE_COUNT]; /* medians; NAN: not timed in this mode */
};

/* All of them: a part of the report. */
struct sentinel {
  bool known;
  char key[CASE_KEY_MAX], variant[VARIANT_SPEC_MAX];
  uint32_t count;
  struct sentinel_mode {
    double first_us, last_us, min_us, max_us, drift_ratio; /* drift: last over first; NAN: not timed in this mode */
  } mode[TIME_MODE_COUNT];
};

/* The first one says which cell it is; false for one of another cell. */
bool sentinel_add(struct sentinel *, const struct sentinel_line *);

#endif
