/* Collects the times of many runs as series, and judges where they changed. */
#include "cli/gate/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/sorting.h"
#include "cli/base/text.h"
#include "cli/gate/judge.h"

/* How often it is said of a reference that did not change that it surely did. */
#define REFERENCE_ERROR 0.05

/* ---- runs ---------------------------------------------------------------------------------------------------- */

static uint64_t hash_texts(const char *const *texts, size_t count) {
  uint64_t hash = HASH_EMPTY;
  for (size_t i = 0; i < count; ++i) hash = hash_add(hash, texts[i], strlen(texts[i]) + 1);
  return hash;
}

static uint64_t identity_of(const struct journal_data *data) {
  const struct run_info *run = &data->run;
  const char *const texts[] = {run->started_utc, run->git_commit, run->commit,      run->command,
                               run->shard,       run->sweep_hash, data->device.uuid};
  return hash_texts(texts, sizeof texts / sizeof *texts);
}

static void fill_run(const struct journal_data *data, struct history_run *out) {
  const struct run_info *run = &data->run;
  const struct device_info *device = &data->device;
  out->is_foreign = run->commit[0] != '\0';
  snprintf(out->commit, sizeof out->commit, "%s", out->is_foreign ? run->commit : run->git_commit);
  if (out->is_foreign) snprintf(out->program, sizeof out->program, "%s %s", run->version, run->git_commit);
  snprintf(out->date, sizeof out->date, "%s", run->started_utc);
  snprintf(out->card, sizeof out->card, "%s", device->name);
  snprintf(out->card_id, sizeof out->card_id, "%s", device->uuid);
  snprintf(out->driver, sizeof out->driver, "%s", device->driver);
  snprintf(out->cuda, sizeof out->cuda, "%s", run->cuda);
  snprintf(out->version, sizeof out->version, "%s", run->version);
  if (data->policy.known)
    snprintf(out->host, sizeof out->host, "%s, %s", data->policy.host_cpu, data->policy.host_kernel);
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) out->anchor[mode] = NAN;
}

static struct status add_run(struct history *history, const char *path, const struct journal_data *data) {
  TRY(owned_grow(&history->runs, history->run_count, &history->run_room, sizeof *history->runs, "runs"));
  struct history_run *run = &history->runs[history->run_count];
  *run = (struct history_run){.path = strdup(path), .identity = identity_of(data)};
  if (run->path == NULL) return status_make(STATUS_MEMORY, "no memory for a path");
  fill_run(data, run);
  ++history->run_count;
  return status_ok();
}

/* ---- series -------------------------------------------------------------------------------------------------- */

static bool is_vendors(const char *variant_name) {
  const struct attn_variant *variant = variant_find(variant_name);
  return variant != NULL && variant->vendor != NULL;
}

static bool is_anchor(const struct journal_data *data, const struct record *record) {
  return is_vendors(record->variant_name) || strcmp(record->variant, data->run.setup.reference) == 0;
}

static uint64_t hash_of(const struct history_series *series) {
  const char *const texts[] = {series->key, series->variant, series->reference, series->card,
                               time_mode_name(series->mode)};
  return hash_texts(texts, sizeof texts / sizeof *texts);
}

static bool is_same(const struct history_series *a, const struct history_series *b) {
  return a->hash == b->hash && a->mode == b->mode && strcmp(a->key, b->key) == 0 &&
         strcmp(a->variant, b->variant) == 0 && strcmp(a->reference, b->reference) == 0 &&
         strcmp(a->card, b->card) == 0;
}

/* The series like this one, which is added when there is none. Files have their rows in the same order, so that the
 * next series is most often the one that is looked for. */
static struct status find_series(struct history *history, const struct history_series *like,
                                 struct history_series **out) {
  for (size_t i = 1; i <= history->series_count; ++i) {
    const size_t at = (history->hint + i) % history->series_count;
    if (!is_same(&history->series[at], like)) continue;
    history->hint = at;
    *out = &history->series[at];
    return status_ok();
  }
  TRY(owned_grow(&history->series, history->series_count, &history->series_room, sizeof *history->series, "series"));
  history->hint = history->series_count++;
  *out = &history->series[history->hint];
  **out = *like;
  return status_ok();
}

