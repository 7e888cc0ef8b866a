/* Writes a history as text, JSON and CSV. */
#include "cli/gate/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/markup.h"
#include "cli/base/owned.h"
#include "cli/base/sorting.h"
#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/report/views.h"

/* ---- all changes --------------------------------------------------------------------------------------------- */

struct history_item history_sinks_item(const struct history *history, const struct history_series *series,
                                       const struct history_change *change) {
  struct history_item item = {.history = history, .series = series, .change = change, .shift = series->drift};
  if (change == NULL) return item;
  item.first = &history->runs[series->points[change->point.at].run];
  item.good = &history->runs[series->points[change->good].run];
  item.bad = &history->runs[series->points[change->bad].run];
  item.shift = change->point.shift;
  return item;
}

static int rank_of(const struct history_item *item) {
  if (item->change == NULL) return 1;
  return history_is_regression(item->series, item->change) ? 0 : item->change->state != HISTORY_REVERTED ? 1 : 2;
}

static int worst_first(const void *left, const void *right) {
  const struct history_item *a = left, *b = right;
  return SORTING_FIRST(SORTING_ORDER(rank_of(a), rank_of(b)), SORTING_ORDER(b->shift, a->shift),
                       SORTING_ORDER(a->series, b->series));
}

struct status history_sinks_list(const struct history *history, struct history_item **out, size_t *count) {
  size_t most = 0;
  for (size_t i = 0; i < history->series_count; ++i) most += history->series[i].change_count + 1;
  TRY(owned_array(out, most, sizeof **out, "changes"));
  *count = 0;
  for (size_t i = 0; i < history->series_count; ++i) {
    const struct history_series *series = &history->series[i];
    if (!isnan(series->drift)) (*out)[(*count)++] = history_sinks_item(history, series, NULL);
    for (size_t j = 0; j < series->change_count; ++j)
      (*out)[(*count)++] = history_sinks_item(history, series, &series->changes[j]);
  }
  qsort(*out, *count, sizeof **out, worst_first);
  return status_ok();
}

static const char *const states[] = {
    [HISTORY_STANDS] = "stands", [HISTORY_PARTLY] = "partly reverted", [HISTORY_REVERTED] = "reverted"};

const char *history_sinks_word(const struct history_item *item) {
  if (item->change == NULL) return "drifts";
  static const char *const words[][2] = {[HISTORY_STANDS] = {"faster", "slower"},
                                         [HISTORY_PARTLY] = {"faster, partly reverted", "slower, partly reverted"},
                                         [HISTORY_REVERTED] = {"faster, reverted", "slower, reverted"}};
  return words[item->change->state][item->shift > 0];
}

struct history_percent history_sinks_percent(double shift) {
  struct history_percent out;
  snprintf(out.text, sizeof out.text, "%s%s %%", shift > 0 ? "+" : "", units_fixed(expm1(shift) * 100, 1).text);
  return out;
}

/* ---- sentences ----------------------------------------------------------------------------------------------- */

void history_sinks_counts(const struct history *history, char out[HISTORY_LINE_MAX]) {
  size_t cases = 0;
  for (size_t i = 0; i < history->series_count; ++i)
    cases += i == 0 || strcmp(history->series[i].key, history->series[i - 1].key) != 0;
  snprintf(out, HISTORY_LINE_MAX, "%zu series of %zu case%s in %zu run%s", history->series_count, cases,
           cases == 1 ? "" : "s", history->run_count, history->run_count == 1 ? "" : "s");
  if (history->run_count > 0) {
    const struct history_run *first = &history->runs[0], *last = &history->runs[history->run_count - 1];
    if (first->place > 0)
      text_append(out, HISTORY_LINE_MAX, " of commits %s to %s", first->commit, last->commit);
    else
      text_append(out, HISTORY_LINE_MAX, ", %.10s to %.10s", first->date, last->date);
  }
  if (history->left_out > 0)
    text_append(out, HISTORY_LINE_MAX, "; %zu file%s left out", history->left_out, history->left_out == 1 ? "" : "s");
}

