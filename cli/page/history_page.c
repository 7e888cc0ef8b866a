/* Writes the page of a history. */

#include <math.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/page/plot.h"

enum { CURVE_HEIGHT = 160, CURVE_TOP = 20, CURVE_BOTTOM = 112, CURVE_POINTS_MAX = 400, DAY_LENGTH = 10 };
/* Of a commit, as much as a drawing has room for. */
enum { COMMIT_LENGTH = 10 };
/* The texts of changes stand in two rows, so that near ones do not cover each other. */
enum { MARK_ROWS = 2, MARK_FIRST = CURVE_BOTTOM + 13, MARK_ROW_HEIGHT = 12 };

/* ---- table of changes ---------------------------------------------------------------------------------------- */

/* Which columns say anything: days say nothing of runs in the order of their commits. */
struct shown {
  bool date, doubt;
};

static struct shown columns_of(const struct history_item *items, size_t count) {
  struct shown shown = {false, false};
  for (size_t i = 0; i < count; ++i) {
    char doubt[HISTORY_DOUBT_MAX];
    history_sinks_doubt(&items[i], doubt);
    shown.doubt = shown.doubt || items[i].change == NULL || doubt[0] != '\0';
    shown.date = shown.date || items[i].history->runs[0].place == 0;
  }
  return shown;
}

static void put_change(const struct history_item *item, struct shown shown, FILE *file) {
  const struct history_series *series = item->series;
  const struct history_change *change = item->change;
  char day[DAY_LENGTH + 1] = "", doubt[HISTORY_DOUBT_MAX];
  history_sinks_doubt(item, doubt);
  if (change != NULL) snprintf(day, sizeof day, "%s", item->first->date);
  fprintf(file, "<tr%s>", change != NULL && history_is_regression(series, change) ? " class=\"fails\"" : "");
  html_put(file, "<td>%s</td><td>%s</td>", history_sinks_word(item), change != NULL ? item->first->commit : "");
  html_labelled_cell(file, "n", "", "", item->shift);
  fprintf(file, "%s</td><td class=\"n\" data-label=\"bounds\">", history_sinks_percent(item->shift).text);
  if (change != NULL)
    fprintf(file, "%s to %s", history_sinks_percent(change->point.low).text,
            history_sinks_percent(change->point.high).text);
  fprintf(file, "</td><td class=\"n\" data-label=\"left\">%s</td><th scope=\"row\"><a href=\"#series-%zu\">",
          change != NULL ? history_sinks_percent(change->left).text : "", (size_t)(series - item->history->series));
  html_breakable(file, series->key);
  html_put(file, "</a></th><td>%s</td><td>%s</td>", series->variant, time_mode_name(series->mode));
  if (shown.date) html_put(file, "<td>%s</td>", day);
  if (change != NULL)
    html_put(file, "<td data-label=\"surely in\">%s..%s</td>", item->good->commit, item->bad->commit);
  else
    fputs("<td></td>", file);
  if (shown.doubt)
    html_put(file, "<td class=\"why\">%s</td>", change != NULL ? doubt : "a line fits it better than steps");
  fputs("</tr>\n", file);
}

static void put_changes(const struct history_item *items, size_t count, FILE *file) {
  if (count == 0) return;
  const struct shown shown = columns_of(items, count);
  struct html_heading headings[12] = {{"what", "text", false},    {"commit", "text", false}, {"time", "number", true},
                                      {"bounds", NULL, true},     {"left", NULL, true},      {"case", "text", false},
                                      {"variant", "text", false}, {"mode", "text", false}};
  struct html_heading *next = headings + 8;
  if (shown.date) *next++ = (struct html_heading){"date", "text", false};
  *next++ = (struct html_heading){"surely in", NULL, false};
  if (shown.doubt) *next++ = (struct html_heading){"what else changed", NULL, false};
  fputs("<section id=\"changes\" class=\"cards\" aria-labelledby=\"changes-h\">\n<h2 id=\"changes-h\">Changes</h2>\n",
        file);
  html_table_open(file, "Changes",
                  "Every change of a level, worst first. The commit is the first one measured with it. The range of "
                  "commits that contains it is computed for 95 %. The column left compares the newest level with the "
                  "level before the change, so that later changes are in it",
                  headings);
  for (size_t i = 0; i < count; ++i) put_change(&items[i], shown, file);
  fputs("</tbody></table></div>\n</section>\n", file);
}

