/* Writes the page of a history. */

#include <math.h>

#include "cli/base/owned.h"
#include "cli/base/units.h"
#include "cli/page/plot.h"

enum { CURVE_HEIGHT = 96, CURVE_LEFT = 4, CURVE_TOP = 8, CURVE_BOTTOM = 78, CURVE_POINTS_MAX = 400 };

/* ---- table of changes ---------------------------------------------------------------------------------------- */

static const struct history_run *run_of(const struct history_item *item, size_t point) {
  return &item->history->runs[item->series->points[point].run];
}

static size_t number_of(const struct history_item *item) { return (size_t)(item->series - item->history->series); }

static void put_change(const struct history_item *item, FILE *file) {
  const struct history_series *series = item->series;
  const struct history_change *change = item->change;
  char percent[HISTORY_PERCENT_MAX], low[HISTORY_PERCENT_MAX] = "", high[HISTORY_PERCENT_MAX] = "";
  const double shift = change != NULL ? change->point.shift : series->drift;
  history_sinks_percent(shift, percent);
  if (change != NULL) history_sinks_percent(change->point.low, low);
  if (change != NULL) history_sinks_percent(change->point.high, high);
  fprintf(file, "<tr%s><td>%s</td>",
          change != NULL && history_is_regression(series, change) ? " class=\"fails\"" : "",
          history_sinks_word(item));
  html_number_cell(file, "n", shift);
  fprintf(file, "%s</td><td class=\"n\">%s%s%s</td><th scope=\"row\"><a href=\"#series-%zu\">", percent, low,
          change != NULL ? " to " : "", high, number_of(item));
  html_breakable(file, series->key);
  html_put(file, "</a></th><td>%s</td><td>%s</td>", series->variant, time_mode_name(series->mode));
  if (change == NULL) {
    fputs("<td></td><td></td><td></td><td class=\"why\">a line fits it better than steps</td></tr>\n", file);
    return;
  }
  html_put(file, "<td>%s</td><td>%s</td><td>%s..%s</td><td class=\"why\">%s</td></tr>\n",
           run_of(item, change->point.at)->commit, run_of(item, change->point.at)->date,
           run_of(item, change->good)->commit, run_of(item, change->bad)->commit, change->besides);
}

static void put_changes(const struct history_item *items, size_t count, FILE *file) {
  if (count == 0) return;
  static const struct html_heading headings[] = {{"what", "text", false},    {"time", "number", true},
                                                 {"bounds", NULL, true},     {"case", "text", false},
                                                 {"variant", "text", false}, {"mode", "text", false},
                                                 {"commit", "text", false},  {"date", "text", false},
                                                 {"surely in", NULL, false}, {"what else changed", NULL, false},
                                                 {NULL, NULL, false}};
  fputs("<section id=\"changes\" aria-labelledby=\"changes-h\">\n<h2 id=\"changes-h\">Changes</h2>\n", file);
  html_table_open(
      file, "Changes",
      "Every change of a level, worst first. The commit is the first one measured with it; the range has it "
      "surely (95 %)",
      headings);
  for (size_t i = 0; i < count; ++i) put_change(&items[i], file);
  fputs("</tbody></table></div>\n</section>\n", file);
}

/* ---- curves -------------------------------------------------------------------------------------------------- */

struct curve {
  const struct history *history;
  const struct history_series *series;
  double base; /* the first level, from which the changes are counted */
  struct axis x, y;
};

static double value_at(const struct curve *curve, size_t at) {
  return history_value(curve->history, curve->series, &curve->series->points[at]) - curve->base;
}

static struct curve curve_of(const struct history *history, const struct history_series *series) {
  struct curve curve = {.history = history, .series = series};
  struct axis_range range = axis_range_none();
  curve.base = series->change_count > 0 ? series->changes[0].point.before
                                        : history_value(history, series, &series->points[series->count - 1]);
  for (size_t i = 0; i < series->count; ++i) axis_range_add(&range, value_at(&curve, i));
  axis_range_add(&range, -CHANGE_SHIFT_LEAST);
  axis_range_add(&range, CHANGE_SHIFT_LEAST);
  curve.x = (struct axis){.low = -0.5, .high = (double)series->count - 0.5, .from = CURVE_LEFT, .to = PLOT_RIGHT};
  curve.y = (struct axis){.low = range.least, .high = range.most, .from = CURVE_BOTTOM, .to = CURVE_TOP};
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
    fprintf(file, "%s%.1f %.1f", i == 0 ? "M" : "L", axis_at(&curve->x, middle),
            axis_at(&curve->y, sum / (double)count));
  }
  fputs("\"/>", file);
}

static void put_level(const struct curve *curve, double from, double to, double level, FILE *file) {
  fprintf(file, "<path class=\"zero\" d=\"M%.1f %.1fH%.1f\"/>", axis_at(&curve->x, from - 0.5),
          axis_at(&curve->y, level - curve->base), axis_at(&curve->x, to - 0.5));
}

