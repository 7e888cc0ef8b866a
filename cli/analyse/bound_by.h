/* What bounds the time of a row, from measured values alone: each known limit is compared with the time, and the one
 * that explains it is named with its numbers. Unlike a finding it gives no advice, and a vendor's row has it too.
 * Pure. */
#pragma once

#include <stdint.h>

#include "cli/analyse/metrics.h"

/* BOUND(name, what it means). The names are stable. */
#define BOUND_BY_MAP(X)                                                                                              \
  X(none, "no limit below is near enough to explain the time")                                                       \
  X(products, "the pipe of the products (fp32, mma.sync or wgmma) at the clock of the row, on the SMs with a block") \
  X(exponentials, "the special-function units, at one exponential per score, on the SMs with a block")               \
  X(shared, "the bandwidth of shared memory, on the SMs with a block")                                               \
  X(l2, "the bandwidth of L2, for what the tiles request of it")                                                     \
  X(bytes, "the rate that DRAM reaches, for each tensor once or what a profiler counted")                            \
  X(power, "steady: the card draws its power limit and lowers the clock, so that energy per operation decides")      \
  X(chain, "all blocks run at once and no pipe is full: the time is that of one block's tiles, one after the other") \
  X(launch, "launch, first load and last store take most of the time")

enum bound_kind {
#define BOUND_ENUM(name, help) BOUND_##name,
  BOUND_BY_MAP(BOUND_ENUM)
#undef BOUND_ENUM
      BOUND_COUNT
};
const char *bound_by_name(uint32_t kind); /* NULL behind the last one */
const char *bound_by_help(uint32_t kind);
/* The share of a limit from which it bounds a row: finding_limits.near_roof_min. */
double bound_by_share_min(void);

enum { BOUND_BY_TEXT_MAX = 256 };

struct bound_by {
  bool known; /* false: not timed, of a CPU, or of a GPU whose rates are not known */
  enum bound_kind limit;
  enum time_mode mode; /* of the time that is explained: steady where it was measured, else hot, else cold */
  double ratio;        /* the part of this limit that the row takes, or of its time that the limit explains; of `none`
                          the largest one of all limits */
  char text[BOUND_BY_TEXT_MAX]; /* "wgmma at 1755 MHz: 87 %, then exponentials 52 %" */
};

/* power_limit_w: that of the card; 0 or NAN when not known. */
void bound_by_of(const struct record *, const struct metrics *, const struct device_info *, double power_limit_w,
                 struct bound_by *out);
