/* Why a row is slow: findings, each a measured fact, what it means and one concrete change. Pure: works on a saved
 * report as well as on a fresh one. */
#ifndef ATTNBENCH_CLI_ANALYSE_DIAGNOSE_H
#define ATTNBENCH_CLI_ANALYSE_DIAGNOSE_H

#include "cli/analyse/scaling.h"

enum finding_severity { FINDING_NOTE, FINDING_WARNING, FINDING_SEVERE };

/* FINDING(id, severity, what it means): ids are stable, scripts match on them. */
#define FINDING_MAP(X)                                                                                             \
  X(grid_misses_bh, SEVERE, "the grid does not grow with B*H: batch and heads run one after the other in a block") \
  X(below_one_wave, WARNING, "fewer blocks than the GPU can hold at once: SMs or their slots stay idle")           \
  X(tail_wave, WARNING, "the last wave is mostly empty but takes as long as a full one")                           \
  X(smem_limits_occupancy, NOTE, "shared memory decides how many blocks fit on an SM")                             \
  X(registers_limit_occupancy, NOTE, "registers decide how many blocks fit on an SM")                              \
  X(spills, WARNING, "registers spill to local memory")                                                            \
  X(idle_threads, WARNING, "threads that hold no query row wait while the others compute")                         \
  X(memory_bound, NOTE, "close to the DRAM roof: only moving fewer bytes helps")                                   \
  X(compute_bound, NOTE, "close to the compute roof of the pipe it uses")                                          \
  X(latency_bound, WARNING, "far from every roof: time goes to waiting, not to bytes or FLOPs")                    \
  X(scales_with_bh, NOTE, "time against B*H: what growth the waves explain and what they do not")                  \
  X(rereads_kv, WARNING, "K and V are asked for many times: by tiles of few query rows, or past what L2 holds")    \
  X(bank_conflicts, WARNING,                                                                                       \
    "lanes of a warp meet in one bank of shared memory and go through it one after the other")                     \
  X(uncoalesced, WARNING, "lanes of a warp touch more sectors of global memory than hold what they ask for")       \
  X(launch_bound, WARNING, "no longer than a launch itself takes: the kernel's own work hardly counts")

enum finding_id {
#define FINDING_ENUM(name, severity, help) FINDING_ID_##name,
  FINDING_MAP(FINDING_ENUM)
#undef FINDING_ENUM
      FINDING_ID_COUNT
};
const char *finding_name(enum finding_id);
enum finding_severity finding_severity(enum finding_id);
const char *finding_severity_name(enum finding_severity); /* "note", "warning", "severe" */
const char *finding_help(enum finding_id);

enum { FINDINGS_MAX = 16, FINDING_TEXT_MAX = 320 };

struct finding {
  enum finding_id id;
  uint32_t pass;                   /* index of the pass it is about */
  char measured[FINDING_TEXT_MAX]; /* the fact, with its numbers */
  char advice[FINDING_TEXT_MAX];   /* one concrete change */
};

struct findings {
  size_t count; /* worst severity first */
  struct finding item[FINDINGS_MAX];
};

/* Where a row has counters (record.h), findings quote these instead of what launch, times and traffic model let one
 * infer, and say which profiler counted; bank_conflicts and uncoalesced come from counters alone.
 *
 * Findings of row `index`. records, metrics and scaling (scaling_of) belong together; a row of a scaling group is
 * held against that group's baseline. Every finding appears at most once, about the pass where it is worst. Rows
 * without a launch plan get none about geometry, and only rows with status ok get findings that speak of time.
 * `device` is that of the row. */
void diagnose(const struct record *records, const struct metrics *metrics, const struct scaling *scaling,
              size_t count, size_t index, const struct device_info *, struct findings *out);

#endif
