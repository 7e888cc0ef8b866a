/* Appends synced lines to a journal, and reads one back. */
#include "cli/record/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/base/owned.h"
#include "cli/record/field_tables.h"

/* ---- what lines hold ------------------------------------------------------------------------------------------- */

struct end_line {
  char state[16];
  double wall_s;
};

/* The line of a later round of a cell. The journal has only those members of the record that the fields below name.
 */
struct round_line {
  uint32_t round;
  struct record record;
};

static const struct field end_fields[] = {
    FIELD_TEXT_OF("state", struct end_line, state),
    FIELD("wall_s", F64, struct end_line, wall_s),
    {0},
};

static const struct field sentinel_line_fields[] = {
    FIELD_TEXT_OF("key", struct sentinel_line, key),
    FIELD_TEXT_OF("variant", struct sentinel_line, variant),
    FIELD("cold_us", F64, struct sentinel_line, us[TIME_COLD]),
    FIELD("hot_us", F64, struct sentinel_line, us[TIME_HOT]),
    {0},
};

static const struct field resumed_fields[] = {
    FIELD_LABEL_OF("started_utc", struct journal_resumed, started_utc),
    FIELD_TEXT_OF("command", struct journal_resumed, command),
    FIELD("cells", U64, struct journal_resumed, cell_count),
    FIELD_LABEL_OF("differs", struct journal_resumed, differs),
    {0},
};

static const struct field setup_fields[] = {
    FIELD_TEXT_OF("program", struct run_setup, program),
    FIELD_LABEL_OF("objects", struct run_setup, objects),
    FIELD_TEXT_OF("cells", struct run_setup, cells),
    FIELD_LABEL_OF("reference", struct run_setup, reference),
    FIELD_LABEL_OF("modes", struct run_setup, modes),
    FIELD_LABEL_OF("inject", struct run_setup, inject),
    FIELD("rounds", U32, struct run_setup, rounds, .min = 1),
    {0},
};

static const struct field run_fields[] = {
    {.key = "tool", .kind = FIELD_OBJECT, .fields = record_tool_fields, .alias = "."},
    FIELD_PART_OF("run", record_run_fields),
    FIELD_PART_OF("run_mode", record_run_mode_fields),
    {.key = "sweep", .kind = FIELD_OBJECT, .fields = record_sweep_fields, .alias = "."},
    FIELD_TEXT_OF("planned_gpu", struct run_info, planned_gpu),
    FIELD_IF("setup", struct run_info, setup, setup.known, setup_fields, .left_out = true),
    {0},
};

/* The times of a later round in journals of version 0.1.0. This table does not grow. */
static const struct field old_time_fields[] = {
    FIELD("median_us", F64, struct time_record, us.median, .required = true),
    FIELD("sm_clock_mhz", F64, struct time_record, sm_clock_mhz),
    FIELD("throttle_reasons", BITS, struct time_record, throttle_reasons, .name = record_throttle_name),
    {0},
};

static const struct field round_fields[] = {
    FIELD_TEXT_OF("key", struct round_line, record.attn_case.key),
    FIELD_TEXT_OF("variant", struct round_line, record.variant),
    FIELD_LABEL_OF("card", struct round_line, record.card, .left_out = true),
    FIELD("round", U32, struct round_line, round, .min = 1, .max = PROCESSES_MAX - 1),
    FIELD("status", ENUM, struct round_line, record.status, .name = cell_status_name),
    FIELD_LABEL_OF("reason", struct round_line, record.reason),
    FIELD("time", OBJECT, struct round_line, record.time, .fields = record_times_fields, .optional = true),
    FIELD("wall_s", F64, struct round_line, record.wall_s, .required = true),
    FIELD("gpu_s", F64, struct round_line, record.gpu_s, .required = true),
    FIELD_IF("cold", struct round_line, record.time[TIME_COLD], record.time[TIME_COLD].done, old_time_fields,
             .read_only = true),
    FIELD_IF("hot", struct round_line, record.time[TIME_HOT], record.time[TIME_HOT].done, old_time_fields,
             .read_only = true),
    {0},
};

/* A line as it was read: a struct of its kind. */
union line {
  struct run_info run;
  struct device_line device;
  struct record record;
  struct round_line round;
  struct journal_resumed resumed;
  struct sentinel_line sentinel;
  struct end_line end;
};

/* ---- what is done with a line ---------------------------------------------------------------------------------- */

/* What the checksum of a line covers. Journals of older versions have none, or cover only the line itself. */
enum cover { COVERS_NOTHING, COVERS_LINE, COVERS_HEADER };