static void put_mark(const struct curve *curve, const struct history_change *change, FILE *file) {
  const struct history_item item = {curve->history, curve->series, change};
  char percent[HISTORY_PERCENT_MAX];
  history_sinks_percent(change->point.shift, percent);
  const char *colour = change->besides[0] != '\0' ? "c10" : change->point.shift > 0 ? "c7" : "c2";
  const double x = axis_at(&curve->x, (double)change->point.at - 0.5);
  const struct history_run *run = run_of(&item, change->point.at);
  html_put(
      file,
      "<g class=\"%s\"><path class=\"bar\" d=\"M%.1f %dV%d\"/><path class=\"mark\" d=\"M%.1f %.1fm-3 0a3 3 0 1 0 6 "
      "0a3 3 0 1 0-6 0\"><title>%s at %s, %s</title></path></g>",
      colour, x, CURVE_TOP, CURVE_BOTTOM, x, axis_at(&curve->y, change->point.after - curve->base), percent,
      run->commit, run->date);
  html_put(file, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\" class=\"note\">%s %s</text>", x, CURVE_BOTTOM + 13,
           x > PLOT_RIGHT - 60 ? "end" : "start", percent, run->commit);
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
  for (size_t i = 0; i < series->change_count; ++i) put_mark(curve, &series->changes[i], file);
}

/* "wgmma hot: 12.3 us, 1.04 x cudnn" */
static void put_caption(const struct history_series *series, FILE *file) {
  const struct history_point *last = &series->points[series->count - 1];
  html_put(file, "%s %s: %s us now", series->variant, time_mode_name(series->mode), units_short(last->us).text);
  if (series->reference[0] != '\0') html_put(file, ", %s x %s", units_fixed(last->ratio, 3).text, series->reference);
}

static void put_curve(const struct history *history, const struct history_series *series, FILE *file) {
  const struct curve curve = curve_of(history, series);
  char low[HISTORY_PERCENT_MAX], high[HISTORY_PERCENT_MAX];
  history_sinks_percent(curve.y.low, low);
  history_sinks_percent(curve.y.high, high);
  fprintf(file, "<figure id=\"series-%zu\"><figcaption>", (size_t)(series - history->series));
  put_caption(series, file);
  html_put(file, " <small>%s</small></figcaption>", series->key);
  html_put(
      file,
      "<svg class=\"c0\" viewBox=\"0 0 %d %d\" role=\"img\"><title>Time of %s at %s over %zu runs, %s to %s from its "
      "first level</title>",
      PLOT_WIDTH, CURVE_HEIGHT, series->variant, series->key, series->count, low, high);
  put_line(&curve, file);
  put_levels(&curve, file);
  if (series->change_count == 0)
    html_put(file, "<text x=\"%d\" y=\"%d\" class=\"note\">%s%s to %s</text>", CURVE_LEFT, CURVE_BOTTOM + 13,
             isnan(series->drift) ? "" : "drifts: ", low, high);
  fputs("</svg></figure>\n", file);
}

static bool has_changed(const struct history_series *series) {
  return series->change_count > 0 || !isnan(series->drift);
}

static void put_curves(const struct history *history, bool changed, FILE *file) {
  size_t count = 0;
  for (size_t i = 0; i < history->series_count; ++i)
    count += history->series[i].count > 0 && has_changed(&history->series[i]) == changed;
  if (count == 0) return;
  const char *id = changed ? "changed" : "steady";
  fprintf(file, "<section id=\"%s\" class=\"figure\" aria-labelledby=\"%s-h\">\n<h2 id=\"%s-h\">%s</h2>\n", id, id,
          id, changed ? "Series that changed" : "Series that did not change");
  if (!changed) fprintf(file, "<details><summary>%zu series</summary>\n", count);
  fputs(
      "<p>Time, run by run, relative to the first level: up is slower. Red: slower; green: faster; grey: something "
      "else changed too.</p>\n<div class=\"panels\">\n",
      file);
  for (size_t i = 0; i < history->series_count; ++i) {
    const struct history_series *series = &history->series[i];
    if (series->count > 0 && has_changed(series) == changed) put_curve(history, series, file);
  }
  fprintf(file, "</div>\n%s</section>\n", changed ? "" : "</details>\n");
}

struct status history_page_write(const struct history *history, FILE *file) {
  OWNED(owned_free) struct history_item *items = NULL;
  char line[HISTORY_LINE_MAX];
  size_t count;
  TRY(history_sinks_list(history, &items, &count));
  page_open(file, "history");
  history_sinks_answer(history, line);
  const bool fails = count > 0 && items[0].change != NULL && history_is_regression(items[0].series, items[0].change);
  html_put(file, "<p class=\"outcome %s\"><strong>%s</strong></p>\n", fails ? "failed" : "passed", line);
  history_sinks_counts(history, line);
  html_put(file, "<p>%s.</p>\n</header>\n<main>\n", line);
  put_changes(items, count, file);
  put_curves(history, true, file);
  put_curves(history, false, file);
  page_close(file);
  return status_ok();
}