/* What the table lists beside one slowdown of each slower series. */
static void append_found(const struct history *history, size_t slower, char out[HISTORY_LINE_MAX]) {
  size_t changes = 0, changed = 0, drifts = 0;
  for (size_t i = 0; i < history->series_count; ++i) {
    changes += history->series[i].change_count;
    changed += history->series[i].change_count > 0;
    drifts += !isnan(history->series[i].drift);
  }
  if (changes > slower)
    text_append(out, HISTORY_LINE_MAX, "; %zu change%s in %zu series in all", changes, changes == 1 ? "" : "s",
                changed);
  if (drifts > 0) text_append(out, HISTORY_LINE_MAX, "; %zu series drift%s", drifts, drifts == 1 ? "s" : "");
}

void history_sinks_answer(const struct history *history, char out[HISTORY_LINE_MAX]) {
  const size_t judged = history_count_judged(history), series_count = history->series_count;
  const size_t slower = history_count_slower(history);
  out[0] = '\0';
  if (slower > 0) {
    snprintf(out, HISTORY_LINE_MAX, "%zu series %s slower since a commit", slower, slower == 1 ? "is" : "are");
  } else if (judged > 0) {
    snprintf(out, HISTORY_LINE_MAX, "no series is slower because of a commit");
  }
  append_found(history, slower, out);
  if (judged < series_count)
    text_append(out, HISTORY_LINE_MAX, "%scannot tell: %zu of %zu series %s fewer than %d runs",
                judged > 0 ? "; " : "", series_count - judged, series_count, series_count == 1 ? "has" : "have",
                CHANGE_VALUES_LEAST);
}

void history_sinks_gone(const struct history *history, const struct history_gone *gone, char out[HISTORY_LINE_MAX]) {
  const struct history_run *last = &history->runs[gone->last];
  snprintf(out, HISTORY_LINE_MAX, "%s has no time in the newest ", gone->variant);
  if (gone->runs > 1) text_append(out, HISTORY_LINE_MAX, "%zu ", gone->runs);
  text_append(out, HISTORY_LINE_MAX, gone->runs > 1 ? "runs" : "run");
  if (gone->cases > 1) text_append(out, HISTORY_LINE_MAX, " in %zu cases, such as", gone->cases);
  text_append(out, HISTORY_LINE_MAX, "%s %s", gone->cases > 1 ? "" : " at", gone->key);
  text_append(out, HISTORY_LINE_MAX, "; the last one is of commit %.10s, %.10s", last->commit, last->date);
}

/* ---- text: changes ------------------------------------------------------------------------------------------- */

static const struct text_column change_columns[] = {
    {"what", "", true, 0, 0},     {"time", "", false, 0, 0},  {"bounds", "", false, 4, 0},
    {"left", "", false, 1, 0},    {"case", "", true, 0, 20},  {"case", "B,H,S,D", true, 0, 20},
    {"variant", "", true, 0, 12}, {"mode", "", true, 0, 0},   {"commit", "", true, 0, 0},
    {"date", "", true, 2, 0},     {"surely", "", true, 3, 0},
};
enum { CHANGE_COLUMNS = sizeof change_columns / sizeof *change_columns };
static const struct text_meaning change_meanings[] = {
    {"time", "change of the time, compared with what the column `against` below names"},
    {"bounds", "its 95 % bounds"},
    {"left", "the newest level, compared with the one before the change: later changes are in it"},
    {"commit", "the first one measured with the change"},
    {"surely", "the range of commits that contains it, computed for 95 %"},
    {NULL, NULL}};

