/* merge: checks that the journals of a run's shards hold every cell of the run exactly once, and joins them to the
 * report of one run. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/command/commands.h"

/* The parts of one run: path[i] and part[i] belong together. */
struct cover {
  const char *const *paths;
  struct journal_data *part;
  size_t count;
};

/* The cells that are missing, present twice or unfinished. */
enum { COVER_TOLD_MAX = 64, COVER_WHERE_MAX = 512 };
struct cover_gaps {
  size_t selected, missing, twice, unfinished; /* numbers of cells; an unfinished cell lacks rounds */
  size_t told_count;
  struct cover_gap {
    const char *cell; /* points into the selection of a part */
    char where[COVER_WHERE_MAX];
  } told[COVER_TOLD_MAX]; /* the first of these cells */
};

/* ---- parts of one run ---------------------------------------------------------------------------------------- */

static struct status check_is_shard(const char *path, const struct journal_data *part) {
  if (part->run.shard[0] != '\0' && part->run.setup.known) return status_ok();
  return status_make(STATUS_INPUT,
                     "%s: is no journal of a shard; attnbench merge takes the journals of runs with --shard (a whole "
                     "run's is shown by attnbench report)",
                     path);
}

static struct status refuse(const struct cover *cover, size_t index, const struct alike_difference *difference) {
  const bool may_differ = difference->of_device && !difference->is_one_report;
  return status_make(STATUS_NOT_COMPARABLE, "%s and %s are not shards of one run%s: %s is %s there and %s here; %s",
                     cover->paths[0], cover->paths[index], difference->of_device ? " on like devices" : "",
                     difference->name, difference->first, difference->second,
                     may_differ ? "measure all on like devices, or accept it with --across-devices"
                                : "measure all shards with the same program and arguments");
}

static struct status check_alike(const struct cover *cover, size_t index, bool across_devices) {
  struct alike_difference found[ALIKE_MAX];
  const size_t count = alike_compare(ALIKE_SHARDS, &cover->part[0], &cover->part[index], found);
  for (size_t i = 0; i < count; ++i) {
    if (!across_devices || !found[i].of_device || found[i].is_one_report) return refuse(cover, index, &found[i]);
  }
  return status_ok();
}

/* STATUS_INPUT when a journal is not that of a shard, or holds a cell that does not belong to its shard.
 * STATUS_NOT_COMPARABLE when the journals are not of one run, or, unless across_devices, not of like devices. */
static struct status check_parts(const struct cover *cover, bool across_devices) {
  for (size_t i = 0; i < cover->count; ++i) TRY(check_is_shard(cover->paths[i], &cover->part[i]));
  for (size_t i = 1; i < cover->count; ++i) TRY(check_alike(cover, i, across_devices));
  return status_ok();
}

/* ---- what is there ------------------------------------------------------------------------------------------- */

/* A part that was stopped at once need not have the names. */
static const struct selection *selection_of_run(const struct cover *cover) {
  for (size_t i = 0; i < cover->count; ++i) {
    if (cover->part[i].selection.count > 0) return &cover->part[i].selection;
  }
  return NULL;
}

static struct status find_selection(const struct cover *cover, const struct selection **out) {
  char hash[HASH_TEXT_MAX];
  *out = selection_of_run(cover);
  if (*out == NULL)
    return status_make(STATUS_INPUT, "%s: was stopped before anything was measured; measure its shard with --resume",
                       cover->paths[0]);
  selection_hash(*out, hash);
  if (strcmp(hash, cover->part[0].run.setup.cells) == 0) return status_ok();
  return status_make(STATUS_INPUT, "%s: its list of cells is not the one of its header; measure its shard again",
                     cover->paths[0]);
}

/* Per cell of the selection: how many records there are, and of which parts. find_all makes them for the caller to
 * free, also when it fails. */
struct found {
  uint32_t count;
  size_t first, second;
  const struct record *record;
};