/* ---- curves -------------------------------------------------------------------------------------------------- */

struct curve {
  const struct history *history;
  const struct history_series *series;
  double base; /* what is drawn as 0 */
  struct plot plot;
};

/* Percent above the base. */
static double percent_of(const struct curve *curve, double level) { return 100 * expm1(level - curve->base); }

static double value_at(const struct curve *curve, size_t at) {
  return percent_of(curve, history_value(curve->history, curve->series, &curve->series->points[at]));
}

static bool has_drift(const struct history_series *series) { return !isnan(series->drift); }

/* The first level; where there is one level alone, its mean; of a series that drifts, where its line begins. */
static double base_of(const struct history *history, const struct history_series *series) {
  double sum = 0;
  if (series->change_count > 0) return series->changes[0].point.before;
  for (size_t i = 0; i < series->count; ++i) sum += history_value(history, series, &series->points[i]);
  return sum / (double)series->count - (has_drift(series) ? series->drift / 2 : 0);
}

static struct curve curve_of(const struct history *history, const struct history_series *series, FILE *file) {
  struct curve curve = {.history = history, .series = series, .base = base_of(history, series), .plot.file = file};
  struct axis_range range = axis_range_none();
  for (size_t i = 0; i < series->count; ++i) axis_range_add(&range, value_at(&curve, i));
  axis_range_add(&range, -100 * CHANGE_SHIFT_LEAST);
  axis_range_add(&range, 100 * CHANGE_SHIFT_LEAST);
  curve.plot.x = (struct axis){.low = -0.5, .high = (double)series->count - 0.5, .from = PLOT_LEFT, .to = PLOT_RIGHT};
  curve.plot.y = axis_around(range.least, range.most, CURVE_BOTTOM, CURVE_TOP);
  return curve;
}

/* Means of neighbours where there are more points than pixels. */
static void put_line(const struct curve *curve, FILE *file) {
  const size_t step = curve->series->count / CURVE_POINTS_MAX + 1;
  fputs("<path class=\"line\" d=\"", file);
  for (size_t i = 0; i < curve->series->count; i += step) {
    double sum = 0;
    size_t count = 0;
    for (size_t j = i; j < i + step && j < curve->series->count; ++j, ++count) sum += value_at(curve, j);
    const double middle = (double)i + (double)(count - 1) / 2;
    fprintf(file, "%s%.1f %.1f", i == 0 ? "M" : "L", axis_at(&curve->plot.x, middle),
            axis_at(&curve->plot.y, sum / (double)count));
  }
  fputs("\"/>", file);
}

static void put_level(const struct curve *curve, double from, double to, double level, FILE *file) {
  fprintf(file, "<path class=\"zero\" d=\"M%.1f %.1fH%.1f\"/>", axis_at(&curve->plot.x, from - 0.5),
          axis_at(&curve->plot.y, percent_of(curve, level)), axis_at(&curve->plot.x, to - 0.5));
}

static double mark_x(const struct curve *curve, const struct history_change *change) {
  return axis_at(&curve->plot.x, (double)change->point.at - 0.5);
}

/* "+5.0 % abc0191", to the right of its mark where it does not reach over the edge there. */
struct mark_text {
  char text[sizeof(struct history_percent) + COMMIT_LENGTH + 2];
  double x, left, right;
  bool is_before; /* it ends at x */
};

static struct mark_text mark_text_of(const struct curve *curve, const struct history_item *item) {
  struct mark_text out = {.x = mark_x(curve, item->change)};
  snprintf(out.text, sizeof out.text, "%s %.*s", history_sinks_percent(item->shift).text, COMMIT_LENGTH,
           item->first->commit);
  const double width = PLOT_LETTER * (double)strlen(out.text);
  out.is_before = out.x + width > PLOT_RIGHT;
  out.left = out.is_before ? out.x - width : out.x;
  out.right = out.left + width;
  return out;
}

