/* Advice held against measurements: is there a row of the same case that made the advised change and kept the rest?
 */
#ifndef ATTNBENCH_CLI_ANALYSE_EVIDENCE_H
#define ATTNBENCH_CLI_ANALYSE_EVIDENCE_H

#include "cli/analyse/rules.h"

struct evidence {
  bool known;
  const struct record *record; /* the fastest such row */
  const char *source;          /* the file it is in; NULL: the row's own report */
  enum time_mode mode;
  double gain_ratio; /* time of this row over its time; below 1 the change lost */
};

struct evidence evidence_of(const struct rules_row *, enum finding_change);

/* Where the change was measured: a gain is quoted in the advice and takes the place of the promise; true then, and
 * where nothing was measured. False when it lost, or gained less than a measurement can tell. */
bool evidence_supports(const struct rules_row *, struct finding *);

/* Bytes of Q and of the K/V tiles in flight of a block; and whether its shared memory holds no more than these, so
 * that scores, weights and output stay in registers. Of the pass that takes most of the time. */
double evidence_tile_bytes(const struct record *);
bool evidence_in_registers(const struct record *);

#endif
