/* The counters of a profiler that ran a cell's kernels. They are measured facts of a row, like its times, and come
 * from a counter file (counters.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/variant.h"

/* How a counter's value for the plan follows from those of its passes: their sum, or their mean weighted by time or
 * by bytes requested of L2. */
enum counter_total { COUNTER_SUM, COUNTER_BY_TIME, COUNTER_BY_L2_BYTES };

/* COUNTER(name, how it is totalled over passes). A _ratio is 0..1. results/format.md says what each is, and which
 * metrics of ncu it comes from. */
#define COUNTER_MAP(X)                 \
  X(gpu_time_us, SUM)                  \
  X(sm_cycles, SUM)                    \
  X(dram_read_bytes, SUM)              \
  X(dram_write_bytes, SUM)             \
  X(l2_bytes, SUM)                     \
  X(l2_hit_ratio, BY_L2_BYTES)         \
  X(tensor_pipe_ratio, BY_TIME)        \
  X(issue_ratio, BY_TIME)              \
  X(achieved_occupancy_ratio, BY_TIME) \
  X(shared_wavefronts, SUM)            \
  X(shared_bank_conflicts, SUM)        \
  X(shared_excess_wavefronts, SUM)     \
  X(global_load_requests, SUM)         \
  X(global_load_sectors, SUM)          \
  X(global_sectors, SUM)               \
  X(global_excess_sectors, SUM)        \
  X(local_bytes, SUM)

/* The value of each counter; NAN: not known. */
struct counter_values {
#define COUNTER_MEMBER(name, how) double name;
  COUNTER_MAP(COUNTER_MEMBER)
#undef COUNTER_MEMBER
};

enum { COUNTER_KERNEL_MAX = 256, COUNTER_STALL_MAX = 40 };

/* The stall reason that took the largest share of the time that warps spent between two instructions. */
struct counter_stall {
  bool known;
  char name[COUNTER_STALL_MAX]; /* ncu's, without prefix: "long_scoreboard" */
  double ratio;
};

struct counter_pass {
  char kernel[COUNTER_KERNEL_MAX]; /* as the profiler names it */
  uint32_t grid[3], block[3];
  struct counter_values values; /* means over the launches */
  struct counter_stall top_stall;
};

struct counter_record {
  bool done;
  char source[48]; /* "ncu 2025.3.1" */
  char cache[8];   /* "cold": caches flushed before each kernel; "hot": left as they were */
  uint32_t launches;
  uint32_t pass_count;
  struct counter_pass pass[ATTN_PASSES_MAX];
};

/* Makes a record in which nothing is known. */
void counter_record_start(struct counter_record *);

/* The values for the whole plan; NAN where some pass has no value. */
struct counter_values counter_record_totals(const struct counter_record *);
/* The stall of the pass that takes longest; not known when that pass has none. */
struct counter_stall counter_record_top_stall(const struct counter_record *);