static struct status find_in_part(const struct cover *cover, size_t index, const struct selection *selection,
                                  struct found *out) {
  const struct journal_data *part = &cover->part[index];
  OWNED(owned_free) size_t *rank = NULL;
  TRY(journal_ranks(part, selection, &rank));
  for (size_t i = 0; i < part->record_count; ++i) {
    const struct record *record = &part->records[i];
    if (rank[i] == SIZE_MAX)
      return status_make(STATUS_INPUT, "%s: has the cell %s/%s, which its run did not select", cover->paths[index],
                         record->attn_case.key, record->variant);
    struct found *found = &out[rank[i]];
    if (found->count == 0) found->record = record;
    *(found->count == 0 ? &found->first : &found->second) = index;
    ++found->count;
  }
  return status_ok();
}

static struct status find_all(const struct cover *cover, const struct selection *selection, struct found **out) {
  TRY(owned_array(out, selection->count, sizeof **out, "cells"));
  for (size_t i = 0; i < cover->count; ++i) TRY(find_in_part(cover, i, selection, *out));
  return status_ok();
}

/* ---- what is not --------------------------------------------------------------------------------------------- */

/* The place of the journal of a shard; NULL: none is of it. */
static const char *path_of(const struct cover *cover, const struct shard *shard) {
  char text[SHARD_TEXT_MAX];
  selection_shard_text(shard, text);
  for (size_t i = 0; i < cover->count; ++i) {
    if (strcmp(cover->part[i].run.shard, text) == 0) return cover->paths[i];
  }
  return NULL;
}