static void fill_change(const void *of, char cell[][TEXT_CELL_MAX]) {
  const struct history_item *item = of;
  const struct history_series *series = item->series;
  const struct history_change *change = item->change;
  char bounds[2 * sizeof(struct history_percent) + 8], left[sizeof(struct history_percent)], commit[16], date[16],
      between[32], name[TEXT_CELL_MAX];
  const bool is_step = change != NULL;
  cell_name_short_case(series->key, name, sizeof name);
  if (is_step) {
    snprintf(bounds, sizeof bounds, "%s to %s", history_sinks_percent(change->point.low).text,
             history_sinks_percent(change->point.high).text);
    snprintf(left, sizeof left, "%s", history_sinks_percent(change->left).text);
    snprintf(commit, sizeof commit, "%.10s", item->first->commit);
    snprintf(date, sizeof date, "%.10s", item->first->date);
    snprintf(between, sizeof between, "%.10s..%.10s", item->good->commit, item->bad->commit);
  }
  TEXT_CELLS(cell, history_sinks_word(item), history_sinks_percent(item->shift).text, is_step ? bounds : NULL,
             is_step ? left : NULL, series->key, name, series->variant, time_mode_name(series->mode),
             is_step ? commit : NULL, is_step ? date : NULL, is_step ? between : NULL);
}

static enum text_tone tone_of_change(const void *of) { return rank_of(of) == 0 ? TEXT_BAD : TEXT_PLAIN; }

void history_sinks_doubt(const struct history_item *item, char out[HISTORY_DOUBT_MAX]) {
  const struct history_change *change = item->change;
  snprintf(out, HISTORY_DOUBT_MAX, "%s", change != NULL ? change->besides : "");
  if (change == NULL || !change->may_be_reference) return;
  text_append(out, HISTORY_DOUBT_MAX, "%sits own time changed by %s, that of the reference %s by %s",
              out[0] != '\0' ? ", " : "", history_sinks_percent(change->own).text, item->series->reference,
              history_sinks_percent(change->reference).text);
}

static void print_doubts(const struct history_item *items, size_t count, FILE *file) {
  enum { SHOWN = 10 };
  size_t shown = 0;
  for (size_t i = 0; i < count && shown < SHOWN; ++i) {
    const struct history_item *item = &items[i];
    char doubt[HISTORY_DOUBT_MAX];
    history_sinks_doubt(item, doubt);
    if (doubt[0] == '\0') continue;
    ++shown;
    text_paragraph(file, "not for sure a kernel: ", "%s %s %s at %.10s: %s", item->series->key, item->series->variant,
                   time_mode_name(item->series->mode), item->first->commit, doubt);
  }
}

static void print_changes(const struct history_item *items, size_t count, FILE *file) {
  if (count == 0) return;
  const struct text_table table = TEXT_TABLE(change_columns, CHANGE_COLUMNS, items, count, fill_change,
                                             .short_column = 5, .tone = tone_of_change);
  fputc('\n', file);
  const struct text_fit fit = text_table_write(file, &table);
  text_legend(file, &fit, change_meanings, "");
  text_fit_print(file, &fit, "--json");
  print_doubts(items, count, file);
}

/* ---- text: series -------------------------------------------------------------------------------------------- */

static const struct text_column series_columns[] = {
    {"variant", "", true, 0, 12}, {"mode", "", true, 0, 0},    {"runs", "", false, 3, 0},
    {"first", "us", false, 2, 0}, {"now", "us", false, 0, 0},  {"vs ref", "", false, 0, 0},
    {"change", "", false, 0, 0},  {"against", "", true, 4, 0}, {"card", "", true, 5, 8},
};
enum { SERIES_COLUMNS = sizeof series_columns / sizeof *series_columns };
static const struct text_meaning series_meanings[] = {
    {"vs ref", "time of the reference in turns / time"},
    {"change", "of the time: all changes that were found, together"},
    {"against", "what times are compared with, so that a slow card is not taken for a slow kernel"},
    {NULL, NULL}};

static const char *basis_name(uint32_t basis) {
  static const char *const names[] = {
      [HISTORY_IN_TURNS] = "reference in turns", [HISTORY_ANCHORED] = "anchors", [HISTORY_ALONE] = "raw time"};
  return basis < sizeof names / sizeof *names ? names[basis] : NULL;
}

/* All changes together: a sum, since they are differences of logarithms. */
static double change_of(const struct history_series *series) {
  double sum = isnan(series->drift) ? 0 : series->drift;
  for (size_t i = 0; i < series->change_count; ++i) sum += series->changes[i].point.shift;
  return sum;
}

