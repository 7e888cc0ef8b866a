/* The journal: a header line, the device's line (of a run with --devices one for each card), then one synced JSON
 * line per finished cell, and one per cell and later round. It is the truth; reports are made from it. A torn last
 * line (power loss, kill) is dropped on reading; damage anywhere else is an error. A run that was continued has a
 * line that says so, behind which a crashed cell may stand once more: what was measured then replaces it. */
#ifndef ATTNBENCH_CLI_RECORD_JOURNAL_H
#define ATTNBENCH_CLI_RECORD_JOURNAL_H

#include "cli/base/json.h"
#include "cli/record/device_line.h"
#include "cli/record/process.h"
#include "cli/record/run_info.h"

struct journal; /* an open journal being written */

/* Creates the file (must not exist) and writes and syncs the header. No other attnbench writes it as long as it is
 * open. */
struct status journal_create(const char *path, const struct run_info *, struct journal **out);
/* The device that measured, its policy and its timer's constant cost. For a CPU run planned_for is the GPU model of
 * the planned rows, else NULL. info NULL: the device's line stands there already. */
struct status journal_device(struct journal *, const struct device_info *, const struct device_policy *,
                             double event_overhead_us, const struct device_info *planned_for);
struct status journal_append(struct journal *, const struct record *);
/* The cells of the whole run, of which this journal will hold a part, or hold them in another order. */
struct status journal_selection(struct journal *, const struct selection *);
/* What the run's sentinel took this time. */
struct status journal_sentinel(struct journal *, const struct sentinel_line *);
/* What round number `round`, from 1, saw of a cell that is in the journal already. */
struct status journal_append_round(struct journal *, uint32_t round, const struct record *);
/* That the run goes on after it had stopped. */
struct journal_resumed {
  char started_utc[24], command[RUN_TEXT_MAX]; /* of this part of the run, as in run_info */
  uint64_t cell_count;                         /* of the whole run from now on */
  char differs[RECORD_DIFFERS_MAX];            /* "device, seed": what is not as it was at the beginning; "" */
};
struct status journal_append_resumed(struct journal *, const struct journal_resumed *);
struct status journal_end(struct journal *, const char *state, double wall_s); /* "complete" or "interrupted" */
void journal_close(struct journal *);

/* Cards that one run can measure with. */
enum { JOURNAL_CARDS_MAX = 16 };

/* A journal read back. records and selection are malloc'ed; free with journal_free. */
struct journal_data {
  struct run_info run;
  bool has_device;
  struct device_info device;   /* the device that measured */
  struct device_policy policy; /* what it was told to do; .known is false when it did not say */
  double event_overhead_us;
  struct device_line card[JOURNAL_CARDS_MAX]; /* of a run with --devices all that measured, the first one too */
  size_t card_count;                          /* 0: one device, and rows that do not name it */
  bool has_planned_device;
  struct device_info planned_device; /* the model behind planned rows */
  struct selection selection;        /* of the whole run; empty when the journal does not say */
  struct record *records;            /* in the order of the selection, where there is one */
  size_t record_count;
  char state[16]; /* "complete", "interrupted", or "partial" when there is no end line */
  double wall_s;  /* 0 when there is no end line */
};
/* Opens a journal to append to it and reads it into *data; journal_append_resumed then comes first, and cuts off a
 * torn last line. On success the caller closes and frees both. *out is NULL, and there are no data, when there is no
 * file yet, or none but a piece of its first line, which is removed: the run begins then. Damage is STATUS_INPUT with
 * its line. */
struct status journal_resume(const char *path, struct journal **out, struct journal_data *data);

/* What was written so far, wherever the file's name has gone meanwhile. */
struct status journal_read_back(const struct journal *, struct journal_data *out);

/* Of a journal, or of a report made from one: the most that is read. */
#define JOURNAL_BYTES_MAX (UINT32_C(256) << 20)
/* The most cells of a run, by the size of their rows: 1 to 2 KB. */
#define JOURNAL_CELLS_MAX (JOURNAL_BYTES_MAX >> 10)
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