static struct history_point point_of(const struct history *history, const struct record *record,
                                     enum time_mode mode) {
  const struct time_record *time = &record->time[mode];
  const struct ratio_record *ratio = &record->speedup.mode[mode];
  const struct process_interval between = process_interval_of(&record->process[mode]);
  const bool is_several = between.processes > 0;
  struct history_point out = {.run = (uint32_t)(history->run_count - 1),
                              .us = is_several ? between.median_us : time->us.median,
                              .ratio = ratio->done ? ratio->ratio : (double)NAN};
  out.low = (float)(ratio->done ? ratio->ci_low : is_several ? between.low_us : time->us.ci_low);
  out.high = (float)(ratio->done ? ratio->ci_high : is_several ? between.high_us : time->us.ci_high);
  return out;
}

static struct status add_point(struct history *history, const struct journal_data *data, const struct record *record,
                               enum time_mode mode) {
  struct history_series *series = NULL, like = {.mode = mode, .is_anchor = is_anchor(data, record), .drift = NAN};
  const struct history_point point = point_of(history, record, mode);
  if (!(point.us > 0) || point.ratio <= 0) return status_ok();
  snprintf(like.key, sizeof like.key, "%s", record->attn_case.key);
  snprintf(like.variant, sizeof like.variant, "%s", record->variant);
  snprintf(like.card, sizeof like.card, "%s", data->device.name);
  if (record->speedup.mode[mode].done)
    snprintf(like.reference, sizeof like.reference, "%s", record->speedup.reference);
  like.hash = hash_of(&like);
  TRY(find_series(history, &like, &series));
  TRY(owned_grow(&series->points, series->count, &series->room, sizeof *series->points, "points"));
  series->points[series->count++] = point;
  return status_ok();
}

/* The launches of a vendor's row are named after its library and the version. */
static void note_library(const struct record *record, struct history_run *run) {
  const bool is_in_turns = record->speedup.library[0] != '\0';
  if (run->has_library_in_turns) return;
  if (is_in_turns)
    snprintf(run->library, sizeof run->library, "%s", record->speedup.library);
  else if (run->library[0] == '\0' && record->plan.pass_count > 0 && is_vendors(record->variant_name))
    snprintf(run->library, sizeof run->library, "%s", record->pass[0].name);
  run->has_library_in_turns = is_in_turns;
}

struct status history_add(struct history *history, const char *path, const struct journal_data *data, bool *is_new) {
  const uint64_t identity = identity_of(data);
  *is_new = false;
  for (size_t i = 0; i < history->run_count; ++i) {
    if (history->runs[i].identity == identity) return status_ok();
  }
  *is_new = true;
  TRY(add_run(history, path, data));
  for (size_t i = 0; i < data->record_count; ++i) {
    if (data->records[i].status != CELL_ok) continue;
    note_library(&data->records[i], &history->runs[history->run_count - 1]);
    for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
      if (data->records[i].time[mode].done) TRY(add_point(history, data, &data->records[i], mode));
    }
  }
  return status_ok();
}

void history_free(struct history *history) {
  for (size_t i = 0; i < history->run_count; ++i) free(history->runs[i].path);
  for (size_t i = 0; i < history->series_count; ++i) {
    free(history->series[i].points);
    free(history->series[i].changes);
  }
  free(history->runs);
  free(history->series);
  *history = (struct history){.run_count = 0};
}

/* ---- order --------------------------------------------------------------------------------------------------- */

/* Abbreviations of one commit: the shorter one begins the longer one. "+dirty" is no part of it. */
static bool is_commit(const char *commit, const char *line) {
  static const char digits[] = "0123456789abcdef";
  const size_t one = strspn(commit, digits), other = strspn(line, digits), length = one < other ? one : other;
  return length >= 7 && strncmp(commit, line, length) == 0;
}

/* The number of the line with this commit, from 1; 0 when there is none. */
static size_t line_of(const char *commits, const char *commit) {
  size_t number = 1;
  for (const char *line = commits; *line != '\0'; ++number) {
    if (is_commit(commit, line)) return number;
    line += strcspn(line, "\n");
    line += *line == '\n';
  }
  return 0;
}

static void drop_points(struct history *history, const size_t *place) {
  for (size_t i = 0; i < history->series_count; ++i) {
    struct history_series *series = &history->series[i];
    size_t kept = 0;
    for (size_t j = 0; j < series->count; ++j) {
      series->points[kept] = series->points[j];
      const size_t at = place[series->points[j].run];
      series->points[kept].run = (uint32_t)at;
      kept += at != SIZE_MAX;
    }
    series->count = kept;
  }
}

