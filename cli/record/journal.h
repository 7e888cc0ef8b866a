/* The journal: a header line, the device's line, then one synced JSON line per finished cell, and one per cell that a
 * later process measured again. It is the truth; reports are made from it. A torn last line (power loss, kill) is
 * dropped on reading; damage anywhere else is an error. */
#ifndef ATTNBENCH_CLI_RECORD_JOURNAL_H
#define ATTNBENCH_CLI_RECORD_JOURNAL_H

#include "cli/base/json.h"
#include "cli/base/profiled.h"
#include "cli/record/process.h"

/* What a journal's first line says about the run. */
struct run_info {
  char version[16], git_commit[32], cuda[16], cjson[16]; /* of the attnbench that measured */
  char started_utc[24];                                  /* RFC 3339, seconds: "2026-11-20T11:04:00Z" */
  char command[512];                                     /* argv, shell-quoted */
  char sweep_path[256], sweep_name[SWEEP_NAME_MAX + 1], sweep_about[SWEEP_ABOUT_MAX + 1], sweep_hash[17];
  bool has_baseline;
  struct sweep_baseline baseline;
  char filter[256]; /* "" when none; holds as many as the command line takes */
  uint64_t seed;
  uint64_t cell_count;              /* cells that the run set out to do */
  bool quick;                       /* measured with the smaller time budget (--quick) */
  struct sweep_gate gate;           /* the sweep's own thresholds */
  char planned_gpu[16];             /* model that planned rows are for; "" when none */
  char profiled[PROFILED_TEXT_MAX]; /* the tool inside the process that measured (profiled_tool); "" when none */
  uint32_t profile_launches;        /* of every cell, for a profiler to capture (--profile); 0: rows were timed */
};

struct journal; /* an open journal being written */

/* Creates the file (must not exist) and writes and syncs the header. */
struct status journal_create(const char *path, const struct run_info *, struct journal **out);
/* The device that measured, its policy and its timer's constant cost. For a CPU run planned_for is the GPU model of
 * the planned rows, else NULL. */
struct status journal_device(struct journal *, const struct device_info *, const struct device_policy *,
                             double event_overhead_us, const struct device_info *planned_for);
struct status journal_append(struct journal *, const struct record *);
/* What process number `round`, from 1, saw of a cell that stands in the journal already. */
struct status journal_again(struct journal *, uint32_t round, const struct record *);
struct status journal_end(struct journal *, const char *state, double wall_s); /* "complete" or "interrupted" */
void journal_close(struct journal *);

/* A journal read back. records is malloc'ed; free with journal_free. */
struct journal_data {
  struct run_info run;
  bool has_device;
  struct device_info device;   /* the device that measured */
  struct device_policy policy; /* what it was told to do; .known is false when it did not say */
  double event_overhead_us;
  bool has_planned_device;
  struct device_info planned_device; /* the model behind planned rows */
  struct record *records;
  size_t record_count;
  char state[16]; /* "complete", "interrupted", or "partial" when there is no end line */
  double wall_s;  /* 0 when there is no end line */
};
/* Of a journal, or of a report made from one: the most that is read. */
#define JOURNAL_BYTES_MAX (UINT32_C(256) << 20)
struct status journal_load(const char *path, struct journal_data *out);
/* Does a file that starts with this NUL-terminated text mean to be a journal? */
bool journal_starts(const char *text);
void journal_free(struct journal_data *);
/* STATUS_INPUT when a cell stands twice: it would count twice and hide a missing one. `list` is the array of the
 * document that the records were read from, in order, so that the message names the place of the second one. */
struct status journal_check_unique(const struct journal_data *, const struct json_doc *, const cJSON *list);

#endif