struct reader {
  struct journal_data *data;
  bool has_header, has_end;
  enum cover cover;                 /* of the lines so far; those that follow must cover as much */
  bool is_after_header;             /* the line before is the header */
  uint64_t header_hash;             /* of the header line; HASH_EMPTY before it */
  char differs[RECORD_DIFFERS_MAX]; /* of what was measured since the run was continued: from the run that began */
  size_t *lost;                     /* records that a continued run may have measured again; freed by parse */
  size_t lost_count, next_lost;
  size_t next_again; /* the record that an again line probably is about: rounds go through the cells in order */
  union line *line;  /* that is being read */
};

static struct status take_run(struct reader *reader, const union line *line) {
  if (reader->has_header) return status_make(STATUS_INPUT, "a second header");
  reader->has_header = true;
  reader->data->run = line->run;
  return status_ok();
}

static struct status take_device(struct reader *reader, const union line *line) {
  struct journal_data *data = reader->data;
  if (data->has_device && !data->run.by_card) return status_make(STATUS_INPUT, "a second device");
  if (data->run.by_card) TRY(cards_add(data, &line->device));
  if (data->has_device) return status_ok();
  data->has_device = true;
  data->device = line->device.info;
  data->policy = line->device.policy;
  data->event_overhead_us = line->device.event_overhead_us;
  return status_ok();
}

static struct status take_planned(struct reader *reader, const union line *line) {
  if (reader->data->has_planned_device) return status_make(STATUS_INPUT, "a second planned_device");
  reader->data->has_planned_device = true;
  reader->data->planned_device = line->device.info;
  return status_ok();
}

static struct status take_name(const cJSON *item, char out[CELL_NAME_MAX]) {
  const char *text = cJSON_IsString(item) ? item->valuestring : "";
  const size_t length = strlen(text);
  if (strchr(text, '/') == NULL || length >= CELL_NAME_MAX)
    return status_make(STATUS_INPUT, "selection: has what is no cell, KEY/VARIANT");
  memcpy(out, text, length);
  return status_ok();
}

static struct status take_names(struct reader *reader, const cJSON *list) {
  struct selection *out = &reader->data->selection;
  size_t count = 0;
  if (out->count > 0) return status_make(STATUS_INPUT, "a second selection");
  if (!cJSON_IsArray(list)) return status_make(STATUS_INPUT, "selection: is no list");
  TRY(selection_make((size_t)cJSON_GetArraySize(list), out));
  for (const cJSON *item = list->child; item != NULL; item = item->next) TRY(take_name(item, out->name[count++]));
  return status_ok();
}

static struct status take_sentinel(struct reader *reader, const union line *line) {
  return sentinel_add(&reader->data->run.sentinel, &line->sentinel)
             ? status_ok()
             : status_make(STATUS_INPUT, "sentinel: is another cell than before");
}

/* May a continued run measure this cell again, so that a second record replaces this one? */
static bool is_lost(const struct record *record) {
  return record->status == CELL_crashed || record->status == CELL_left_out;
}

/* Where to store the record: in place of the lost record that it replaces, else after the last one. */
static struct record *place_of(struct reader *reader, const struct record *next) {
  struct journal_data *data = reader->data;
  for (size_t i = 0; i < reader->lost_count; ++i) {
    const size_t at = (reader->next_lost + i) % reader->lost_count; /* they probably come in the same order */
    struct record *earlier = &data->records[reader->lost[at]];
    if (!is_lost(earlier) || !record_is_cell(earlier, next->attn_case.key, next->variant)) continue;
    reader->next_lost = at + 1;
    return earlier;
  }
  return &data->records[data->record_count++];
}

static struct status find_lost(struct reader *reader) {
  const struct journal_data *data = reader->data;
  free(reader->lost);
  reader->lost_count = reader->next_lost = 0;
  TRY(owned_array(&reader->lost, data->record_count, sizeof *reader->lost, "cells"));
  for (size_t i = 0; i < data->record_count; ++i) {
    if (is_lost(&data->records[i])) reader->lost[reader->lost_count++] = i;
  }
  return status_ok();
}

static void tag(const struct reader *reader, struct record *record) {
  if (reader->differs[0] != '\0') memcpy(record->resumed_with_other, reader->differs, sizeof reader->differs);
}

static struct status take_cell(struct reader *reader, const union line *line) {
  struct record *place = place_of(reader, &line->record);
  *place = line->record;
  TRY(record_finish(place));
  tag(reader, place);
  return status_ok();
}