struct status history_order(struct history *history, const char *commits, size_t *dropped) {
  OWNED(owned_free) size_t *place = NULL;
  size_t kept = 0;
  TRY(owned_array(&place, history->run_count, sizeof *place, "runs"));
  for (size_t i = 0; i < history->run_count; ++i) {
    const size_t line = line_of(commits, history->runs[i].commit);
    place[i] = line > 0 ? kept : SIZE_MAX;
    if (line == 0) {
      free(history->runs[i].path);
    } else {
      history->runs[kept] = history->runs[i];
      history->runs[kept++].place = line;
    }
  }
  *dropped = history->run_count - kept;
  history->run_count = kept;
  drop_points(history, place);
  return status_ok();
}

/* Oldest first. */
static int by_time(const void *left, const void *right) {
  const struct history_run *a = *(const struct history_run *const *)left,
                           *b = *(const struct history_run *const *)right;
  return SORTING_FIRST(SORTING_ORDER(a->place, b->place), strcmp(a->date, b->date), strcmp(a->path, b->path));
}

static int by_run(const void *left, const void *right) {
  const struct history_point *a = left, *b = right;
  return SORTING_ORDER(a->run, b->run);
}

static int by_name(const void *left, const void *right) {
  const struct history_series *a = left, *b = right;
  return SORTING_FIRST(strcmp(a->key, b->key), strcmp(a->variant, b->variant), SORTING_ORDER(a->mode, b->mode),
                       strcmp(a->card, b->card), strcmp(a->reference, b->reference));
}

static struct status sort_all(struct history *history) {
  OWNED(owned_free) const struct history_run **order = NULL;
  OWNED(owned_free) size_t *place = NULL;
  struct history_run *sorted = NULL;
  TRY(owned_array(&order, history->run_count, sizeof *order, "runs"));
  TRY(owned_array(&place, history->run_count, sizeof *place, "runs"));
  TRY(owned_array(&sorted, history->run_count, sizeof *sorted, "runs"));
  for (size_t i = 0; i < history->run_count; ++i) order[i] = &history->runs[i];
  qsort(order, history->run_count, sizeof *order, by_time);
  for (size_t i = 0; i < history->run_count; ++i) {
    sorted[i] = *order[i];
    place[order[i] - history->runs] = i;
  }
  free(history->runs);
  history->runs = sorted;
  drop_points(history, place);
  for (size_t i = 0; i < history->series_count; ++i)
    qsort(history->series[i].points, history->series[i].count, sizeof *history->series[i].points, by_run);
  qsort(history->series, history->series_count, sizeof *history->series, by_name);
  return status_ok();
}

/* ---- anchors ------------------------------------------------------------------------------------------------- */

static struct status median_log(const struct history_series *series, double *out) {
  OWNED(owned_free) double *value = NULL;
  TRY(owned_array(&value, series->count, sizeof *value, "values"));
  for (size_t i = 0; i < series->count; ++i) value[i] = log(series->points[i].us);
  *out = stats_median(value, series->count);
  return status_ok();
}

/* The mean over the vendor's rows of each run. */
static struct status find_anchors(struct history *history, enum time_mode mode) {
  OWNED(owned_free) size_t *counts = NULL;
  TRY(owned_array(&counts, history->run_count, sizeof *counts, "runs"));
  for (size_t i = 0; i < history->series_count; ++i) {
    const struct history_series *series = &history->series[i];
    double usual = 0;
    if (!series->is_anchor || series->mode != mode || series->count == 0) continue;
    TRY(median_log(series, &usual));
    for (size_t j = 0; j < series->count; ++j) {
      const uint32_t run = series->points[j].run;
      double *anchor = &history->runs[run].anchor[mode];
      const double shift = log(series->points[j].us) - usual;
      *anchor = counts[run] == 0 ? shift : *anchor + (shift - *anchor) / (double)(counts[run] + 1);
      ++counts[run];
    }
  }
  return status_ok();
}

static enum history_basis basis_of(const struct history *history, const struct history_series *series) {
  if (series->reference[0] != '\0') return HISTORY_IN_TURNS;
  if (series->is_anchor) return HISTORY_ALONE;
  for (size_t i = 0; i < series->count; ++i) {
    if (isnan(history->runs[series->points[i].run].anchor[series->mode])) return HISTORY_ALONE;
  }
  return HISTORY_ANCHORED;
}

double history_value(const struct history *history, const struct history_series *series,
                     const struct history_point *point) {
  switch (series->basis) {
    case HISTORY_IN_TURNS: return -log(point->ratio);
    case HISTORY_ANCHORED: return log(point->us) - history->runs[point->run].anchor[series->mode];
    case HISTORY_ALONE: break;
  }
  return log(point->us);
}

