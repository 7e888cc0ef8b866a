/* What a profiler counted while it ran a cell's kernels: facts of a row like its times, only taken by another tool.
 * They come from a counter file (counters.h) and stand in the report's JSON, not in journals. */
#ifndef ATTNBENCH_CLI_RECORD_COUNTER_RECORD_H
#define ATTNBENCH_CLI_RECORD_COUNTER_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/variant.h"

/* How the passes of a plan make the plan's value: added up, or averaged by their time or by their requests of L2. */
enum counter_total { COUNTER_SUM, COUNTER_BY_TIME, COUNTER_BY_L2_BYTES };

/* COUNTER(name, how, what it is). A _ratio is 0..1. Results/README.md names the metrics of ncu. */
#define COUNTER_MAP(X)                                                                                            \
  X(gpu_time_us, SUM, "duration of the kernel under the profiler")                                                \
  X(sm_cycles, SUM, "cycles that the SMs' clock counted meanwhile")                                               \
  X(dram_read_bytes, SUM, "bytes that came from DRAM")                                                            \
  X(dram_write_bytes, SUM, "bytes that went to DRAM")                                                             \
  X(l2_bytes, SUM, "bytes that the SMs asked L2 for, in whole sectors of 32")                                     \
  X(l2_hit_ratio, BY_L2_BYTES, "share of those sectors that were in L2")                                          \
  X(tensor_pipe_ratio, BY_TIME, "share of its peak that the tensor pipe reached")                                 \
  X(issue_ratio, BY_TIME, "share of the schedulers' cycles that issued an instruction")                           \
  X(achieved_occupancy_ratio, BY_TIME, "warps that were resident over those that an SM holds, while it had any")  \
  X(shared_wavefronts, SUM, "passes through shared memory; an SM does one a cycle")                               \
  X(shared_bank_conflicts, SUM, "passes that the hardware counts as conflicts, arbitration with copies included") \
  X(shared_excess_wavefronts, SUM, "passes that the addresses alone cost beyond the fewest possible")             \
  X(global_load_requests, SUM, "load instructions of warps on global memory")                                     \
  X(global_load_sectors, SUM, "sectors that these asked for")                                                     \
  X(global_sectors, SUM, "sectors that loads and stores of global memory ask for, before any cache")              \
  X(global_excess_sectors, SUM, "of these, beyond the fewest that hold the bytes asked for")                      \
  X(local_bytes, SUM, "bytes of local memory (spills and stack) loaded and stored")

/* NAN is not known. */
struct counter_values {
#define COUNTER_MEMBER(name, how, help) double name;
  COUNTER_MAP(COUNTER_MEMBER)
#undef COUNTER_MEMBER
};

enum { COUNTER_KERNEL_MAX = 256, COUNTER_STALL_MAX = 40 };

/* What warps waited for most, of all the time between two of their instructions. */
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

/* Nothing is known. */
void counter_record_start(struct counter_record *);

/* The whole plan's values; one that some pass does not know is not known. */
struct counter_values counter_totals(const struct counter_record *);
/* The stall of the pass that takes longest; not known when that pass has none. */
struct counter_stall counter_top_stall(const struct counter_record *);

#endif