struct record *journal_find(const struct journal_data *data, size_t hint, const char *key, const char *variant) {
  for (size_t i = 0; i < data->record_count; ++i) {
    struct record *record = &data->records[(hint + i) % data->record_count];
    if (record_is_cell(record, key, variant)) return record;
  }
  return NULL;
}

/* Has a later round samples where the first one has none, or none where that has some? A run that was continued may
 * have been without. */
static bool has_other_samples(const struct journal_data *data, const struct record *first,
                              const struct record *next) {
  bool is_other = false;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    const struct time_record *a = &first->time[mode], *b = &next->time[mode];
    is_other = is_other || (a->done && b->done && (a->samples_us.value == NULL) != (b->samples_us.value == NULL));
  }
  return is_other && data->run.resumed == 0;
}

static struct status take_round(struct reader *reader, const union line *line) {
  const struct record *next = &line->round.record;
  const char *key = next->attn_case.key, *variant = next->variant;
  struct record *record = journal_find(reader->data, reader->next_again, key, variant);
  if (record == NULL) return status_make(STATUS_INPUT, "again: cell %s of %s has no first round", key, variant);
  reader->next_again = (size_t)(record - reader->data->records) + 1;
  tag(reader, record);
  if (!record_same_card(record, next))
    return status_make(STATUS_INPUT, "again: cell %s of %s was begun on another card", key, variant);
  const char *problem = validate_round(next, cards_info(reader->data, record));
  if (problem != NULL)
    return status_make(STATUS_INPUT,
                       "again: round %u of %s of %s %s; attnbench writes no such file, so measure again",
                       line->round.round, key, variant, problem);
  if (has_other_samples(reader->data, record, next))
    return status_make(STATUS_INPUT,
                       "again: round %u of %s of %s has no samples where its first round has some, or the other way "
                       "round; attnbench writes no such file, so measure again",
                       line->round.round, key, variant);
  return process_add(record, line->round.round, next);
}

static struct status take_resumed(struct reader *reader, const union line *line) {
  struct journal_data *data = reader->data;
  reader->has_end = false;
  TRY(find_lost(reader));
  memcpy(reader->differs, line->resumed.differs, sizeof reader->differs);
  snprintf(data->state, sizeof data->state, "partial");
  data->run.cell_count = line->resumed.cell_count;
  ++data->run.resumed;
  return status_ok();
}

static struct status take_end(struct reader *reader, const union line *line) {
  const struct end_line *end = &line->end;
  if (strcmp(end->state, "complete") != 0 && strcmp(end->state, "interrupted") != 0)
    return status_make(STATUS_INPUT, "end: state is \"%s\", not complete or interrupted", end->state);
  reader->has_end = true;
  memcpy(reader->data->state, end->state, sizeof end->state);
  reader->data->wall_s = end->wall_s;
  return status_ok();
}

/* ---- the kinds of lines ---------------------------------------------------------------------------------------- */

enum line_kind {
  LINE_RUN,
  LINE_DEVICE,
  LINE_PLANNED,
  LINE_CELL,
  LINE_ROUND,
  LINE_RESUMED,
  LINE_SELECTION,
  LINE_SENTINEL,
  LINE_END,
  LINE_KINDS
};

/* How lines of a kind begin, what follows up to the closing brace, and what is done with it when it was read. A
 * selection is a list of names and has no struct. */
static const struct {
  const char *open, *what; /* the latter leads messages */
  const struct field *fields;
  size_t size;
  struct status (*take)(struct reader *, const union line *);
} kinds[LINE_KINDS] = {
    [LINE_RUN] = {"{\"journal\":\"attnbench.journal/1\",\"run\":", "run", run_fields, sizeof(struct run_info),
                  take_run},
    [LINE_DEVICE] = {"{\"device\":", "device", record_device_fields, sizeof(struct device_line), take_device},
    [LINE_PLANNED] = {"{\"planned_device\":", "device", record_device_fields, sizeof(struct device_line),
                      take_planned},
    [LINE_CELL] = {"{\"cell\":", "record", record_fields, sizeof(struct record), take_cell},
    [LINE_ROUND] = {"{\"again\":", "again", round_fields, sizeof(struct round_line), take_round},
    [LINE_RESUMED] = {"{\"resumed\":", "resumed", resumed_fields, sizeof(struct journal_resumed), take_resumed},
    [LINE_SELECTION] = {"{\"selection\":", "selection", NULL, 0, NULL},
    [LINE_SENTINEL] = {"{\"sentinel\":", "sentinel", sentinel_line_fields, sizeof(struct sentinel_line),
                       take_sentinel},
    [LINE_END] = {"{\"end\":", "end", end_fields, sizeof(struct end_line), take_end},
};

