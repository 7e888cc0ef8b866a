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
#include "cli/record/cards.h"
#include "cli/record/field_tables.h"
#include "cli/record/validate.h"

static const char header_open[] = "{\"journal\":\"attnbench.journal/1\",\"run\":";
static const char device_open_text[] = "{\"device\":";
static const char planned_open[] = "{\"planned_device\":";
static const char selection_open[] = "{\"selection\":";
static const char cell_open[] = "{\"cell\":";
static const char again_open[] = "{\"again\":";
static const char sentinel_open[] = "{\"sentinel\":";
static const char resumed_open[] = "{\"resumed\":";
static const char end_open[] = "{\"end\":";

struct end_line {
  char state[16];
  double wall_s;
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

/* ---- writing ------------------------------------------------------------------------------------------------- */

struct journal {
  int fd;
  char path[PATH_MAX];
  off_t length;         /* of the whole lines written so far */
  struct status broken; /* the first failure: nothing may follow a torn line */
};

static struct status fail(struct journal *journal, struct status status) {
  /* A torn line must stay the last one, and better there is none. When the cut fails too, the reader drops it. */
  if (ftruncate(journal->fd, journal->length) != 0) errno = 0;
  return journal->broken = status;
}

/* What cannot be read back is not written; the line that ends the journal always has room. */
static struct status check_room(const struct journal *journal, const char *open_text, size_t length) {
  static const size_t reserved = 65536;
  struct stat info;
  const bool ends = strcmp(open_text, end_open) == 0;
  if (ends || fstat(journal->fd, &info) != 0 || (size_t)info.st_size + length <= JOURNAL_BYTES_MAX - reserved)
    return status_ok();
  return status_make(
      STATUS_OUTPUT,
      "%s: is full: a journal of more than %u bytes could not be read back; measure the rest in shards "
      "(--shard), or fewer cells at once",
      journal->path, JOURNAL_BYTES_MAX);
}

/* Takes ownership of body, the JSON text after `open`; a NULL body is lack of memory. */
static struct status write_line(struct journal *journal, const char *open_text, char *body) {
  if (status_failed(&journal->broken)) {
    free(body);
    return journal->broken;
  }
  char *line = NULL;
  const int length = body == NULL ? -1 : asprintf(&line, "%s%s}\n", open_text, body);
  free(body);
  if (length < 0) return status_make(STATUS_MEMORY, "%s: no memory for a line", journal->path);
  const struct status room = check_room(journal, open_text, (size_t)length);
  const struct status status =
      status_failed(&room) ? room : output_write_all(journal->fd, journal->path, line, (size_t)length);
  free(line);
  if (status_failed(&room)) return room;
  if (status_failed(&status)) return fail(journal, status);
  if (fdatasync(journal->fd) != 0 && errno != EINVAL) {
    return fail(journal, status_make(STATUS_OUTPUT, "%s: cannot sync: %s", journal->path, strerror(errno)));
  }
  journal->length += length;
  return status_ok();
}

/* Two processes that append to one journal would spoil it. */
static struct status lock(const char *path, int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return status_ok(); /* not every file system can */
  return status_make(STATUS_OUTPUT, "%s: another attnbench is writing this journal; wait for its end", path);
}

static struct status take_path(const char *path, struct journal *journal) {
  const size_t length = strlen(path);
  if (length >= sizeof journal->path) {
    return status_make(STATUS_OUTPUT, "the journal's path is too long, at most %zu bytes fit; shorten %s",
                       sizeof journal->path - 1, path);
  }
  memcpy(journal->path, path, length + 1);
  return status_ok();
}

static struct status open_new(const char *path, struct journal *journal) {
  TRY(take_path(path, journal));
  journal->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (journal->fd >= 0) return lock(path, journal->fd);
  if (errno != EEXIST) return status_make(STATUS_OUTPUT, "%s: cannot create the journal: %s", path, strerror(errno));
  return status_make(
      STATUS_OUTPUT,
      "%s: is there already, and no journal is written over; measure the rest of its run with --journal "
      "and --resume, see what it holds with attnbench report, or remove it",
      path);
}

struct status journal_create(const char *path, const struct run_info *run, struct journal **out) {
  *out = NULL;
  if (run->cell_count > JOURNAL_CELLS_MAX) {
    return status_make(STATUS_USAGE,
                       "%" PRIu64
                       " cells are too many for one journal, which holds %u; measure fewer, or each part "
                       "into a journal of its own (--shard)",
                       run->cell_count, JOURNAL_CELLS_MAX);
  }
  struct journal *journal = calloc(1, sizeof *journal);
  if (journal == NULL) return status_make(STATUS_MEMORY, "%s: no memory for the journal", path);
  journal->fd = -1;
  struct status status = open_new(path, journal);
  if (status_failed(&status)) {
    journal_close(journal);
    return status;
  }
  status = write_line(journal, header_open, fields_to_line(run_fields, run));
  if (!status_failed(&status)) status = output_sync_parent(path);
  if (status_failed(&status)) {
    journal_close(journal);
    unlink(path);
    return status;
  }
  *out = journal;
  return status;
}

struct status journal_device(struct journal *journal, const struct device_info *info,
                             const struct device_policy *policy, double event_overhead_us,
                             const struct device_info *planned_for) {
  struct device_line device = {.event_overhead_us = event_overhead_us};
  if (info != NULL) device.info = *info;
  if (policy != NULL) device.policy = *policy;
  if (info != NULL) TRY(write_line(journal, device_open_text, device_line_to_text(&device)));
  if (planned_for == NULL) return status_ok();
  const struct device_line planned = {.info = *planned_for};
  return write_line(journal, planned_open, device_line_to_text(&planned));
}

static char *selection_text(const struct selection *selection) {
  cJSON *list = cJSON_CreateArray();
  bool is_whole = list != NULL;
  for (size_t i = 0; i < selection->count && is_whole; ++i)
    is_whole = cJSON_AddItemToArray(list, cJSON_CreateString(selection->name[i]));
  return json_text(list, is_whole, false);
}

struct status journal_selection(struct journal *journal, const struct selection *selection) {
  return write_line(journal, selection_open, selection_text(selection));
}

struct status journal_sentinel(struct journal *journal, const struct sentinel_line *line) {
  return write_line(journal, sentinel_open, fields_to_line(sentinel_line_fields, line));
}

struct status journal_append(struct journal *journal, const struct record *record) {
  return write_line(journal, cell_open, record_to_line(record));
}

struct status journal_append_round(struct journal *journal, uint32_t round, const struct record *record) {
  const struct process_line line = process_line_of(record, round);
  return write_line(journal, again_open, process_line_to_text(&line));
}

struct status journal_append_resumed(struct journal *journal, const struct journal_resumed *resumed) {
  if (ftruncate(journal->fd, journal->length) != 0)
    return status_make(STATUS_OUTPUT, "%s: cannot cut off its torn last line: %s", journal->path, strerror(errno));
  return write_line(journal, resumed_open, fields_to_line(resumed_fields, resumed));
}

struct status journal_end(struct journal *journal, const char *state, double wall_s) {
  struct end_line end = {.wall_s = wall_s};
  snprintf(end.state, sizeof end.state, "%s", state);
  return write_line(journal, end_open, fields_to_line(end_fields, &end));
}

void journal_close(struct journal *journal) {
  if (journal == NULL) return;
  if (journal->fd >= 0) close(journal->fd);
  free(journal);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

struct reader {
  struct journal_data *data;
  bool has_header, has_end;
  char differs[RECORD_DIFFERS_MAX]; /* of what was measured since the run was continued: from the run that began */
  size_t *lost;                     /* records that a continued run may have measured again; freed by parse */
  size_t lost_count, next_lost;
  size_t next_again; /* the record that an again line probably is about: rounds go through the cells in order */
};

static struct status read_header(struct reader *reader, const char *body, size_t length) {
  if (reader->has_header) return status_make(STATUS_INPUT, "a second header");
  reader->has_header = true;
  return fields_from_line("run", body, length, run_fields, &reader->data->run);
}

static struct status read_device(struct reader *reader, const char *body, size_t length) {
  struct device_line line;
  struct journal_data *data = reader->data;
  if (data->has_device && !data->run.by_card) return status_make(STATUS_INPUT, "a second device");
  TRY(device_line_from_text(body, length, &line));
  if (data->run.by_card) TRY(cards_add(data, &line));
  if (data->has_device) return status_ok();
  data->has_device = true;
  data->device = line.info;
  data->policy = line.policy;
  data->event_overhead_us = line.event_overhead_us;
  return status_ok();
}

static struct status read_planned(struct reader *reader, const char *body, size_t length) {
  struct device_line line;
  if (reader->data->has_planned_device) return status_make(STATUS_INPUT, "a second planned_device");
  const struct status status = device_line_from_text(body, length, &line);
  reader->data->has_planned_device = true;
  reader->data->planned_device = line.info;
  return status;
}

static struct status take_name(const cJSON *item, char out[CELL_NAME_MAX]) {
  const char *text = cJSON_IsString(item) ? item->valuestring : "";
  const size_t length = strlen(text);
  if (strchr(text, '/') == NULL || length >= CELL_NAME_MAX)
    return status_make(STATUS_INPUT, "selection: has what is no cell, KEY/VARIANT");
  memcpy(out, text, length);
  return status_ok();
}

static struct status take_names(const cJSON *list, struct selection *out) {
  size_t count = 0;
  if (!cJSON_IsArray(list)) return status_make(STATUS_INPUT, "selection: is no list");
  TRY(selection_make((size_t)cJSON_GetArraySize(list), out));
  for (const cJSON *item = list->child; item != NULL; item = item->next) TRY(take_name(item, out->name[count++]));
  return status_ok();
}

static struct status read_selection(struct reader *reader, const char *body, size_t length) {
  struct json_doc doc;
  if (reader->data->selection.count > 0) return status_make(STATUS_INPUT, "a second selection");
  TRY(json_parse("selection", body, length, &doc));
  const struct status status = take_names(doc.root, &reader->data->selection);
  json_free(&doc);
  return status;
}

static struct status read_sentinel(struct reader *reader, const char *body, size_t length) {
  struct sentinel_line line;
  memset(&line, 0, sizeof line);
  TRY(fields_from_line("sentinel", body, length, sentinel_line_fields, &line));
  return sentinel_add(&reader->data->run.sentinel, &line)
             ? status_ok()
             : status_make(STATUS_INPUT, "sentinel: is another cell than before");
}

/* May a run that goes on have measured this cell again? */
static bool is_lost(const struct record *record) {
  return record->status == CELL_crashed || record->status == CELL_left_out;
}

/* The place of a record that was read into the next free one: that of the lost one which it replaces, if any. */
static struct record *place_of(struct reader *reader, const struct record *next) {
  struct journal_data *data = reader->data;
  for (size_t i = 0; i < reader->lost_count; ++i) {
    const size_t at = (reader->next_lost + i) % reader->lost_count; /* they probably come in the same order */
    struct record *earlier = &data->records[reader->lost[at]];
    const struct record *const compared = earlier;
    if (!is_lost(earlier) || record_order(&compared, &next) != 0) continue;
    reader->next_lost = at + 1;
    return earlier;
  }
  return &data->records[data->record_count++];
}

static struct status find_lost(struct reader *reader) {
  const struct journal_data *data = reader->data;
  free(reader->lost);
  reader->lost_count = reader->next_lost = 0;
  reader->lost = malloc((data->record_count + 1) * sizeof *reader->lost);
  if (reader->lost == NULL) return status_make(STATUS_MEMORY, "no memory for %zu cells", data->record_count);
  for (size_t i = 0; i < data->record_count; ++i) {
    if (is_lost(&data->records[i])) reader->lost[reader->lost_count++] = i;
  }
  return status_ok();
}

static void tag(const struct reader *reader, struct record *record) {
  if (reader->differs[0] != '\0') memcpy(record->resumed_with_other, reader->differs, sizeof reader->differs);
}

static struct status read_cell(struct reader *reader, const char *body, size_t length) {
  struct record *next = &reader->data->records[reader->data->record_count];
  TRY(record_from_line(body, length, next));
  struct record *place = place_of(reader, next);
  if (place != next) TRY(record_from_line(body, length, place)); /* a record points into itself */
  tag(reader, place);
  return status_ok();
}

static struct record *find_record(struct reader *reader, const char *key, const char *variant) {
  const size_t count = reader->data->record_count;
  for (size_t i = 0; i < count; ++i) {
    struct record *record = &reader->data->records[(reader->next_again + i) % count];
    if (!record_is_cell(record, key, variant)) continue;
    reader->next_again = (reader->next_again + i + 1) % count;
    return record;
  }
  return NULL;
}

static struct status read_again(struct reader *reader, const char *body, size_t length) {
  struct process_line line;
  const struct status status = process_line_from_text(body, length, &line);
  if (status_failed(&status)) return status;
  struct record *record = find_record(reader, line.key, line.variant);
  if (record != NULL) tag(reader, record);
  if (record != NULL && strcmp(record->card, line.card) != 0)
    return status_make(STATUS_INPUT, "again: cell %s of %s was begun on another card", line.key, line.variant);
  if (record != NULL) return process_add(record, line.round, &line.sample);
  return status_make(STATUS_INPUT, "again: cell %s of %s has no first round", line.key, line.variant);
}

static struct status read_resumed(struct reader *reader, const char *body, size_t length) {
  struct journal_resumed resumed = {.cell_count = 0};
  struct journal_data *data = reader->data;
  TRY(fields_from_line("resumed", body, length, resumed_fields, &resumed));
  reader->has_end = false;
  TRY(find_lost(reader));
  memcpy(reader->differs, resumed.differs, sizeof reader->differs);
  snprintf(data->state, sizeof data->state, "partial");
  data->run.cell_count = resumed.cell_count;
  ++data->run.resumed;
  return status_ok();
}

static struct status read_end(struct reader *reader, const char *body, size_t length) {
  struct end_line end = {0};
  const struct status status = fields_from_line("end", body, length, end_fields, &end);
  if (status_failed(&status)) return status;
  if (strcmp(end.state, "complete") != 0 && strcmp(end.state, "interrupted") != 0) {
    return status_make(STATUS_INPUT, "end: state is \"%s\", not complete or interrupted", end.state);
  }
  reader->has_end = true;
  memcpy(reader->data->state, end.state, sizeof end.state);
  reader->data->wall_s = end.wall_s;
  return status;
}

static const struct line_kind {
  const char *open;
  struct status (*read)(struct reader *, const char *body, size_t length);
} line_kinds[] = {{header_open, read_header},       {device_open_text, read_device}, {planned_open, read_planned},
                  {cell_open, read_cell},           {again_open, read_again},        {resumed_open, read_resumed},
                  {selection_open, read_selection}, {sentinel_open, read_sentinel},  {end_open, read_end}};

static struct status read_line(struct reader *reader, const char *line, size_t length) {
  for (size_t i = 0; i < sizeof line_kinds / sizeof *line_kinds; ++i) {
    const size_t open_length = strlen(line_kinds[i].open);
    if (length <= open_length || memcmp(line, line_kinds[i].open, open_length) != 0 || line[length - 1] != '}') {
      continue;
    }
    if (!reader->has_header && line_kinds[i].read != read_header) break;
    if (reader->has_end && line_kinds[i].read != read_resumed)
      return status_make(STATUS_INPUT, "a line after the end line");
    return line_kinds[i].read(reader, line + open_length, length - open_length - 1);
  }
  return status_make(STATUS_INPUT, reader->has_header
                                       ? "not a line of an attnbench journal; the file is damaged"
                                       : "not an attnbench.journal/1 header; name a journal that attnbench wrote");
}

/* Bytes after the last newline are a line that was torn by a kill or a power loss: dropped. */
static struct status read_lines(const char *path, const char *text, size_t length, struct reader *reader) {
  size_t number = 1;
  const char *line = text, *end;
  for (; (end = memchr(line, '\n', length - (size_t)(line - text))) != NULL; line = end + 1, ++number) {
    const struct status status = read_line(reader, line, (size_t)(end - line));
    if (status_failed(&status)) return status_make(status.code, "%s:%zu: %s", path, number, status.text);
  }
  if (reader->has_header) return status_ok();
  return status_make(STATUS_INPUT, "%s: has no whole line; nothing was measured, run the sweep again", path);
}

/* The later one of two records of one cell; NULL when there are none. */
static struct status find_repeated(const char *path, const struct journal_data *data, const struct record **out) {
  *out = NULL;
  const struct record **sorted = record_sorted(data->records, data->record_count);
  if (sorted == NULL) return status_make(STATUS_MEMORY, "%s: no memory for %zu cells", path, data->record_count);
  for (size_t i = 1; i < data->record_count && *out == NULL; ++i) {
    if (record_order(&sorted[i - 1], &sorted[i]) == 0) *out = sorted[i] > sorted[i - 1] ? sorted[i] : sorted[i - 1];
  }
  free(sorted);
  return status_ok();
}

struct status journal_check_unique(const struct journal_data *data, const struct json_doc *doc, const cJSON *list) {
  const struct record *repeated;
  const struct status status = find_repeated(doc->path, data, &repeated);
  if (status_failed(&status) || repeated == NULL) return status;
  return json_error(doc, cJSON_GetArrayItem(list, (int)(repeated - data->records)), false,
                    "is cell %s of %s, which appears twice; remove one of the two", repeated->attn_case.key,
                    repeated->variant);
}

static size_t count_cells(const char *text, size_t length) {
  size_t count = 0;
  const char *line = text, *end;
  for (; (end = memchr(line, '\n', length - (size_t)(line - text))) != NULL; line = end + 1) {
    count += strncmp(line, cell_open, sizeof cell_open - 1) == 0;
  }
  return count;
}

struct ranked {
  size_t rank, at;
};

static int by_rank(const void *a, const void *b) {
  const struct ranked *left = a, *right = b;
  if (left->rank != right->rank) return left->rank < right->rank ? -1 : 1;
  return (left->at > right->at) - (left->at < right->at);
}

static struct status rank_records(const struct journal_data *data, struct ranked *out) {
  struct selection names;
  size_t *rank = calloc(data->record_count + 1, sizeof *rank);
  struct status status = selection_make(data->record_count, &names);
  if (rank == NULL) status = status_make(STATUS_MEMORY, "no memory for %zu cells", data->record_count);
  for (size_t i = 0; i < data->record_count && !status_failed(&status); ++i)
    cell_name(data->records[i].attn_case.key, data->records[i].variant, names.name[i]);
  if (!status_failed(&status)) status = selection_ranks(&data->selection, &names, rank);
  for (size_t i = 0; i < data->record_count && !status_failed(&status); ++i)
    out[i] = (struct ranked){.rank = rank[i], .at = i};
  selection_free(&names);
  free(rank);
  return status;
}

static struct status copy_in_order(struct journal_data *data, struct ranked *ranked, struct record *out) {
  TRY(rank_records(data, ranked));
  qsort(ranked, data->record_count, sizeof *ranked, by_rank);
  for (size_t i = 0; i < data->record_count; ++i) record_copy(&out[i], &data->records[ranked[i].at]);
  return status_ok();
}

/* Cells may have been measured in any order. What is not in the selection, as after --resume=anyway, comes last. */
static struct status order_records(struct journal_data *data) {
  if (data->selection.count == 0) return status_ok();
  struct ranked *ranked = calloc(data->record_count + 1, sizeof *ranked);
  struct record *ordered = calloc(data->record_count + 1, sizeof *ordered);
  struct status status = status_make(STATUS_MEMORY, "no memory for %zu cells", data->record_count);
  if (ranked != NULL && ordered != NULL) status = copy_in_order(data, ranked, ordered);
  free(ranked);
  if (status_failed(&status)) {
    free(ordered);
    return status;
  }
  free(data->records);
  data->records = ordered;
  return status;
}

static struct status parse(const char *path, const char *text, size_t length, struct journal_data *out) {
  /* One allocation of the final size: a record points into itself and must not move. */
  out->records = calloc(count_cells(text, length) + 1, sizeof *out->records);
  if (out->records == NULL) return status_make(STATUS_MEMORY, "%s: no memory for its cells", path);
  struct reader reader = {.data = out};
  const struct record *repeated = NULL;
  struct status status = read_lines(path, text, length, &reader);
  free(reader.lost);
  if (!status_failed(&status)) status = find_repeated(path, out, &repeated);
  if (!status_failed(&status) && repeated == NULL) return order_records(out);
  if (status_failed(&status)) return status;
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
  char *text;
  size_t length;
  struct status status = json_read_file(path, JOURNAL_BYTES_MAX, &text, &length);
  if (status_failed(&status)) return status;
  status = journal_parse(path, text, length, out);
  free(text);
  return status;
}

/* ---- continuing ---------------------------------------------------------------------------------------------- */

/* Was the process stopped while it wrote the first line? */
static bool is_torn_header(const char *text, size_t length) {
  const size_t compared = length < sizeof header_open - 1 ? length : sizeof header_open - 1;
  return memchr(text, '\n', length) == NULL && memcmp(text, header_open, compared) == 0;
}

static struct status take_whole_lines(struct journal *journal, const char *text, size_t length,
                                      struct journal_data *data) {
  const char *last = memrchr(text, '\n', length);
  TRY(journal_parse(journal->path, text, length, data));
  journal->length = last + 1 - text;
  return status_ok();
}

static struct status reopen(const char *path, struct journal *journal, struct journal_data *data, bool *is_there) {
  char *text;
  size_t length;
  TRY(take_path(path, journal));
  journal->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK);
  if (journal->fd < 0 && errno == ENOENT) return status_ok();
  if (journal->fd < 0)
    return status_make(STATUS_OUTPUT, "%s: cannot open the journal for writing: %s", path, strerror(errno));
  TRY(lock(path, journal->fd));
  TRY(json_read_file(path, JOURNAL_BYTES_MAX, &text, &length));
  struct status status = status_ok();
  if (is_torn_header(text, length)) {
    unlink(path);
  } else {
    status = take_whole_lines(journal, text, length, data);
    *is_there = !status_failed(&status);
  }
  free(text);
  return status;
}

struct status journal_resume(const char *path, struct journal **out, struct journal_data *data) {
  struct journal *journal = calloc(1, sizeof *journal);
  bool is_there = false;
  *out = NULL;
  if (journal == NULL) return status_make(STATUS_MEMORY, "%s: no memory for the journal", path);
  journal->fd = -1;
  const struct status status = reopen(path, journal, data, &is_there);
  if (is_there) {
    *out = journal;
  } else {
    journal_close(journal);
  }
  return status;
}

struct status journal_read_back(const struct journal *journal, struct journal_data *out) {
  char own[64], *text;
  size_t length;
  snprintf(own, sizeof own, "/proc/self/fd/%d", journal->fd);
  TRY(json_read_file(own, JOURNAL_BYTES_MAX, &text, &length));
  const struct status status = journal_parse(journal->path, text, length, out);
  free(text);
  return status;
}

bool journal_starts(const char *text) { return strncmp(text, header_open, strcspn(header_open, ":") + 1) == 0; }

void journal_free(struct journal_data *data) {
  free(data->records);
  selection_free(&data->selection);
  data->records = NULL;
  data->record_count = 0;
}
