/* In what order a run measures its cells, and for which of them its time budget has no room. */
#ifndef ATTNBENCH_CLI_COMMAND_SCHEDULE_H
#define ATTNBENCH_CLI_COMMAND_SCHEDULE_H

#include "cli/options/options.h"
#include "cli/record/record.h"
#include "cli/sweep/cells.h"

/* As --order says; with --time-budget the shortest come first. */
struct status schedule_order(const struct options *, struct cells *);
/* "seeded", "shortest"; "" in the order of the sweep. */
const char *schedule_order_name(const struct options *);

/* What measuring cells took so far. */
struct schedule {
  double sum_s, longest_s;
  size_t variant_count;
  struct schedule_variant {
    const char *name;
    double flops, wall_s; /* of the last cell */
  } variant[SWEEP_VARIANTS_MAX];
};

/* A cell was measured once and took so long. It must stay where it is. */
void schedule_learn(struct schedule *, const struct cell *, double wall_s);
/* Seconds that a cell will take: as long as the variant's last one, in the ratio of their work where it has more. Of
 * a variant that was not measured yet, as long as the longest so far. */
double schedule_predict(const struct schedule *, const struct cell *);
/* Does the budget that has left_s seconds left allow for the cell, and for `rounds` - 1 more of it and of all before?
 * The record of one for which it does not says so. */
bool schedule_has_room(const struct schedule *, const struct cell *, uint64_t rounds, double left_s);
void schedule_leave_out(const struct schedule *, const struct options *, const struct cell *, struct record *);

#endif
