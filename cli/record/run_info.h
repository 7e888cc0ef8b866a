/* What is known of a run before its first cell: the first line of its journal. */
#ifndef ATTNBENCH_CLI_RECORD_RUN_INFO_H
#define ATTNBENCH_CLI_RECORD_RUN_INFO_H

#include <limits.h>

#include "cli/base/profiled.h"
#include "cli/record/sentinel.h"
#include "cli/sweep/selection.h"

/* A longer text ends in " ...". Written as JSON it must stay below JSON_STRING_MAX, with 6 bytes for a control byte.
 */
enum { RUN_TEXT_MAX = 4096 };

/* What a run that continues a journal (--resume) must have in common with the one that began it, beyond what is known
 * of every run. */
enum { RUN_OBJECTS_MAX = 8 };
struct run_setup {
  bool known;
  char program[HASH_TEXT_MAX];                   /* hash of the executable */
  char objects[RUN_OBJECTS_MAX * HASH_TEXT_MAX]; /* of each object of --load, with spaces between; "" for none */
  char cells[HASH_TEXT_MAX];                     /* of the names of the selected cells, in order */
  char reference[VARIANT_SPEC_MAX];              /* "" for none */
  char modes[16];                                /* that are timed; "" with --check-only */
  char inject[CELL_GLOB_MAX + 16];               /* --inject-slowdown, "" for none */
  uint32_t rounds;
};

struct run_info {
  char tool[32];                                         /* that measured; empty: attnbench */
  char version[32], git_commit[32], cuda[16], cjson[16]; /* of that tool */
  char started_utc[24];                                  /* RFC 3339, seconds: "2026-11-20T11:04:00Z" */
  char command[RUN_TEXT_MAX];                            /* argv, shell-quoted */
  char sweep_path[PATH_MAX], sweep_name[SWEEP_NAME_MAX + 1], sweep_about[SWEEP_ABOUT_MAX + 1],
      sweep_hash[HASH_TEXT_MAX];
  bool has_baseline;
  struct sweep_baseline baseline;
  char filter[RUN_TEXT_MAX]; /* "" when none */
  uint64_t seed;
  uint64_t cell_count;        /* cells that the run set out to do */
  char shard[SHARD_TEXT_MAX]; /* "2/4": the part of a run that this is; "" for the whole */
  uint32_t merged_shards;     /* that this was put together from; 0: measured as a whole */
  char order[16];             /* in which the cells were measured: "seeded", "shortest"; "": that of the sweep */
  double time_budget_s;       /* NAN: none */
  struct sentinel sentinel;
  uint32_t resumed; /* how often it was continued after it had stopped */
  struct run_setup setup;
  bool quick;                       /* measured with the smaller time budget (--quick) */
  bool tuned;                       /* a search for tunables: its cells have unequal numbers of rounds */
  bool by_card;                     /* cells were handed out to cards, and their rows say which (--devices) */
  struct sweep_gate gate;           /* the sweep's own thresholds */
  char planned_gpu[16];             /* model that planned rows are for; "" when none */
  char profiled[PROFILED_TEXT_MAX]; /* the tool inside the process that measured (profiled_tool); "" when none */
  uint32_t profile_launches;        /* of every cell, for a profiler to capture (--profile); 0: rows were timed */
};

#endif