/* ---- changes ------------------------------------------------------------------------------------------------- */

static const struct history_run *run_at(const struct history *history, const struct history_series *series,
                                        size_t point) {
  return &history->runs[series->points[point].run];
}

/* Is there another commit from this point on? */
static bool is_boundary(const struct history *history, const struct history_series *series, size_t at) {
  return at > 0 && at < series->count &&
         strcmp(run_at(history, series, at - 1)->commit, run_at(history, series, at)->commit) != 0;
}

/* A kernel changes with its commit: moves the change to the nearest point between its bounds at which a commit
 * begins. False: there is none. */
static bool move_to_commit(const struct history *history, const struct history_series *series,
                           struct change_point *point) {
  for (size_t away = 0; away <= point->latest - point->earliest; ++away) {
    const size_t later = point->at + away, sooner = point->at - away;
    if (later <= point->latest && is_boundary(history, series, later)) return point->at = later, true;
    if (away <= point->at && sooner >= point->earliest && is_boundary(history, series, sooner))
      return point->at = sooner, true;
  }
  return false;
}

/* What of a run's surroundings may change its times. */
static const struct {
  const char *name;
  size_t offset;
  bool is_shown;
  bool is_of_reference; /* it changes the times of the vendor's library alone */
} surroundings[] = {{"attnbench", offsetof(struct history_run, program), true, false},
                    {"driver", offsetof(struct history_run, driver), true, false},
                    {"CUDA", offsetof(struct history_run, cuda), true, false},
                    {"library", offsetof(struct history_run, library), true, true},
                    {"card", offsetof(struct history_run, card_id), false, false},
                    {"host", offsetof(struct history_run, host), false, false}};

/* Can the library alone have caused the change? Not where the series is compared with something else, nor where the
 * row's own time surely grew. */
static bool is_by_library(const struct history *history, const struct history_series *series,
                          const struct history_change *change) {
  if (series->is_anchor || series->basis == HISTORY_ANCHORED) return true;
  return (run_at(history, series, change->good)->has_library_in_turns || is_vendors(series->reference)) &&
         change->may_be_reference && !change->own_is_slower;
}

static const char *surrounding_at(const struct history *history, const struct history_series *series, size_t point,
                                  size_t row) {
  return (const char *)run_at(history, series, point) + surroundings[row].offset;
}

static bool is_there(const struct history *history, const struct history_series *series, size_t from, size_t to,
                     size_t row, const char *text) {
  for (size_t i = from; i < to; ++i) {
    if (strcmp(surrounding_at(history, series, i, row), text) == 0) return true;
  }
  return false;
}

/* One that changed with the level, and for as long. Of runs on this card and that, none did. */
static void tell_besides(const struct history *history, const struct history_series *series, size_t from, size_t to,
                         struct history_change *change) {
  char *out = change->besides;
  if (series->is_anchor) text_append(out, HISTORY_BESIDES_MAX, "no kernel of ours");
  for (size_t row = 0; row < sizeof surroundings / sizeof *surroundings; ++row) {
    const char *before = surrounding_at(history, series, change->good, row),
               *after = surrounding_at(history, series, change->bad, row);
    if (surroundings[row].is_of_reference &&
        (before[0] == '\0' || after[0] == '\0' || !is_by_library(history, series, change)))
      continue;
    if (is_there(history, series, change->bad, to, row, before) ||
        is_there(history, series, from, change->good + 1, row, after))
      continue;
    text_append(out, HISTORY_BESIDES_MAX, "%sanother %s", out[0] != '\0' ? ", " : "", surroundings[row].name);
    if (surroundings[row].is_shown) text_append(out, HISTORY_BESIDES_MAX, " (%s, then %s)", before, after);
  }
}

/* `last`: the last change of the series, after which its newest level begins. What is left of a change has the errors
 * of both at most. */
static void judge_state(const struct change_point *last, struct history_change *out) {
  const struct change_point *point = &out->point;
  const bool is_last = last->at == point->at;
  const double sign = point->shift > 0 ? 1 : -1, error = (point->high - point->low) / 2;
  const double beside = is_last ? 0 : (last->high - last->low) / 2;
  out->left = last->after - point->before;
  if (sign * out->left > fabs(point->shift) / 2)
    out->state = HISTORY_STANDS;
  else
    out->state = sign * out->left - hypot(error, beside) > CHANGE_SHIFT_LEAST ? HISTORY_PARTLY : HISTORY_REVERTED;
}

