/* The facts of a run that are known before its first cell: the first line of its journal. */
#pragma once

#include <limits.h>
#include <string.h>

#include "cli/base/program.h"
#include "cli/sweep/cells.h"
#include "kernels/device.h"

/* The sentinel: one cell that a long run measures repeatedly (--sentinel). A change of its time shows a change of the
 * device during the run. */

/* One measurement of the sentinel, a line of the journal. */
struct sentinel_line {
  char key[AXIS_KEY_MAX], variant[VARIANT_SPEC_MAX];
  double us[TIME_MODE_COUNT]; /* medians; NAN: not timed in this mode */
};

/* The summary of all its measurements, a part of the report. */
struct sentinel {
  bool known;
  char key[AXIS_KEY_MAX], variant[VARIANT_SPEC_MAX];
  uint32_t count;
  struct sentinel_mode {
    double first_us, last_us, min_us, max_us, drift_ratio; /* drift: last over first; NAN: not timed in this mode */
  } mode[TIME_MODE_COUNT];
};

/* Adds a measurement. The first one sets the cell; false when the line is of another cell. */
bool sentinel_add(struct sentinel *, const struct sentinel_line *);

/* The device that measured. */
struct device_line {
  struct device_info info;
  double event_overhead_us;    /* time that an event pair adds to a cold time (event_overhead_in) */
  struct device_policy policy; /* its settings; not written when they are not known */
};

/* The size of a text; a longer one is cut and ends in " ...". In JSON a control byte takes 6 bytes, and the text must
 * still be shorter than JSON_STRING_MAX. */
enum { RUN_TEXT_MAX = 4096 };

/* Properties that a run continued with --resume must have in common with its beginning, besides those of struct
 * run_info. */
enum { RUN_OBJECTS_MAX = 8 };
struct run_setup {
  bool known;
  char program[HASH_TEXT_MAX]; /* hash of the executable */
  char objects[RUN_OBJECTS_MAX *
               HASH_TEXT_MAX];      /* hashes of the objects of --load, separated by spaces; "" for none */
  char cells[HASH_TEXT_MAX];        /* hash of the names of the selected cells, in order */
  char reference[VARIANT_SPEC_MAX]; /* "" for none */
  char modes[16];                   /* the timed modes; "" with --check-only */
  char inject[CELL_GLOB_MAX + 16];  /* --inject-slowdown, "" for none */
  uint32_t rounds;
};

enum { RUN_COMMIT_MAX = 65 };
struct run_info {
  char tool[32];                                         /* the program that measured; "": attnbench */
  char version[32], git_commit[32], cuda[16], cjson[16]; /* of that tool */
  char commit[RUN_COMMIT_MAX];                           /* of the measured kernel's own repository; "": not given */
  char started_utc[24];                                  /* RFC 3339, seconds: "2026-11-20T11:04:00Z" */
  char command[RUN_TEXT_MAX];                            /* argv, shell-quoted */
  char sweep_path[PATH_MAX], sweep_name[SWEEP_NAME_MAX + 1], sweep_about[SWEEP_ABOUT_MAX + 1],
      sweep_hash[HASH_TEXT_MAX];
  bool has_baseline;
  struct sweep_baseline baseline;
  char filter[RUN_TEXT_MAX]; /* "" when none */
  uint64_t seed;
  uint64_t cell_count;        /* number of cells of the run, measured or not */
  char shard[SHARD_TEXT_MAX]; /* "2/4": this is part 2 of 4 of a run; "" for a whole run */
  uint32_t merged_shards;     /* number of shards that were merged; 0: measured as a whole */
  char order[16];             /* order in which cells were measured: "seeded", "shortest"; "": the sweep's */
  double time_budget_s;       /* NAN: none */
  struct sentinel sentinel;
  uint32_t resumed; /* how often the run was continued (--resume) */
  struct run_setup setup;
  bool quick;                       /* measured with the smaller time budget (--quick) */
  bool tuned;                       /* a search for tunables: its cells have unequal numbers of rounds */
  bool in_steps;                    /* a side of `ab`: cells that were clear sooner have fewer processes */
  bool by_card;                     /* several cards measured cells, and rows name theirs (--devices) */
  struct sweep_gate gate;           /* the sweep's own thresholds */
  char planned_gpu[16];             /* model that planned rows are for; "" when none */
  char profiled[PROFILED_TEXT_MAX]; /* the tool inside the process that measured (profiled_tool); "" when none */
  uint32_t profile_launches;        /* launches per cell for a profiler to capture (--profile); 0: rows were timed */
};

/* Did attnbench measure it? Another program's report has checks, and a duration of its run, of its own. */
static inline bool run_info_is_own(const struct run_info *run) {
  return run->tool[0] == '\0' || strcmp(run->tool, "attnbench") == 0;
}
