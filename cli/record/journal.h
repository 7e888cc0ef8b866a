/* The journal: a header line, the device's line (of a run with --devices one for each card), then one synced JSON
 * line per finished cell, and one per cell and later round. Reports are made from the journal. Each line ends with a
 * checksum. That of each line after the header covers the header line too, so that a line of another run does not
 * match. In journals of 0.3.0 it covers its own line alone; those up to 0.2.0 have none. A torn last line (power
 * loss, kill) is dropped on reading; damage anywhere else is an error. A continued run (--resume) has a line that
 * says so. After that line a cell that had crashed or was left out may have a second record, which replaces the
 * first. */
#pragma once

#include "cli/record/record.h"
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
  bool is_edited;         /* a report that does not match its checksum, or was made from one that does not */
  bool lacks_checksum;    /* a report that an older version or another program wrote */
  bool is_complete_as_is; /* a report that says exit code 0 though a loaded variant was always skipped: an older rule
                           */
  char state[16];         /* "complete", "interrupted", or "partial" when there is no end line */
  double wall_s;          /* 0 when there is no end line */
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

/* The cards of a run with --devices. Each row names the card that measured it by UUID (record.card). */

/* Adds a card to data->card. STATUS_INPUT when it has no UUID, is there already, is of another model than the first
 * card, or would be more than JOURNAL_CARDS_MAX. */
struct status cards_add(struct journal_data *, const struct device_line *);
/* The index in data->card of the card with this UUID; card_count when there is none. */
size_t cards_find(const struct journal_data *, const char *uuid);

/* Can the row be of this run? False when it names a card that the run does not have. */
bool cards_has(const struct journal_data *, const struct record *);

/* The device that measured the row, the event overhead of that device (event_overhead_in), and its settings. */
const struct device_info *cards_info(const struct journal_data *, const struct record *);
double cards_event_overhead_us(const struct journal_data *, const struct record *);
const struct device_policy *cards_policy(const struct journal_data *, const struct record *);

/* What two parts of one run must have in common: the part before and after it was continued (--resume), or two
 * shards. */

/* Which parts of a run are compared: the parts before and after --resume, shards, or rounds. */
enum alike_parts { ALIKE_RUN = 1, ALIKE_SHARDS = 2, ALIKE_ROUNDS = 4 };
enum { ALIKE_TEXT_MAX = 160, ALIKE_MAX = 24 };

struct alike_difference {
  const char *name;   /* the property: "seed" */
  bool of_device;     /* a property of the device or host; false: of the program or its options */
  bool is_one_report; /* rows that differ in it cannot be in one report */
  char first[ALIKE_TEXT_MAX], second[ALIKE_TEXT_MAX];
};

/* Writes the properties that differ to out and returns their number. Properties of the device are compared only when
 * both journals have a device line. */
size_t alike_compare(enum alike_parts, const struct journal_data *first, const struct journal_data *second,
                     struct alike_difference out[ALIKE_MAX]);

/* Adds a name to the list in `differs`, such as "device, seed". */
void alike_add_name(const char *name, char differs[RECORD_DIFFERS_MAX]);

/* Merges the journals of several rounds that measured the same cells with the same program: the times of all rounds
 * go into record.process. Pure. */

/* Adds `next`, the journal of one more round, to `into`, which began as the journal of the first round. A cell that
 * any round found wrong or did not measure is so in `into`, with "round N: " before the reason. STATUS_NOT_COMPARABLE
 * when device, sweep, seed, program or cells differ; `into` must not be used then. A round may have measured only
 * `cells` of the cells: the others keep the rounds that they have. */
struct status rounds_add(struct journal_data *into, const struct journal_data *next, size_t cells);

/* True if every row is skipped, if every row of a loaded variant is skipped, or if the reference is a loaded variant
 * and no row has a ratio to it. Always false for a shard and for files of other programs. */
bool failures_lack_result(const struct journal_data *);

/* Checks that a loaded journal or report is consistent, so that attnbench can have written it. Pure. */

/* Can this be the median of a report: at least a nanosecond and at most a day? */
bool validate_is_time(double us);

/* NULL, or what an `ok` cell says that its device, or its own times, exclude: launches that the device does not make,
 * readings that it does not have, a ratio that its times contradict. Pure. */
const char *within_problem(const struct record *, const struct device_info *, const struct device_policy *);

/* NULL, or what is wrong with the times of a later round of a cell on this device. */
const char *validate_round(const struct record *, const struct device_info *);
/* NULL, or what a record that a worker sends says of its cell and cannot be: what validate_data refuses in a cell,
 * but for what depends on the run. `again`: it is of a later round. */
const char *validate_answer(const struct record *, bool again, const struct device_info *,
                            const struct device_policy *);

/* STATUS_INPUT names the file, the cell and the problem: an `ok` cell whose check failed, is missing or looked at too
 * little (checked_problem), a device or clock that the table of GPUs excludes, an impossible time, statistics that
 * are out of order or not those of the samples, a cell without a speed that was measured, processes that contradict
 * the cell's own time or the rounds of the run, parts that last longer than the whole, an unknown state of the run,
 * more cells than the run has, a start that is no date, or a run that was shorter than one of its cells. In times
 * that were entered by hand (a report without a start) no check is expected.
 */
struct status validate_data(const char *path, const struct journal_data *);

/* Checks that the counts in a report's "summary" are those of its results. STATUS_INPUT names the place. */
struct status validate_summary(const struct json_doc *, const struct journal_data *);

/* Impossible times: shorter than the device needs for the problem, or reached only because launches skip work. */

/* True when hot launches whose inputs change (check.changed_us) take so much longer than the hot median that launches
 * on unchanged inputs must have skipped work. Other load on the machine can cause this by chance, so measure again
 * before using it. */
bool plausible_skips_work(const struct record *, const struct device_info *);

/* Gives an `ok` record whose time is impossible the status `implausible`, and writes the reason. */
void plausible_judge(struct record *, const struct device_info *);

/* The same for every record of a file, since the program that wrote it may not have judged it, or somebody may have
 * changed it. */
void plausible_judge_all(struct journal_data *);

/* Counter files: a profiler's counters for the cells of a report, written by scripts/profile_sweep.py. The format is
 * documented in results/format.md. */

#define COUNTERS_SCHEMA "attnbench.counters/1"

/* Fills the counters of the rows that the document names; other rows keep theirs. Each named row must exist in *into,
 * be `ok` and have as many passes, with the same grids and blocks. On STATUS_INPUT, which names the place, *into must
 * not be used any more. */
struct status counters_read(const struct json_doc *, struct journal_data *into);

/* Times that were entered by hand, from a paper or another tool, so that attnbench can diagnose them (format
 * attnbench.times/1, results/format.md). attnbench did not check the results, and the report says so. */

#define TIMES_SCHEMA "attnbench.times/1"

/* A row with a time gets the status `ok`, a row without one `planned`. The launch geometry is as given, or that of
 * the variant named by "like", or not known. STATUS_INPUT names the place. On success the caller frees with
 * journal_free. */
struct status times_read(const struct json_doc *, struct journal_data *out);
