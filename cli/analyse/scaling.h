/* Scaling over B and H: the growth of a variant's time, compared with that of the work and of the waves of its grid.
 * Pure. */
#pragma once

#include "cli/analyse/metrics.h"

/* SCALING(verdict, what it means): how the time of a row grew against the baseline of its group. The names are
 * stable. Names with _without_grid are for rows whose launches are not known. */
#define SCALING_MAP(X)                                                                                               \
  X(none, "nothing is said: the row is the baseline, has less work than it, or was not timed")                       \
  X(flat, "the time hardly grew: idle SMs took the extra work")                                                      \
  X(less_than_waves, "the time grew less than the waves")                                                            \
  X(serial, "the time grew as a loop over B*H inside a block makes it grow")                                         \
  X(linear, "the time grew as the work did: the GPU was full already")                                               \
  X(as_waves, "the time grew as the waves did")                                                                      \
  X(as_blocks_per_sm, "the time grew more than the waves, but not more than the blocks per SM")                      \
  X(worse_than_waves, "the time grew more than the waves and more than the blocks per SM")                           \
  X(sublinear_without_grid, "the time grew less than the work")                                                      \
  X(linear_without_grid,                                                                                             \
    "the time grew as the work did: a grid that misses B*H and a full GPU both do this, and time alone cannot tell " \
    "them apart")                                                                                                    \
  X(superlinear_without_grid, "the time grew more than the work")

enum scaling_verdict {
#define SCALING_ENUM(name, help) SCALING_##name,
  SCALING_MAP(SCALING_ENUM)
#undef SCALING_ENUM
      SCALING_VERDICT_COUNT
};
const char *scaling_verdict_name(uint32_t verdict); /* NULL past the last */
const char *scaling_verdict_help(enum scaling_verdict);

/* One row compared with the baseline row of its group. Rows of a group have the same variant text, card and Hq / Hkv
 * ratio, and shapes that differ in B, Hq and Hkv alone. Only rows with status `ok` or `planned` belong to a group. */
struct scaling {
  bool known; /* false: the row is alone in its group, or in none */
  bool is_baseline;
  char baseline_key[AXIS_KEY_MAX];
  size_t baseline_index; /* index in records of the baseline, and of the group's row with the largest B*Hq */
  size_t widest_index;
  double bh_ratio;   /* B*Hq over the baseline's */
  double work_ratio; /* FLOPs over the baseline's */
  /* Expected time ratios, row / baseline; NAN without passes. Each is a sum over passes: of ceil(waves) for
     wave_ratio, which assumes that blocks on one SM do not slow each other; of ceil(blocks / SMs) for load_ratio,
     which assumes that they take turns. Each term is multiplied by the B*H pairs that a block computes in sequence
     and by the rounds of a persistent grid, and divided by the splits of the keys. */
  double wave_ratio, load_ratio;
  bool timed;                         /* the next two are known in at least one mode */
  double time_ratio[TIME_MODE_COUNT]; /* of medians; NAN when a mode is missing */
  double residual[TIME_MODE_COUNT];   /* time_ratio / wave_ratio; 1 = as the waves say */
  double us_per_bh[TIME_MODE_COUNT];  /* median / (B*Hq), the time per (batch, head) pair; NAN when not timed */
  /* The B*Hq at which the plan's first pass fills one wave. NAN: its grid does not grow with B*Hq, or there are no
     passes. An upper bound where the number of resident blocks is an upper bound. */
  double full_bh;
  enum scaling_verdict verdict;
  enum time_mode verdict_mode; /* mode of the times behind the verdict: hot if both rows have hot times */
};

/* B*Hq: (batch, query head) pairs of a shape. */
uint64_t scaling_pairs(const struct attn_problem *);
/* The number of (batch, head) pairs that a block of this pass computes in sequence: B*Hq if the grid covers neither.
 */
double scaling_serial_pairs(const struct attn_problem *, const struct pass_metrics *);

/* Fills out[i] for each of the `count` rows; records[i] and metrics[i] describe one row. `baseline` selects the
 * baseline of each group. When it is NULL or matches no row of a group, the row with the smallest B*Hq is the group's
 * baseline. On STATUS_MEMORY no row is known. */
struct status scaling_of(const struct record *records, const struct metrics *metrics, size_t count,
                         const struct sweep_baseline *baseline, struct scaling *out);