static void tell(struct cover_gaps *out, const char *cell, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void tell(struct cover_gaps *out, const char *cell, const char *format, ...) {
  va_list arguments;
  if (out->told_count == COVER_TOLD_MAX) return;
  struct cover_gap *gap = &out->told[out->told_count++];
  gap->cell = cell;
  va_start(arguments, format);
  vsnprintf(gap->where, sizeof gap->where, format, arguments);
  va_end(arguments);
}

static void tell_missing(const struct cover *cover, const struct shard *shard, const char *cell,
                         struct cover_gaps *out) {
  const char *path = path_of(cover, shard);
  ++out->missing;
  if (path == NULL) {
    tell(out, cell, "is missing: no journal here is of shard %" PRIu32 "/%" PRIu32, shard->index, shard->count);
  } else {
    tell(out, cell, "is missing in %s, the journal of shard %" PRIu32 "/%" PRIu32, path, shard->index, shard->count);
  }
}

static void look_at(const struct cover *cover, const struct shard *shard, const char *cell, const struct found *found,
                    struct cover_gaps *out) {
  const uint32_t rounds = cover->part[0].run.setup.rounds;
  if (found->count == 0) {
    tell_missing(cover, shard, cell, out);
  } else if (found->count > 1) {
    ++out->twice;
    tell(out, cell, "is there %" PRIu32 " times: in %s and %s", found->count, cover->paths[found->first],
         cover->paths[found->second]);
  } else if (record_is_timed(found->record) && process_count(found->record) < rounds) {
    ++out->unfinished;
    tell(out, cell, "has %" PRIu32 " of %" PRIu32 " rounds in %s", process_count(found->record), rounds,
         cover->paths[found->first]);
  }
}

static struct status find_gaps(const struct cover *cover, struct cover_gaps *out) {
  const struct selection *selection;
  const char *text = cover->part[0].run.shard;
  struct shard shard = {.index = 0};
  OWNED(owned_free) struct found *found = NULL;
  OWNED(owned_free) uint32_t *shard_of = NULL;
  *out = (struct cover_gaps){.told_count = 0};
  TRY(find_selection(cover, &selection));
  out->selected = selection->count;
  if (sscanf(text, "%" SCNu32 "/%" SCNu32, &shard.index, &shard.count) != 2 || shard.count == 0)
    return status_make(STATUS_INPUT, "%s: \"%s\" is no shard", cover->paths[0], text);
  TRY(owned_array(&shard_of, selection->count, sizeof *shard_of, "cells"));
  TRY(selection_deal(selection, shard.count, shard_of));
  TRY(find_all(cover, selection, &found));
  for (size_t i = 0; i < selection->count; ++i) {
    shard.index = shard_of[i];
    look_at(cover, &shard, selection->name[i], &found[i], out);
  }
  return status_ok();
}

/* ---- all parts as one ---------------------------------------------------------------------------------------- */

static void mark_unlike(const struct cover *cover, size_t index, struct record *record) {
  struct alike_difference found[ALIKE_MAX];
  const size_t count = alike_compare(ALIKE_SHARDS, &cover->part[0], &cover->part[index], found);
  for (size_t i = 0; i < count; ++i) alike_add_name(found[i].name, record->resumed_with_other);
}

/* What is known of the run as a whole. The first device stands for all. */
static void join_runs(const struct cover *cover, struct journal_data *out) {
  const struct journal_data *first = &cover->part[0];
  *out = *first;
  out->selection = (struct selection){.count = 0};
  out->records = NULL;
  out->record_count = 0;
  snprintf(out->state, sizeof out->state, "complete");
  out->run.sentinel.known = false; /* each shard has its own */
  out->run.shard[0] = '\0';
  out->run.merged_shards = (uint32_t)cover->count;
  for (size_t i = 1; i < cover->count; ++i) {
    const struct journal_data *part = &cover->part[i];
    if (strcmp(part->run.started_utc, out->run.started_utc) < 0)
      memcpy(out->run.started_utc, part->run.started_utc, sizeof out->run.started_utc);
    out->run.resumed += part->run.resumed;
    out->wall_s += part->wall_s;
  }
}

/* Joins all parts, which must have passed check_parts and have no gaps (find_gaps), into one journal. Rows that were
 * measured under other conditions than those of the first part are marked. The caller frees with journal_free. */
static struct status join_parts(const struct cover *cover, struct journal_data *out) {
  const struct selection *selection;
  OWNED(owned_free) struct found *found = NULL;
  join_runs(cover, out);
  TRY(find_selection(cover, &selection));
  TRY(find_all(cover, selection, &found));
  TRY(owned_array(&out->records, selection->count, sizeof *out->records, "cells"));
  for (size_t i = 0; i < selection->count; ++i) {
    out->records[i] = *found[i].record;
    if (found[i].first > 0) mark_unlike(cover, found[i].first, &out->records[i]);
  }
  out->record_count = out->run.cell_count = selection->count;
  return status_ok();
}

static void print_gaps(const struct cover_gaps *gaps, FILE *file) {
  const size_t more = gaps->missing + gaps->twice + gaps->unfinished - gaps->told_count;
  for (size_t i = 0; i < gaps->told_count; ++i) text_say(file, "%s %s", gaps->told[i].cell, gaps->told[i].where);
  if (more > 0) text_say(file, "and %zu more", more);
}

static struct status check_gaps(const struct cover_gaps *gaps) {
  const struct {
    size_t count;
    const char *what;
  } parts[] = {{gaps->missing, "missing"}, {gaps->twice, "there more than once"}, {gaps->unfinished, "unfinished"}};
  char what[128] = "";
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (parts[i].count == 0) continue;
    text_append(what, sizeof what, "%s%zu %s", what[0] != '\0' ? ", " : "", parts[i].count, parts[i].what);
  }
  if (what[0] == '\0') return status_ok();
  print_gaps(gaps, stderr);
  return status_make(STATUS_COVERAGE,
                     "of %zu cells %s; nothing was written. Measure what is missing with the same --shard and "
                     "--journal and with --resume, and name the journal of each shard once",
                     gaps->selected, what);
}

static struct status check(const struct options *options, const struct cover *cover) {
  OWNED_ARRAY(struct cover_gaps, gaps, 1, "list of what is missing");
  TRY(check_parts(cover, options->across_devices));
  TRY(find_gaps(cover, gaps));
  return check_gaps(gaps);
}

static void free_parts(struct cover *cover) {
  for (size_t i = 0; i < cover->count; ++i) journal_free(&cover->part[i]);
  free(cover->part);
}

struct status verb_merge(const struct options *options, struct outcome *outcome) {
  const size_t count = options->reports.count;
  OWNED(free_parts) struct cover cover = {.paths = options->reports.item};
  OWNED(journal_free) struct journal_data joined = {.records = NULL};
  TRY(outputs_probe(options));
  TRY(owned_array(&cover.part, count, sizeof *cover.part, "journals"));
  for (; cover.count < count; ++cover.count) TRY(journal_load(cover.paths[cover.count], &cover.part[cover.count]));
  TRY(check(options, &cover));
  TRY(join_parts(&cover, &joined));
  return outputs_write(options, &joined, outcome);
}