static void fill_series(const void *of, char cell[][TEXT_CELL_MAX]) {
  static const struct history_point none = {.us = NAN, .ratio = NAN};
  const struct history_series *series = *(const struct history_series *const *)of;
  const struct history_point *first = series->count > 0 ? series->points : &none,
                             *last = series->count > 0 ? &series->points[series->count - 1] : &none;
  const bool has_changed = series->change_count > 0 || !isnan(series->drift);
  TEXT_CELLS(cell, series->variant, time_mode_name(series->mode), units_fixed((double)series->count, 0).text,
             units_short(first->us).text, units_short(last->us).text, units_fixed(last->ratio, 3).text,
             has_changed ? history_sinks_percent(change_of(series)).text : NULL,
             series->basis == HISTORY_IN_TURNS ? series->reference : basis_name(series->basis), series->card);
}

static void group_series(const void *of, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%.*s", TEXT_CELL_MAX - 1, (*(const struct history_series *const *)of)->key);
}

/* Of the others there is nothing to say. */
static struct status print_series(const struct history *history, FILE *file) {
  OWNED_ARRAY(const struct history_series *, rows, history->series_count, "rows of a table");
  size_t count = 0;
  for (size_t i = 0; i < history->series_count; ++i) {
    if (history_is_judged(&history->series[i])) rows[count++] = &history->series[i];
  }
  const struct text_table table =
      TEXT_TABLE(series_columns, SERIES_COLUMNS, rows, count, fill_series, .group = group_series);
  if (count > 0) {
    fputc('\n', file);
    const struct text_fit fit = text_table_write(file, &table);
    text_legend(file, &fit, series_meanings, "");
    text_fit_print(file, &fit, "--csv and --json");
  }
  if (count < history->series_count)
    text_paragraph(file, "", "%zu series of fewer than %d runs %s not listed; --csv and --json have all",
                   history->series_count - count, CHANGE_VALUES_LEAST,
                   history->series_count - count == 1 ? "is" : "are");
  return status_ok();
}

static struct status print_gone(const struct history *history, FILE *file) {
  enum { SHOWN = 5 };
  OWNED(owned_free) struct history_gone *gone = NULL;
  char line[HISTORY_LINE_MAX];
  size_t count;
  TRY(gone_list(history, &gone, &count));
  for (size_t i = 0; i < count && i < SHOWN; ++i) {
    history_sinks_gone(history, &gone[i], line);
    text_paragraph(file, "", "%s", line);
  }
  if (count > SHOWN) text_paragraph(file, "", "%zu more variants have no time there; --json has all", count - SHOWN);
  return status_ok();
}

struct status history_sinks_text(const struct history *history, FILE *file) {
  OWNED(owned_free) struct history_item *items = NULL;
  char counts[HISTORY_LINE_MAX], answer[HISTORY_LINE_MAX];
  size_t count;
  TRY(history_sinks_list(history, &items, &count));
  history_sinks_counts(history, counts);
  history_sinks_answer(history, answer);
  text_paragraph(file, "", "%s", answer);
  text_paragraph(file, "", "%s", counts);
  TRY(print_gone(history, file));
  print_changes(items, count, file);
  return print_series(history, file);
}

/* ---- fields, for JSON and CSV ---------------------------------------------------------------------------------- */

static const struct field series_fields[] = {
    FIELD_TEXT_OF("key", struct history_series, key),
    FIELD_TEXT_OF("variant", struct history_series, variant),
    FIELD("mode", ENUM, struct history_series, mode, .name = time_mode_name),
    FIELD_LABEL_OF("reference", struct history_series, reference),
    FIELD("against", ENUM, struct history_series, basis, .name = basis_name),
    FIELD_TEXT_OF("card", struct history_series, card, .column = ""), /* that of each of its runs */
    {0},
};

