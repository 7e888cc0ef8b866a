/* Scaling over B and H: how a variant's time grows against the work and against the waves its grid needs. Pure. */
#ifndef ATTNBENCH_CLI_ANALYSE_SCALING_H
#define ATTNBENCH_CLI_ANALYSE_SCALING_H

#include "cli/analyse/metrics.h"

/* SCALING(verdict, what it means): how the time of a row grew against the baseline of its group. The names are
 * stable. Those without_grid are for rows whose launches are not known. */
#define SCALING_MAP(X)                                                                           \
  X(none, "not told: the baseline itself, less work than it, or not timed")                      \
  X(flat, "flat: idle SMs took the extra work")                                                  \
  X(less_than_waves, "less than the waves say")                                                  \
  X(serial, "as the serial loop over B*H says")                                                  \
  X(linear, "linear in the work: the GPU was full already")                                      \
  X(as_waves, "as the waves say")                                                                \
  X(as_blocks_per_sm, "more than the waves say, no more than the blocks per SM")                 \
  X(worse_than_waves, "worse than the waves and the blocks per SM say")                          \
  X(sublinear_without_grid, "less than the work")                                                \
  X(linear_without_grid,                                                                         \
    "linear in the work: a grid that misses B*H and a full GPU both do this, time alone cannot " \
    "tell them apart")                                                                           \
  X(superlinear_without_grid, "more than the work")

enum scaling_verdict {
#define SCALING_ENUM(name, help) SCALING_##name,
  SCALING_MAP(SCALING_ENUM)
#undef SCALING_ENUM
      SCALING_VERDICT_COUNT
};
const char *scaling_verdict_name(enum scaling_verdict);
const char *scaling_verdict_help(enum scaling_verdict);

/* One row against the baseline row of its group: same variant text, same card, shapes that differ in B, Hq and Hkv
 * only with one Hq / Hkv ratio. Only rows that ran right (ok) or were planned belong to a group. */
struct scaling {
  bool known; /* false: alone in its group */
  bool is_baseline;
  char baseline_key[CASE_KEY_MAX];
  size_t baseline_index; /* of the baseline, and of the group's row with most B*Hq, in records */
  size_t widest_index;
  double bh_ratio;   /* B*Hq over the baseline's */
  double work_ratio; /* FLOPs over the baseline's */
  /* Expected time ratio: sum over passes of ceil(waves) over the baseline's, times the serial B*H work inside a block
     where the grid does not cover it, or the rounds of a persistent grid. NAN without passes. It assumes that blocks
     which share an SM do not slow each other; load_ratio, with ceil(blocks / SMs) in place of ceil(waves), assumes
     that they take turns. */
  double wave_ratio, load_ratio;
  bool timed;                         /* the next two are known in at least one mode */
  double time_ratio[TIME_MODE_COUNT]; /* of medians; NAN when a mode is missing */
  double residual[TIME_MODE_COUNT];   /* time_ratio / wave_ratio; 1 = as the waves say */
  double us_per_bh[TIME_MODE_COUNT];  /* median / (B*Hq): the price of one (batch, head) pair; NAN when not timed */
  /* The B*Hq at which the first pass of this plan fills one wave. NAN: its grid does not grow with B*Hq, or there are
     no passes. An upper bound where the resident blocks are one. */
  double full_bh;
  enum scaling_verdict verdict;
  enum time_mode verdict_mode; /* the times that were judged: hot where both rows have them */
};

/* B*Hq: (batch, query head) pairs of a shape. */
uint64_t scaling_pairs(const struct attn_shape *);
/* How many (batch, head) pairs a block of this pass computes in sequence: B*Hq where the grid covers neither. */
double scaling_serial_pairs(const struct attn_shape *, const struct pass_metrics *);

/* records[i] and metrics[i] belong together; out has count entries. baseline may be NULL: then each group's smallest
 * B*Hq is its baseline; a group that has no row matching the baseline falls back to the same rule. STATUS_MEMORY
 * leaves every row not known. */
struct status scaling_of(const struct record *records, const struct metrics *metrics, size_t count,
                         const struct sweep_baseline *baseline, struct scaling *out);

#endif