/* ---- checksums ------------------------------------------------------------------------------------------------ */

/* The hash of a run's header line, without its newline. The checksums of the other lines go on from it. */
static uint64_t header_hash_of(const char *header, size_t length) { return hash_add(HASH_EMPTY, header, length); }

/* The whole line with its newline, *length bytes; NULL when there is no memory for it. */
static char *line_of(enum line_kind kind, uint64_t header_hash, const char *body, size_t *length) {
  const char *open = kinds[kind].open;
  const uint64_t start = kind == LINE_RUN ? HASH_EMPTY : header_hash;
  const uint64_t hash = hash_add(hash_add(start, open, strlen(open)), body, strlen(body));
  char end[CHECKSUM_END_MAX], *line;
  checksum_end(&checksum_line, hash, end);
  const int made = asprintf(&line, "%s%s%s\n", open, body, end);
  *length = (size_t)made;
  return made >= 0 ? line : NULL;
}

static enum checksum checksum_of_line(const struct reader *reader, const char *line, size_t length,
                                      enum cover *cover) {
  const enum checksum with_header = checksum_check(&checksum_line, reader->header_hash, line, length);
  *cover = with_header == CHECKSUM_NONE ? COVERS_NOTHING : COVERS_HEADER;
  if (with_header != CHECKSUM_WRONG) return with_header;
  *cover = COVERS_LINE;
  return checksum_check(&checksum_line, HASH_EMPTY, line, length);
}

/* May the checksum of this line cover more than those before it? A header covers only itself, and the line after it
 * shows how much the rest covers. A journal of an older attnbench may have been continued by a newer one
 * (--resume=anyway). */
static bool may_cover_more(const struct reader *reader, enum line_kind kind) {
  return kind == LINE_RUN || kind == LINE_RESUMED || (reader->is_after_header && reader->cover == COVERS_LINE);
}