static const struct field run_fields[] = {
    FIELD_LABEL_OF("commit", struct history_run, commit),   FIELD_TEXT_OF("date", struct history_run, date),
    FIELD_TEXT_OF("card", struct history_run, card),        FIELD_LABEL_OF("card_id", struct history_run, card_id),
    FIELD_LABEL_OF("driver", struct history_run, driver),   FIELD_LABEL_OF("cuda", struct history_run, cuda),
    FIELD_TEXT_OF("version", struct history_run, version),  FIELD_LABEL_OF("host", struct history_run, host),
    FIELD_LABEL_OF("library", struct history_run, library), {0},
};

struct point_numbers {
  double us, ratio, low, high, change;
};

static const struct field number_fields[] = {
    FIELD("median_us", F64, struct point_numbers, us),        FIELD("ratio", F64, struct point_numbers, ratio),
    FIELD("ci_low", F64, struct point_numbers, low),          FIELD("ci_high", F64, struct point_numbers, high),
    FIELD("change_ratio", F64, struct point_numbers, change), {0},
};

static const struct field path_fields[] = {FIELD("path", NAME, struct history_run, path), {0}};

/* The change is the first one that begins at this point; NAN for none. */
static struct point_numbers numbers_of(const struct history_series *series, size_t at) {
  const struct history_point *point = &series->points[at];
  struct point_numbers out = {point->us, point->ratio, (double)point->low, (double)point->high, NAN};
  for (size_t i = series->change_count; i-- > 0;) {
    if (series->changes[i].point.at == at) out.change = exp(series->changes[i].point.shift);
  }
  return out;
}

static const char *known(const char *text) { return text[0] != '\0' ? text : NULL; }

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

static void add_change(cJSON *list, const struct history *history, const struct history_series *series,
                       const struct history_change *change) {
  const struct history_item item = history_sinks_item(history, series, change);
  cJSON *object = json_add_element(list);
  json_add_string(object, "what", change->point.shift > 0 ? "slower" : "faster");
  json_add_string(object, "state", states[change->state]);
  json_add_string(object, "besides", known(change->besides));
  json_add_string(object, "commit", item.first->commit);
  json_add_string(object, "date", item.first->date);
  json_add_string(object, "good", item.good->commit);
  json_add_string(object, "bad", item.bad->commit);
  json_add_number(object, "time_ratio", exp(change->point.shift));
  json_add_number(object, "bound_low_ratio", exp(change->point.low));
  json_add_number(object, "bound_high_ratio", exp(change->point.high));
  json_add_number(object, "left_ratio", exp(change->left));
  json_add_number(object, "own_time_ratio", exp(change->own));
  json_add_number(object, "reference_time_ratio", exp(change->reference));
}

static cJSON *series_at(const void *of, size_t index) {
  const struct history *history = of;
  const struct history_series *series = &history->series[index];
  cJSON *object = cJSON_CreateObject();
  fields_write(object, series_fields, series);
  json_add_number(object, "drift_ratio", exp(series->drift));
  cJSON *changes = cJSON_AddArrayToObject(object, "changes");
  for (size_t i = 0; i < series->change_count; ++i) add_change(changes, history, series, &series->changes[i]);
  cJSON *points = cJSON_AddArrayToObject(object, "points");
  for (size_t i = 0; i < series->count; ++i) {
    const struct history_run *run = &history->runs[series->points[i].run];
    const struct point_numbers numbers = numbers_of(series, i);
    cJSON *point = json_add_element(points);
    fields_write(point, run_fields, run);
    fields_write(point, number_fields, &numbers);
    fields_write(point, path_fields, run);
  }
  return object;
}

static void add_gone(cJSON *list, const struct history *history, const struct history_gone *gone, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const struct history_run *last = &history->runs[gone[i].last];
    cJSON *object = json_add_element(list);
    json_add_string(object, "variant", gone[i].variant);
    json_add_string(object, "key", gone[i].key);
    json_add_uint(object, "cases", gone[i].cases);
    json_add_uint(object, "runs", gone[i].runs);
    json_add_string(object, "commit", known(last->commit));
    json_add_string(object, "date", last->date);
  }
}

