/* The journal: a header line, the device's line (of a run with --devices one for each card), then one synced JSON
 * line per finished cell, and one per cell and later round. Reports are made from the journal. Each line ends with a
 * checksum, but for those of older journals. A torn last line (power loss, kill) is dropped on reading; damage
 * anywhere else is an error. A continued run (--resume) has a line that says so. After that line a cell that had
 * crashed or was left out may have a second record, which replaces the first. */
#pragma once

#include "cli/base/json.h"
#include "cli/record/process.h"
#include "cli/record/run_info.h"

struct journal; /* an open journal being written */

/* Creates the file (must not exist) and writes and syncs the header. A lock keeps other attnbench processes from
 * writing the file while it is open. */
struct status journal_create(const char *path, const struct run_info *, struct journal **out);
/* Writes the device that measures, or one of the cards of a run with --devices. */
struct status journal_device(struct journal *, const struct device_line *);
/* Writes the GPU model that planned rows are for. */
struct status journal_planned_device(struct journal *, const struct device_info *);
/* Writes the record of a cell's first round. */
struct status journal_append(struct journal *, const struct record *);
/* Writes the names of all cells of the run. Needed when the journal has only some of the cells or another order. */
struct status journal_selection(struct journal *, const struct selection *);
/* Writes one measurement of the run's sentinel. */
struct status journal_sentinel(struct journal *, const struct sentinel_line *);
/* Writes the measurement of round `round`, from 1, of a cell that is in the journal already. */
struct status journal_append_round(struct journal *, uint32_t round, const struct record *);
/* The line of a run that was continued with --resume. */
struct journal_resumed {
  char started_utc[24], command[RUN_TEXT_MAX]; /* of this part of the run, as in run_info */
  uint64_t cell_count;                         /* of the whole run from now on */
  char differs[RECORD_DIFFERS_MAX]; /* properties that differ from the beginning, "device, seed"; "" for none */
};
struct status journal_append_resumed(struct journal *, const struct journal_resumed *);
struct status journal_end(struct journal *, const char *state, double wall_s); /* "complete" or "interrupted" */
void journal_close(struct journal *);

/* Is the file still the one that was written? The functions above ask before each line. Of a file that was removed,
 * replaced, truncated or written over, all lines are saved beside it in a new file, in which the journal goes on.
 * STATUS_OUTPUT says where, once. */
struct status journal_check(struct journal *);
/* Where the journal is now; "" when it was lost and could not be saved. */
const char *journal_path(const struct journal *, bool *is_moved);

/* The most cards of one run. */
enum { JOURNAL_CARDS_MAX = 16 };

/* A journal read back. records and selection are malloc'ed; free with journal_free. */
struct journal_data {
  struct run_info run;
  bool has_device;
  struct device_info device;   /* the device that measured */
  struct device_policy policy; /* its settings; .known is false when they are not known */
  double event_overhead_us;
  struct device_line card[JOURNAL_CARDS_MAX]; /* all cards of a run with --devices, `device` included */
  size_t card_count;                          /* 0: one device, which rows do not name */
  bool has_planned_device;
  struct device_info planned_device; /* the model behind planned rows */
  struct selection selection;        /* of the whole run; empty when the journal does not say */
  struct record *records;            /* in the order of the selection, where there is one */
  size_t record_count;
  bool is_edited;      /* a report that does not match its checksum, or was made from one that does not */
  bool lacks_checksum; /* a report that an older version or another program wrote */
  char state[16];      /* "complete", "interrupted", or "partial" when there is no end line */
  double wall_s;       /* 0 when there is no end line */
};
/* Opens a journal for appending and reads it into *data. The caller next calls journal_append_resumed, which cuts off
 * a torn last line. On success the caller closes the journal and frees the data. *out is NULL and *data is not filled
 * when there is nothing to continue: there is no file, or only a part of its first line, which is then removed.
 * STATUS_INPUT names the line of a damaged journal. */
struct status journal_resume(const char *path, struct journal **out, struct journal_data *data);

/* Reads what was written so far from memory. */
struct status journal_read_back(const struct journal *, struct journal_data *out);

/* The most bytes of a journal, or of a report made from one. */
#define JOURNAL_BYTES_MAX (UINT32_C(256) << 20)
/* The most cells of a run, since a row takes 1 to 2 KB. */
#define JOURNAL_CELLS_MAX (JOURNAL_BYTES_MAX >> 10)
/* Reads a journal. */
struct status journal_load(const char *path, struct journal_data *out);
/* The same for a text in memory, with a NUL after `length` bytes. Messages begin with `path`. */
struct status journal_parse(const char *path, const char *text, size_t length, struct journal_data *out);
/* Does this NUL-terminated text begin as a journal does? */
bool journal_starts(const char *text);
void journal_free(struct journal_data *);
/* The record of this cell, NULL when there is none. The search begins at index `hint`, which makes it fast for
 * callers that ask in the order of the records. */
struct record *journal_find(const struct journal_data *, size_t hint, const char *key, const char *variant);
/* Writes the index in the selection of each record, SIZE_MAX when it is not there, to the array *out, which the
 * caller frees, also on failure. */
struct status journal_ranks(const struct journal_data *, const struct selection *, size_t **out);
/* STATUS_INPUT when a cell appears twice: it would count twice and hide a missing one. `list` is the array of the
 * document that the records were read from, in order, so that the message names the place of the second one. */
struct status journal_check_unique(const struct journal_data *, const struct json_doc *, const cJSON *list);