/* A line that has lost its checksum is damaged too. */
static struct status check_checksum(struct reader *reader, enum line_kind kind, const char *line, size_t length) {
  enum cover cover;
  const enum checksum found = checksum_of_line(reader, line, length, &cover);
  if (found == CHECKSUM_NONE && reader->cover != COVERS_NOTHING)
    return status_make(STATUS_INPUT, "has no checksum, and the lines before it have one; the file is damaged");
  if (found != CHECKSUM_NONE && reader->cover == COVERS_NOTHING && !may_cover_more(reader, kind))
    return status_make(STATUS_INPUT, "has a checksum, and the lines before it have none; the file is damaged");
  if (found == CHECKSUM_WRONG || cover < reader->cover)
    return status_make(
        STATUS_INPUT, "does not match its checksum; the line was changed after it was written, or is of another run");
  if (cover > reader->cover && !may_cover_more(reader, kind))
    return status_make(STATUS_INPUT,
                       "has a checksum that covers the header too, unlike the lines before it; the file is damaged");
  reader->cover = cover;
  reader->is_after_header = kind == LINE_RUN;
  if (kind != LINE_RUN) return status_ok();
  reader->header_hash = header_hash_of(line, length);
  if (cover == COVERS_HEADER) reader->cover = COVERS_LINE;
  return status_ok();
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

struct journal {
  int fd;
  char path[PATH_MAX];
  dev_t device; /* with `inode` the file that was opened: another one may get its path */
  ino_t inode;
  uint64_t header_hash; /* of the header line */
  char *text;           /* the whole lines written so far, in case that the file is lost */
  size_t length;        /* of the text */
  size_t room;
  bool is_moved;        /* the file was lost, and the journal goes on in another one */
  struct status broken; /* the first failure: nothing may follow a torn line */
};

/* Locks the file, since lines of two processes that append to it would mix, and takes note of which one it is. */
static struct status take_file(struct journal *journal) {
  struct stat info;
  if (fstat(journal->fd, &info) != 0)
    return status_make(STATUS_OUTPUT, "%s: cannot be examined: %s", journal->path, strerror(errno));
  journal->device = info.st_dev;
  journal->inode = info.st_ino;
  if (flock(journal->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return status_ok(); /* not every file system can */
  return status_make(STATUS_OUTPUT, "%s: another attnbench is writing this journal; wait for its end", journal->path);
}

static struct status open_new(struct journal *journal) {
  const char *path = journal->path;
  journal->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (journal->fd >= 0) return take_file(journal);
  if (errno != EEXIST) return status_make(STATUS_OUTPUT, "%s: cannot create the journal: %s", path, strerror(errno));
  return status_make(
      STATUS_OUTPUT,
      "%s: is there already, and no journal is written over; measure the rest of its run with --journal "
      "and --resume, see what it holds with attnbench report, or remove it",
      path);
}

static struct status fail(struct journal *journal, struct status status) {
  /* A torn line must stay the last one, and better there is none. When the cut fails too, the reader drops it. */
  if (ftruncate(journal->fd, (off_t)journal->length) != 0) errno = 0;
  return journal->broken = status;
}

/* Refuses a line that would make the journal longer than can be read back. The end line always has room. */
static struct status check_room(const struct journal *journal, enum line_kind kind, size_t length) {
  static const size_t reserved = 65536;
  struct stat info;
  if (kind == LINE_END || fstat(journal->fd, &info) != 0 ||
      (size_t)info.st_size + length <= JOURNAL_BYTES_MAX - reserved)
    return status_ok();
  return status_make(
      STATUS_OUTPUT,
      "%s: is full: a journal of more than %u bytes could not be read back; measure the rest in shards "
      "(--shard), or fewer cells at once",
      journal->path, JOURNAL_BYTES_MAX);
}

static struct status write_synced(struct journal *journal, const char *text, size_t length) {
  TRY(output_write_all(journal->fd, journal->path, text, length));
  if (fdatasync(journal->fd) == 0 || errno == EINVAL) return status_ok();
  return status_make(STATUS_OUTPUT, "%s: cannot sync: %s", journal->path, strerror(errno));
}

static struct status reserve(struct journal *journal, size_t length) {
  if (journal->length + length <= journal->room) return status_ok();
  const size_t room = 2 * (journal->length + length);
  char *grown = realloc(journal->text, room);
  if (grown == NULL) return status_make(STATUS_MEMORY, "%s: no memory for a line", journal->path);
  journal->text = grown;
  journal->room = room;
  return status_ok();
}

/* What became of the file since its last line, NULL when it is as it was. */
static const char *loss_of(const struct journal *journal) {
  char end[CHECKSUM_END_MAX];
  struct stat named;
  const size_t compared = journal->length < sizeof end ? journal->length : sizeof end,
               at = journal->length - compared;
  if (stat(journal->path, &named) != 0) return "was removed";
  if (named.st_dev != journal->device || named.st_ino != journal->inode) return "was replaced by another file";
  if ((size_t)named.st_size < journal->length) return "was truncated";
  const bool is_same = pread(journal->fd, end, compared, (off_t)at) == (ssize_t)compared &&
                       memcmp(end, journal->text + at, compared) == 0;
  return is_same ? NULL : "was written over";
}

/* Writes all lines to a new file beside the one that was lost; the journal goes on in it. */
static struct status move_lines(struct journal *journal) {
  char lost[PATH_MAX];
  memcpy(lost, journal->path, sizeof lost);
  close(journal->fd);
  journal->fd = -1;
  for (unsigned i = 1; i == 1 || access(journal->path, F_OK) == 0; ++i) {
    if ((size_t)snprintf(journal->path, PATH_MAX, "%s.saved%u", lost, i) >= PATH_MAX)
      return status_make(STATUS_OUTPUT, "%s: its path is too long for another name", lost);
  }
  TRY(open_new(journal));
  TRY(write_synced(journal, journal->text, journal->length));
  journal->is_moved = true;
  return output_sync_parent(journal->path);
}

struct status journal_check(struct journal *journal) {
  const char *loss = loss_of(journal);
  char lost[PATH_MAX];
  TRY(journal->broken);
  if (loss == NULL) return status_ok();
  memcpy(lost, journal->path, sizeof lost);
  const struct status moved = move_lines(journal);
  if (!status_failed(&moved))
    return status_make(STATUS_OUTPUT, "%s: %s while the run wrote it; what was measured is saved in %s", lost, loss,
                       journal->path);
  journal->path[0] = '\0';
  return journal->broken =
             status_make(STATUS_OUTPUT, "%s: %s while the run wrote it, and what was measured cannot be saved: %s",
                         lost, loss, moved.text);
}

const char *journal_path(const struct journal *journal, bool *is_moved) {
  *is_moved = journal->is_moved;
  return journal->path;
}

/* Writes and syncs a line. Takes ownership of `text`, the JSON text after the opening of the kind; NULL means that
 * there was no memory for it. */
static struct status write_text(struct journal *journal, enum line_kind kind, char *text) {
  size_t length = 0;
  OWNED(owned_free) char *body = text;
  OWNED(owned_free) char *line = body != NULL ? line_of(kind, journal->header_hash, body, &length) : NULL;
  TRY(journal->broken);
  if (line == NULL) return status_make(STATUS_MEMORY, "%s: no memory for a line", journal->path);
  TRY(reserve(journal, length));
  const struct status kept = journal_check(journal);
  TRY(journal->broken);
  TRY(check_room(journal, kind, length));
  const struct status status = write_synced(journal, line, length);
  if (status_failed(&status)) return fail(journal, status);
  memcpy(journal->text + journal->length, line, length);
  journal->length += length;
  if (kind == LINE_RUN) journal->header_hash = header_hash_of(line, length - 1);
  return kept;
}

static struct status write_line(struct journal *journal, enum line_kind kind, const void *base) {
  return write_text(journal, kind, fields_to_line(kinds[kind].fields, base));
}

static void drop(struct journal **journal) { journal_close(*journal); }

static struct status make(const char *path, struct journal **out) {
  struct journal *journal = calloc(1, sizeof *journal);
  *out = journal;
  if (journal == NULL) return status_make(STATUS_MEMORY, "%s: no memory for the journal", path);
  journal->fd = -1;
  if ((size_t)snprintf(journal->path, sizeof journal->path, "%s", path) < sizeof journal->path) return status_ok();
  return status_make(STATUS_OUTPUT, "the journal's path is too long, at most %zu bytes fit; shorten %s",
                     sizeof journal->path - 1, path);
}

struct status journal_create(const char *path, const struct run_info *run, struct journal **out) {
  *out = NULL;
  if (run->cell_count > JOURNAL_CELLS_MAX)
    return status_make(STATUS_USAGE,
                       "%" PRIu64
                       " cells are too many for one journal, which holds %u; measure fewer, or each part "
                       "into a journal of its own (--shard)",
                       run->cell_count, JOURNAL_CELLS_MAX);
  OWNED(drop) struct journal *journal = NULL;
  TRY(make(path, &journal));
  TRY(open_new(journal));
  struct status status = write_line(journal, LINE_RUN, run);
  if (!status_failed(&status)) status = output_sync_parent(path);
  if (status_failed(&status)) {
    unlink(path);
    return status;
  }
  *out = journal;
  journal = NULL;
  return status;
}

struct status journal_device(struct journal *journal, const struct device_line *device) {
  return write_line(journal, LINE_DEVICE, device);
}

struct status journal_planned_device(struct journal *journal, const struct device_info *info) {
  return write_line(journal, LINE_PLANNED, &(struct device_line){.info = *info});
}

static char *selection_text(const struct selection *selection) {
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < selection->count; ++i) json_append(list, cJSON_CreateString(selection->name[i]));
  return json_text(list, false);
}

struct status journal_selection(struct journal *journal, const struct selection *selection) {
  return write_text(journal, LINE_SELECTION, selection_text(selection));
}

struct status journal_sentinel(struct journal *journal, const struct sentinel_line *line) {
  return write_line(journal, LINE_SENTINEL, line);
}

struct status journal_append(struct journal *journal, const struct record *record) {
  return write_line(journal, LINE_CELL, record);
}

struct status journal_append_round(struct journal *journal, uint32_t round, const struct record *record) {
  return write_line(journal, LINE_ROUND, &(struct round_line){.round = round, .record = *record});
}

struct status journal_append_resumed(struct journal *journal, const struct journal_resumed *resumed) {
  if (ftruncate(journal->fd, (off_t)journal->length) != 0)
    return status_make(STATUS_OUTPUT, "%s: cannot cut off its torn last line: %s", journal->path, strerror(errno));
  return write_line(journal, LINE_RESUMED, resumed);
}

struct status journal_end(struct journal *journal, const char *state, double wall_s) {
  struct end_line end = {.wall_s = wall_s};
  snprintf(end.state, sizeof end.state, "%s", state);
  return write_line(journal, LINE_END, &end);
}

void journal_close(struct journal *journal) {
  if (journal == NULL) return;
  if (journal->fd >= 0) close(journal->fd);
  free(journal->text);
  free(journal);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

/* The kind of a line; LINE_KINDS when it is of none. */
static enum line_kind kind_of(const char *line, size_t length) {
  enum line_kind kind = 0;
  for (; kind < LINE_KINDS; ++kind) {
    const size_t open_length = strlen(kinds[kind].open);
    if (length > open_length && memcmp(line, kinds[kind].open, open_length) == 0 && line[length - 1] == '}') break;
  }
  return kind;
}

static struct status read_body(struct reader *reader, enum line_kind kind, const char *body, size_t length) {
  OWNED(json_free) struct json_doc doc = {.root = NULL};
  TRY(json_parse(kinds[kind].what, body, length, &doc));
  if (kind == LINE_SELECTION) return take_names(reader, doc.root);
  memset(reader->line, 0, kinds[kind].size);
  fields_unknown(kinds[kind].fields, reader->line);
  TRY(fields_read(&doc, doc.root, kinds[kind].fields, reader->line));
  return kinds[kind].take(reader, reader->line);
}

static struct status read_line(struct reader *reader, const char *line, size_t length) {
  const enum line_kind kind = kind_of(line, length);
  if (!reader->has_header && kind != LINE_RUN)
    return status_make(STATUS_INPUT, "not an attnbench.journal/1 header; name a journal that attnbench wrote");
  if (kind == LINE_KINDS) return status_make(STATUS_INPUT, "not a line of an attnbench journal; the file is damaged");
  if (reader->has_end && kind != LINE_RESUMED) return status_make(STATUS_INPUT, "a line after the end line");
  TRY(check_checksum(reader, kind, line, length));
  const size_t open_length = strlen(kinds[kind].open),
               end = reader->cover != COVERS_NOTHING ? checksum_bytes(&checksum_line) : 1;
  return read_body(reader, kind, line + open_length, length - open_length - end);
}

/* Bytes after the last newline are a line that was torn by a kill or a power loss: dropped. A torn line never has
 * anything behind its checksum. */
static bool is_torn(const struct reader *reader, const char *rest, size_t length) {
  enum cover cover;
  return length == 0 || checksum_of_line(reader, rest, length - 1, &cover) != CHECKSUM_RIGHT;
}

static struct status read_lines(const char *path, const char *text, size_t length, struct reader *reader) {
  size_t number = 1;
  const char *line = text, *end;
  for (; (end = memchr(line, '\n', length - (size_t)(line - text))) != NULL; line = end + 1, ++number) {
    const struct status status = read_line(reader, line, (size_t)(end - line));
    if (status_failed(&status)) return status_make(status.code, "%s:%zu: %s", path, number, status.text);
  }
  if (!is_torn(reader, line, length - (size_t)(line - text)))
    return status_make(STATUS_INPUT, "%s:%zu: does not end with a newline; the file is damaged", path, number);
  if (reader->has_header) return status_ok();
  return status_make(STATUS_INPUT, "%s: has no whole line; nothing was measured, run the sweep again", path);
}

/* The later one of two records of one cell; NULL when there are none. */
static struct status find_repeated(const char *path, const struct journal_data *data, const struct record **out) {
  OWNED(owned_free) const struct record **sorted = record_sorted(data->records, data->record_count);
  *out = NULL;
  if (sorted == NULL) return status_make(STATUS_MEMORY, "%s: no memory for %zu cells", path, data->record_count);
  for (size_t i = 1; i < data->record_count && *out == NULL; ++i) {
    if (record_order(&sorted[i - 1], &sorted[i]) == 0) *out = sorted[i] > sorted[i - 1] ? sorted[i] : sorted[i - 1];
  }
  return status_ok();
}

struct status journal_check_unique(const struct journal_data *data, const struct json_doc *doc, const cJSON *list) {
  const struct record *repeated;
  TRY(find_repeated(doc->path, data, &repeated));
  if (repeated == NULL) return status_ok();
  return json_error(doc, cJSON_GetArrayItem(list, (int)(repeated - data->records)), false,
                    "is cell %s of %s, which appears twice; remove one of the two", repeated->attn_case.key,
                    repeated->variant);
}

static size_t count_cells(const char *text, size_t length) {
  size_t count = 0;
  const char *line = text, *end;
  for (; (end = memchr(line, '\n', length - (size_t)(line - text))) != NULL; line = end + 1)
    count += strncmp(line, kinds[LINE_CELL].open, strlen(kinds[LINE_CELL].open)) == 0;
  return count;
}

struct status journal_ranks(const struct journal_data *data, const struct selection *selection, size_t **out) {
  OWNED(selection_free) struct selection names = {.count = 0};
  TRY(owned_array(out, data->record_count, sizeof **out, "cells"));
  TRY(selection_make(data->record_count, &names));
  for (size_t i = 0; i < data->record_count; ++i)
    cell_name(data->records[i].attn_case.key, data->records[i].variant, names.name[i]);
  return selection_ranks(selection, &names, *out);
}

/* Sorts the records into the order of the selection; cells may have been measured in any order. Records that are not
 * in the selection, as after --resume=anyway, come last. */
static struct status order_records(struct journal_data *data) {
  const size_t count = data->record_count, selected = data->selection.count;
  if (selected == 0) return status_ok();
  OWNED(owned_free) size_t *rank = NULL;
  OWNED(owned_free) const struct record **at = calloc(selected, sizeof *at); /* by rank */
  struct record *ordered = calloc(count + 1, sizeof *ordered), *next = ordered;
  const struct status status = journal_ranks(data, &data->selection, &rank);
  if (at == NULL || ordered == NULL || status_failed(&status)) {
    free(ordered);
    return status_failed(&status) ? status : status_make(STATUS_MEMORY, "no memory for %zu cells", count);
  }
  for (size_t i = 0; i < count; ++i) {
    if (rank[i] != SIZE_MAX) at[rank[i]] = &data->records[i];
  }
  for (size_t i = 0; i < selected; ++i) {
    if (at[i] != NULL) *next++ = *at[i];
  }
  for (size_t i = 0; i < count; ++i) {
    if (rank[i] == SIZE_MAX) *next++ = data->records[i];
  }
  free(data->records);
  data->records = ordered;
  return status_ok();
}

static struct status parse(const char *path, const char *text, size_t length, struct journal_data *out) {
  OWNED(owned_free) union line *line = malloc(sizeof *line);
  const struct record *repeated = NULL;
  out->records = calloc(count_cells(text, length) + 1, sizeof *out->records);
  if (out->records == NULL || line == NULL) return status_make(STATUS_MEMORY, "%s: no memory for its cells", path);
  struct reader reader = {.data = out, .line = line, .header_hash = HASH_EMPTY};
  const struct status status = read_lines(path, text, length, &reader);
  free(reader.lost);
  TRY(status);
  TRY(find_repeated(path, out, &repeated));
  if (repeated == NULL) return order_records(out);
  return status_make(STATUS_INPUT, "%s: cell %s of %s appears twice; remove one of its lines", path,
                     repeated->attn_case.key, repeated->variant);
}

struct status journal_parse(const char *path, const char *text, size_t length, struct journal_data *out) {
  *out = (struct journal_data){.state = "partial"};
  struct status status = parse(path, text, length, out);
  if (!status_failed(&status)) status = validate_data(path, out);
  if (status_failed(&status)) journal_free(out);
  return status;
}

struct status journal_load(const char *path, struct journal_data *out) {
  OWNED(owned_free) char *text = NULL;
  size_t length;
  TRY(json_read_file(path, JOURNAL_BYTES_MAX, &text, &length));
  return journal_parse(path, text, length, out);
}

struct status journal_read_back(const struct journal *journal, struct journal_data *out) {
  return journal_parse(journal->path, journal->text, journal->length, out);
}

/* ---- continuing ---------------------------------------------------------------------------------------------- */

/* Was the process stopped while it wrote the first line? */
static bool is_torn_header(const char *text, size_t length) {
  const char *open = kinds[LINE_RUN].open;
  const size_t compared = length < strlen(open) ? length : strlen(open);
  return memchr(text, '\n', length) == NULL && memcmp(text, open, compared) == 0;
}

struct status journal_resume(const char *path, struct journal **out, struct journal_data *data) {
  OWNED(drop) struct journal *journal = NULL;
  OWNED(owned_free) char *text = NULL;
  size_t length;
  *out = NULL;
  TRY(make(path, &journal));
  journal->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK);
  if (journal->fd < 0 && errno == ENOENT) return status_ok();
  if (journal->fd < 0)
    return status_make(STATUS_OUTPUT, "%s: cannot open the journal for writing: %s", path, strerror(errno));
  TRY(take_file(journal));
  TRY(json_read_file(path, JOURNAL_BYTES_MAX, &text, &length));
  if (is_torn_header(text, length)) {
    unlink(path);
    return status_ok();
  }
  TRY(journal_parse(path, text, length, data));
  const char *last = memrchr(text, '\n', length);
  journal->length = (size_t)(last + 1 - text);
  journal->room = length;
  journal->header_hash = header_hash_of(text, strcspn(text, "\n"));
  journal->text = text;
  text = NULL;
  *out = journal;
  journal = NULL;
  return status_ok();
}

bool journal_starts(const char *text) {
  const char *open = kinds[LINE_RUN].open;
  return strncmp(text, open, strcspn(open, ":") + 1) == 0;
}

void journal_free(struct journal_data *data) {
  free(data->records);
  selection_free(&data->selection);
  data->records = NULL;
  data->record_count = 0;
}