struct status history_sinks_json(const struct history *history, FILE *file) {
  const struct json_list series = {
      .key = "series", .count = history->series_count, .element = series_at, .of = history};
  OWNED(owned_free) struct history_gone *gone = NULL;
  char answer[HISTORY_LINE_MAX];
  size_t gone_count;
  TRY(gone_list(history, &gone, &gone_count));
  cJSON *root = cJSON_CreateObject();
  history_sinks_answer(history, answer);
  json_add_string(root, "schema", HISTORY_SCHEMA);
  json_add_string(root, "answer", answer);
  json_add_uint(root, "runs", history->run_count);
  json_add_uint(root, "left_out", history->left_out);
  json_add_uint(root, "series_judged", history_count_judged(history));
  json_add_uint(root, "runs_needed", CHANGE_VALUES_LEAST);
  add_gone(cJSON_AddArrayToObject(root, "gone"), history, gone, gone_count);
  json_add_item(root, "series", cJSON_CreateArray());
  return json_write_list(root, &series, "a history", file);
}

/* ---- CSV ----------------------------------------------------------------------------------------------------- */

/* All NULL: the header. */
static void put_point(const struct history_series *series, const struct history_run *run,
                      const struct point_numbers *numbers, FILE *file) {
  struct csv_writer writer = {.file = file, .is_header = series == NULL};
  write_csv_columns(&writer, "", series_fields, series);
  write_csv_columns(&writer, "", run_fields, run);
  write_csv_columns(&writer, "", number_fields, numbers);
  write_csv_columns(&writer, "", path_fields, run);
  fputs("\r\n", file);
}

struct status history_sinks_csv(const struct history *history, FILE *file) {
  put_point(NULL, NULL, NULL, file);
  for (size_t i = 0; i < history->series_count; ++i) {
    const struct history_series *series = &history->series[i];
    for (size_t j = 0; j < series->count; ++j) {
      const struct point_numbers numbers = numbers_of(series, j);
      put_point(series, &history->runs[series->points[j].run], &numbers, file);
    }
  }
  return status_ok();
}

/* ---- bisect -------------------------------------------------------------------------------------------------- */

/* Half of the slowdown, in percent and within the limits of --threshold: a bisection tells the two sides apart by it.
 */
static double threshold_of(double shift) {
  return fmin(fmax(expm1(shift) * 50, SWEEP_GATE_PERCENT_MIN), SWEEP_GATE_PERCENT_MAX);
}

struct status history_sinks_bisect(const struct history *history, FILE *file) {
  OWNED(owned_free) struct history_item *items = NULL;
  size_t count;
  TRY(history_sinks_list(history, &items, &count));
  for (size_t i = 0; i < count && rank_of(&items[i]) == 0; ++i) {
    char line[2 * AXIS_KEY_MAX + 2 * VARIANT_SPEC_MAX + 256] = "";
    const struct history_item *item = &items[i];
    const char *good = item->good->commit, *bad = item->bad->commit;
    const int length = (int)strspn(good, "0123456789abcdef"), other = (int)strspn(bad, "0123456789abcdef");
    if (length < 7 || other < 7) continue;
    const bool is_foreign = item->bad->is_foreign;
    text_append(line, sizeof line,
                "step=$(cat %sscripts/bisect.sh) && git bisect start %.*s %.*s && git bisect run bash -c \"$step\" "
                "bisect.sh --good %.*s %s--threshold %s --modes %s --shape ",
                is_foreign ? "FOLDER/" : "", other, bad, length, good, length, good,
                is_foreign ? "--kernel FILE --build COMMAND " : "", units_fixed(threshold_of(item->shift), 2).text,
                time_mode_name(item->series->mode));
    text_append_word(line, sizeof line, item->series->key);
    text_append(line, sizeof line, " --variants ");
    text_append_word(line, sizeof line, item->series->variant);
    markup_put(file, markup_put_line, "# %s %s %s: ", item->series->key, item->series->variant,
               time_mode_name(item->series->mode));
    markup_put(file, markup_put_line, "%s\n%s\n", history_sinks_percent(item->shift).text, line);
  }
  return status_ok();
}