static void put_mark(const struct curve *curve, const struct history_item *item, FILE *file) {
  const char *colour = item->change->besides[0] != '\0' ? "c10" : item->shift > 0 ? "c7" : "c2";
  const double x = mark_x(curve, item->change);
  html_put(
      file,
      "<g class=\"%s\"><path class=\"bar\" d=\"M%.1f %dV%d\"/><path class=\"mark\" d=\"M%.1f %.1fm-3 0a3 3 0 1 0 6 "
      "0a3 3 0 1 0-6 0\"><title>%s at %s, %s</title></path></g>",
      colour, x, CURVE_TOP, CURVE_BOTTOM, x, axis_at(&curve->plot.y, percent_of(curve, item->change->point.after)),
      history_sinks_percent(item->shift).text, item->first->commit, item->first->date);
}

/* Each in the first row in which it covers no other, else in the one where it covers the least. */
static void put_mark_texts(const struct curve *curve, FILE *file) {
  double taken[MARK_ROWS] = {0};
  for (size_t i = 0; i < curve->series->change_count; ++i) {
    const struct history_item item = history_sinks_item(curve->history, curve->series, &curve->series->changes[i]);
    const struct mark_text mark = mark_text_of(curve, &item);
    size_t row = 0;
    for (size_t other = 1; other < MARK_ROWS && taken[row] > mark.left; ++other)
      row = taken[other] < taken[row] ? other : row;
    taken[row] = mark.right;
    html_put(file, "<text x=\"%.1f\" y=\"%zu\" text-anchor=\"%s\" class=\"note\">%s</text>", mark.x,
             MARK_FIRST + row * MARK_ROW_HEIGHT, mark.is_before ? "end" : "start", mark.text);
  }
}

static void put_levels(const struct curve *curve, FILE *file) {
  const struct history_series *series = curve->series;
  for (size_t i = 0; i < series->change_count; ++i) {
    const struct change_point *point = &series->changes[i].point;
    const size_t from = i > 0 ? series->changes[i - 1].point.at : 0;
    const size_t to = i + 1 < series->change_count ? series->changes[i + 1].point.at : series->count;
    if (i == 0) put_level(curve, (double)from, (double)point->at, point->before, file);
    put_level(curve, (double)point->at, (double)to, point->after, file);
  }
  for (size_t i = 0; i < series->change_count; ++i) {
    const struct history_item item = history_sinks_item(curve->history, series, &series->changes[i]);
    put_mark(curve, &item, file);
  }
  put_mark_texts(curve, file);
}

/* "wgmma hot: 12.3 us, 1.04 x cudnn" */
static void put_caption(const struct history_series *series, FILE *file) {
  const struct history_point *last = &series->points[series->count - 1];
  html_put(file, "%s %s: %s us now", series->variant, time_mode_name(series->mode), units_short(last->us).text);
  if (series->reference[0] != '\0') html_put(file, ", %s x %s", units_fixed(last->ratio, 3).text, series->reference);
}

/* The day of a run, or its commit where the runs are in the order of their commits: days say nothing then. */
static void put_end(const struct curve *curve, size_t point, int x, const char *anchor) {
  const struct history_run *run = &curve->history->runs[curve->series->points[point].run];
  char label[RUN_COMMIT_MAX];
  if (run->place > 0)
    snprintf(label, sizeof label, "%.*s", COMMIT_LENGTH, run->commit);
  else
    snprintf(label, sizeof label, "%.*s", DAY_LENGTH, run->date);
  html_put(curve->plot.file, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>", x, CURVE_HEIGHT - 6, anchor,
           label);
}

static void put_curve(const struct history *history, const struct history_series *series, FILE *file) {
  const struct curve curve = curve_of(history, series, file);
  fprintf(file, "<figure id=\"series-%zu\"><figcaption>", (size_t)(series - history->series));
  put_caption(series, file);
  html_put(file, " <small>%s</small></figcaption>", series->key);
  html_put(file,
           "<svg class=\"c0\" viewBox=\"0 0 %d %d\" role=\"img\"><title>Time of %s at %s over %zu runs, from its "
           "%s</title>",
           PLOT_WIDTH, CURVE_HEIGHT, series->variant, series->key, series->count,
           series->change_count > 0 ? "first level"
           : has_drift(series)      ? "start"
                                    : "mean");
  plot_y_ticks(&curve.plot, has_drift(series) ? "time, %: drifts" : "time, %");
  put_end(&curve, 0, PLOT_LEFT, "start");
  put_end(&curve, series->count - 1, PLOT_RIGHT, "end");
  put_line(&curve, file);
  put_levels(&curve, file);
  fputs("</svg></figure>\n", file);
}

