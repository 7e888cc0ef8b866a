/* Checks advice against measurements: is there a row of the same case that differs by the advised change alone? */
#pragma once

#include "cli/analyse/rules.h"

struct evidence {
  bool known;
  const struct record *record; /* the fastest such row */
  const char *source;          /* the file it is in; NULL: the row's own report */
  enum time_mode mode;
  double gain_ratio; /* time of the diagnosed row / time of that row; below 1 the change made it slower */
};

/* The fastest row that made this change to the diagnosed row, from its own report or, if there is none, from
 * rules_row.elsewhere. */
struct evidence evidence_of(const struct rules_row *, enum finding_change);
/* The same among rows that have only the pipe of the products in common with the diagnosed row. Other differences add
 * to what they gain, so that they are no measure of the change; but when even the fastest is slower, the change is
 * not worth a promise. */
struct evidence evidence_of_pipe(const struct rules_row *, enum finding_change);

/* Checks the finding's advice against a row that made the change. Without such a row the finding stays as it is;
 * true. A measured gain is quoted in the advice and replaces the promised one; true. False when the measured change
 * is slower, or faster by less than measurements can tell. */
bool evidence_supports(const struct rules_row *, struct finding *);

/* Bytes of a block's Q tile and of its K/V tiles in flight. */
double evidence_tile_bytes(const struct record *);
/* Do scores, weights and output stay in registers? False only if three things hold in the slowest pass
 * (rules_slowest_pass): a block's shared memory is more than 1.25 times evidence_tile_bytes; no two warps share query
 * rows, so that no warp needs K/V tiles of its own; and a thread has too few registers for all three. */
bool evidence_in_registers(const struct record *);
/* The union of what the grid axes of all passes cover: bits of ATTN_COVERS_*. */
unsigned evidence_covers(const struct record *);
