/* The order in which a run measures its cells, and the cells that its time budget leaves out. */
#pragma once

#include "cli/options/options.h"
#include "cli/record/record.h"
#include "cli/sweep/cells.h"

/* Puts the cells in the order of --order. With --time-budget and without --order the cells with least work come
 * first. */
struct status schedule_order(const struct options *, struct cells *);
/* The name of that order: "seeded", "shortest", or "" for the order of the sweep. */
const char *schedule_order_name(const struct options *);

/* How long the cells took so far. */
struct schedule {
  double sum_s, longest_s; /* over the first measurements of all cells */
  size_t variant_count;
  struct schedule_variant {
    const char *name;
    double flops, wall_s; /* of the variant's last cell */
  } variant[SWEEP_VARIANTS_MAX];
};

/* Notes how long the first measurement of a cell took. The cell must outlive the schedule. */
void schedule_learn(struct schedule *, const struct cell *, double wall_s);
/* Estimates the seconds that a cell will take: as long as the variant's last cell, and longer by the ratio of their
 * FLOPs when the new cell has more. For a variant without a measured cell it is the longest time of any cell so far.
 */
double schedule_predict(const struct schedule *, const struct cell *);
/* Whether the left_s seconds that are left of the budget suffice for the first round of this cell and for the other
 * rounds - 1 rounds of this cell and of all cells before it. */
bool schedule_has_room(const struct schedule *, const struct cell *, uint64_t rounds, double left_s);
/* Makes the record of a cell that the time budget leaves out. */
void schedule_leave_out(const struct schedule *, const struct options *, const struct cell *, struct record *);