static bool is_drawn(const struct history_series *series, bool changed) {
  return series->count > 1 && (series->change_count > 0 || has_drift(series)) == changed;
}

static void put_curves(const struct history *history, bool changed, FILE *file) {
  size_t count = 0;
  for (size_t i = 0; i < history->series_count; ++i) count += is_drawn(&history->series[i], changed);
  if (count == 0) return;
  const char *id = changed ? "changed" : "steady";
  fprintf(file, "<section id=\"%s\" class=\"figure\" aria-labelledby=\"%s-h\">\n<h2 id=\"%s-h\">%s</h2>\n", id, id,
          id, changed ? "Series that changed" : "Series that did not change");
  if (!changed) fprintf(file, "<details><summary>%zu series</summary>\n", count);
  fputs(changed ? "<p>Time, run by run, relative to the first level, or, of a series that drifts, to where its line "
                  "begins: up is slower. Red: slower; green: faster; grey: something else changed too.</p>\n"
                : "<p>Time, run by run, relative to the mean: up is slower.</p>\n",
        file);
  fputs("<div class=\"panels\">\n", file);
  for (size_t i = 0; i < history->series_count; ++i) {
    if (is_drawn(&history->series[i], changed)) put_curve(history, &history->series[i], file);
  }
  fprintf(file, "</div>\n%s</section>\n", changed ? "" : "</details>\n");
}

/* One run is no curve. */
static void put_single_runs(const struct history *history, FILE *file) {
  size_t count = 0;
  for (size_t i = 0; i < history->series_count; ++i) count += history->series[i].count == 1;
  if (count == 0) return;
  fprintf(file,
          "<section id=\"single\" aria-labelledby=\"single-h\">\n<h2 id=\"single-h\">Series of one run</h2>\n"
          "<details class=\"reasons\"><summary>%zu series</summary>\n<ul>\n",
          count);
  for (size_t i = 0; i < history->series_count; ++i) {
    const struct history_series *series = &history->series[i];
    if (series->count != 1) continue;
    html_put(file, "<li>%s: ", series->key);
    put_caption(series, file);
    fputs("</li>\n", file);
  }
  fputs("</ul></details>\n</section>\n", file);
}

/* Kernels that a reader of the newest runs would miss. */
static struct status put_gone(const struct history *history, FILE *file) {
  OWNED(owned_free) struct history_gone *gone = NULL;
  char line[HISTORY_LINE_MAX];
  size_t count;
  TRY(gone_list(history, &gone, &count));
  if (count == 0) return status_ok();
  fputs("<ul class=\"reasons\">\n", file);
  for (size_t i = 0; i < count; ++i) {
    history_sinks_gone(history, &gone[i], line);
    html_put(file, "<li>%s</li>\n", line);
  }
  fputs("</ul>\n", file);
  return status_ok();
}

/* "history on NVIDIA H200", where all series are of one card. */
static void open_of(const struct history *history, FILE *file) {
  char title[128] = "history";
  bool is_one = history->series_count > 0;
  for (size_t i = 1; i < history->series_count; ++i)
    is_one = is_one && strcmp(history->series[i].card, history->series[0].card) == 0;
  if (is_one) text_append(title, sizeof title, " on %s", history->series[0].card);
  page_open(file, title);
}

struct status history_page_write(const struct history *history, FILE *file) {
  OWNED(owned_free) struct history_item *items = NULL;
  char line[HISTORY_LINE_MAX];
  size_t count;
  TRY(history_sinks_list(history, &items, &count));
  open_of(history, file);
  history_sinks_answer(history, line);
  const bool fails = count > 0 && items[0].change != NULL && history_is_regression(items[0].series, items[0].change);
  const bool is_judged = history_count_judged(history) > 0;
  html_put(file, "<p class=\"outcome %s\"><strong>%s</strong></p>\n",
           fails       ? "failed"
           : is_judged ? "passed"
                       : "undecided",
           line);
  history_sinks_counts(history, line);
  html_put(file, "<p>%s.</p>\n", line);
  TRY(put_gone(history, file));
  fputs("</header>\n<main>\n", file);
  put_changes(items, count, file);
  put_curves(history, true, file);
  put_curves(history, false, file);
  put_single_runs(history, file);
  page_close(file);
  return status_ok();
}
