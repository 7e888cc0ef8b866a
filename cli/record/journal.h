/* The journal: a header line, the device's line, then one synced JSON line per finished cell, and one per cell and
 * later round. It is the truth; reports are made from it. A torn last line (power loss, kill) is
 * dropped on reading; damage anywhere else is an error. */
#ifndef ATTNBENCH_CLI_RECORD_JOURNAL_H
#define ATTNBENCH_CLI_RECORD_JOURNAL_H

#include "cli/base/json.h"
#include "cli/record/process.h"
#include "cli/record/run_info.h"

struct journal; /* an open journal being written */

/* Creates the file (must not exist) and writes and syncs the header. */
struct status journal_create(const char *path, const struct run_info *, struct journal **out);
/* The device that measured, its policy and its timer's constant cost. For a CPU run planned_for is the GPU model of
 * the planned rows, else NULL. */
struct status journal_device(struct journal *, const struct device_info *, const struct device_policy *,
                             double event_overhead_us, const struct device_info *planned_for);
struct status journal_append(struct journal *, const struct record *);
/* What round number `round`, from 1, saw of a cell that is in the journal already. */
struct status journal_append_round(struct journal *, uint32_t round, const struct record *);
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
/* The same from memory; `path` leads messages. text ends with NUL behind its length. */
struct status journal_parse(const char *path, const char *text, size_t length, struct journal_data *out);
/* Does a file that starts with this NUL-terminated text mean to be a journal? */
bool journal_starts(const char *text);
void journal_free(struct journal_data *);
/* STATUS_INPUT when a cell appears twice: it would count twice and hide a missing one. `list` is the array of the
 * document that the records were read from, in order, so that the message names the place of the second one. */
struct status journal_check_unique(const struct journal_data *, const struct json_doc *, const cJSON *list);

#endif