/* The ratio to a reference in turns also changes when the reference does: by another version of its library, or by a
 * commit if it is a kernel of the same repository. `own`, `reference`: of each point, logarithms of both times. */
static void judge_reference(const double *own, const double *reference, size_t from, size_t to,
                            struct history_change *out) {
  const size_t at = out->point.at;
  const struct student_score of_own = student_welch(own + from, at - from, own + at, to - at);
  const struct student_score of_reference = student_welch(reference + from, at - from, reference + at, to - at);
  if (of_own.freedom == 0) return;
  out->own = of_own.mean;
  out->own_is_slower =
      of_own.mean - student_quantile(REFERENCE_ERROR / 2, of_own.freedom) * of_own.error > CHANGE_SHIFT_LEAST;
  out->reference = of_reference.mean;
  out->may_be_reference =
      fabs(of_own.mean) < fabs(out->point.shift) / 2 &&
      fabs(of_reference.mean) > student_quantile(REFERENCE_ERROR / 2, of_reference.freedom) * of_reference.error;
}

/* The change `index` of those found; its levels reach to its neighbours. `times`: of each point the logarithm of its
 * time, then of each that of the reference; NULL without a reference in turns. */
static void judge_change(const struct history *history, const struct history_series *series, const double *times,
                         const struct change_points *found, size_t index, struct history_change *out) {
  const size_t from = index > 0 ? found->item[index - 1].at : 0;
  const size_t to = index + 1 < found->count ? found->item[index + 1].at : series->count;
  *out = (struct history_change){.point = found->item[index], .own = NAN, .reference = NAN};
  judge_state(&found->item[found->count - 1], out);
  if (!move_to_commit(history, series, &out->point))
    text_append(out->besides, sizeof out->besides, "the commit is the same");
  out->good = out->point.earliest - 1;
  out->bad = out->point.latest;
  if (times != NULL) judge_reference(times, times + series->count, from, to, out);
  tell_besides(history, series, from, to, out);
}

static struct status judge_series(const struct history *history, struct history_series *series) {
  OWNED(owned_free) double *value = NULL;
  OWNED(owned_free) double *times = NULL;
  OWNED(owned_free) struct change_points *found = NULL;
  series->basis = basis_of(history, series);
  TRY(owned_array(&value, series->count, sizeof *value, "values"));
  TRY(owned_array(&found, 1, sizeof *found, "changes"));
  for (size_t i = 0; i < series->count; ++i) value[i] = history_value(history, series, &series->points[i]);
  TRY(change_find(value, series->count, found));
  if (found->is_drift) series->drift = found->drift;
  TRY(owned_array(&series->changes, found->count, sizeof *series->changes, "changes"));
  if (series->basis == HISTORY_IN_TURNS && found->count > 0) {
    TRY(owned_array(&times, 2 * series->count, sizeof *times, "times"));
    for (size_t i = 0; i < series->count; ++i) {
      times[i] = log(series->points[i].us);
      times[series->count + i] = times[i] + log(series->points[i].ratio);
    }
  }
  for (series->change_count = 0; series->change_count < found->count; ++series->change_count)
    judge_change(history, series, times, found, series->change_count, &series->changes[series->change_count]);
  return status_ok();
}

struct status history_judge(struct history *history) {
  TRY(sort_all(history));
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) TRY(find_anchors(history, mode));
  for (size_t i = 0; i < history->series_count; ++i) TRY(judge_series(history, &history->series[i]));
  return status_ok();
}

bool history_is_judged(const struct history_series *series) { return series->count >= CHANGE_VALUES_LEAST; }

size_t history_count_judged(const struct history *history) {
  size_t judged = 0;
  for (size_t i = 0; i < history->series_count; ++i) judged += history_is_judged(&history->series[i]);
  return judged;
}

bool history_is_slower(const struct history_series *series) {
  for (size_t i = 0; i < series->change_count; ++i) {
    if (history_is_regression(series, &series->changes[i])) return true;
  }
  return false;
}

size_t history_count_slower(const struct history *history) {
  size_t slower = 0;
  for (size_t i = 0; i < history->series_count; ++i) slower += history_is_slower(&history->series[i]);
  return slower;
}

bool history_is_regression(const struct history_series *series, const struct history_change *change) {
  return !series->is_anchor && change->state != HISTORY_REVERTED && change->point.shift > 0 &&
         change->besides[0] == '\0';
}
