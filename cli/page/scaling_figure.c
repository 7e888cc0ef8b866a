/* Scaling over B*H: how the time of a variant grows beside what the waves of its grid say, a drawing for each group.
 */
#include <math.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/units.h"
#include "cli/page/plot.h"

enum { STEPS_MAX = 64 };

static const struct scaling *scaling_at(const struct merge_row *row) { return &row->row->scaling; }

static enum time_mode mode_of(const struct merge_row *row) {
  return isfinite(scaling_at(row)->time_ratio[TIME_HOT]) ? TIME_HOT : TIME_COLD;
}

static double ratio_of(const struct merge_row *row) { return scaling_at(row)->time_ratio[mode_of(row)]; }

static bool is_shown(const struct merge_row *row) {
  return scaling_at(row)->known && scaling_at(row)->timed && isfinite(ratio_of(row));
}

static double pairs_of(const struct merge_row *row) {
  return (double)scaling_pairs(&row->row->record->attn_case.shape);
}

static bool is_scaled(const struct merge_row *row) { return is_shown(row) && !scaling_at(row)->is_baseline; }

bool scaling_figure_any(const struct page *page) { return rows_any(page, is_scaled); }

/* By source and group, then as B*H grows. */
static int compare_rows(const void *left, const void *right) {
  const struct merge_row *a = *(const struct merge_row *const *)left, *b = *(const struct merge_row *const *)right;
  return SORTING_FIRST(SORTING_ORDER(a->source, b->source),
                       SORTING_ORDER(scaling_at(a)->baseline_index, scaling_at(b)->baseline_index),
                       SORTING_ORDER(pairs_of(a), pairs_of(b)), SORTING_ORDER(a->number, b->number));
}

static bool same_group(const struct merge_row *a, const struct merge_row *b) {
  return a->source == b->source && scaling_at(a)->baseline_index == scaling_at(b)->baseline_index;
}

/* ---- one drawing ----------------------------------------------------------------------------------------------- */

/* Time ratio that the waves of a grid which grows with B*H say: it stays until another wave is needed. */
static void put_steps(const struct plot *plot, double first, double last, double full, double waves_at_baseline) {
  double at = first, wave = ceil(first / full - 1e-9);
  for (size_t i = 0; i < STEPS_MAX && at < last; ++i, ++wave) {
    const double next = fmin(wave * full, last);
    const double now = wave / waves_at_baseline, then = (wave + 1) / waves_at_baseline;
    plot_line(plot, "expected", at, now, next, now);
    if (next < last) plot_line(plot, "expected", next, now, next, then);
    at = next;
  }
}

/* Where the steps cannot be told apart, or the grid is not known to grow: from row to row. */
static void put_expected(const struct plot *plot, const struct merge_row *const *rows, size_t count) {
  const struct merge_row *last = rows[count - 1], *baseline = rows[0];
  const double full = scaling_at(last)->full_bh;
  for (size_t i = 0; i < count; ++i) {
    if (scaling_at(rows[i])->is_baseline) baseline = rows[i];
  }
  const double waves = ceil(pairs_of(baseline) / full - 1e-9);
  const bool has_steps = isfinite(full) && full > 0 && pairs_of(last) / full <= STEPS_MAX &&
                         fabs(ceil(pairs_of(last) / full - 1e-9) / waves - scaling_at(last)->wave_ratio) < 0.01;
  if (has_steps) {
    put_steps(plot, pairs_of(rows[0]), pairs_of(last), full, waves);
    return;
  }
  for (size_t i = 1; i < count; ++i)
    plot_line(plot, "expected", pairs_of(rows[i - 1]), scaling_at(rows[i - 1])->wave_ratio, pairs_of(rows[i]),
              scaling_at(rows[i])->wave_ratio);
}

static void put_measured(const struct plot *plot, const struct merge_row *const *rows, size_t count) {
  plot_series_open(plot, rows[0]->series);
  for (size_t i = 1; i < count; ++i)
    plot_line(plot, "line", pairs_of(rows[i - 1]), ratio_of(rows[i - 1]), pairs_of(rows[i]), ratio_of(rows[i]));
  for (size_t i = 0; i < count; ++i) {
    const double wave_ratio = scaling_at(rows[i])->wave_ratio;
    plot_point(plot, rows[i], pairs_of(rows[i]), ratio_of(rows[i]), NAN, NAN, "%s times the baseline's %s time%s%s",
               units_short(ratio_of(rows[i])).text, time_mode_name(mode_of(rows[i])),
               isfinite(wave_ratio) ? "; the waves say " : "",
               isfinite(wave_ratio) ? units_short(wave_ratio).text : "");
  }
  plot_series_close(plot);
}

static void put_x_labels(const struct plot *plot, const struct merge_row *const *rows, size_t count) {
  double before = -INFINITY;
  for (size_t i = 0; i < count; ++i) {
    const double x = axis_at(&plot->x, pairs_of(rows[i]));
    if (x - before < 26) continue;
    plot_x_label(plot, pairs_of(rows[i]), units_fixed(pairs_of(rows[i]), 0).text, "", false);
    before = x;
  }
  plot_x_name(plot, PLOT_HEIGHT, "B*H, logarithmic");
}

/* The rows of one drawing: cases that differ in B and H alone. */
struct group {
  const struct merge_row *const *rows;
  size_t count;
  char text[ROWS_TEXT_MAX]; /* what its cases have in common */
};

static struct group group_of(const struct merge_row *const *rows, size_t count) {
  struct group group = {.rows = rows, .count = count};
  for (size_t i = 0; i < count; ++i) rows_share(rows_shape(rows[i]), i == 0, group.text);
  return group;
}

/* Variants at the same cases have one scale. */
static struct axis y_axis(const struct group *groups, size_t count, const char *text) {
  struct axis_range range = axis_range_none();
  for (size_t g = 0; g < count; ++g) {
    for (size_t i = 0; i < groups[g].count && strcmp(groups[g].text, text) == 0; ++i) {
      axis_range_add(&range, ratio_of(groups[g].rows[i]));
      axis_range_add(&range, scaling_at(groups[g].rows[i])->wave_ratio);
    }
  }
  return axis_linear(range.most, PLOT_BOTTOM, PLOT_TOP);
}

static void put_drawing(const struct page *page, FILE *file, const struct group *group, struct axis y,
                        const char *common) {
  const struct merge_row *const *rows = group->rows, *baseline = rows[0];
  struct axis_range x = axis_range_none();
  char title[PAGE_NAME_MAX + ROWS_TEXT_MAX], rest[ROWS_TEXT_MAX], name[64];
  for (size_t i = 0; i < group->count; ++i) {
    axis_range_add(&x, pairs_of(rows[i]));
    if (scaling_at(rows[i])->is_baseline) baseline = rows[i];
  }
  const struct plot plot = {.file = file,
                            .page = page,
                            .about = scaling_verdict_help(scaling_at(rows[group->count - 1])->verdict),
                            .x = axis_log(x.least, x.most, PLOT_LEFT, PLOT_RIGHT),
                            .y = y};
  rows_parts(group->text, common, false, rest);
  snprintf(title, sizeof title, "%s%s%s", rows_series_text(page, rows[0]->series).text, rest[0] != '\0' ? ", " : "",
           rest);
  snprintf(name, sizeof name, "time / time at B*H %s", units_fixed(pairs_of(baseline), 0).text);
  plot_open(&plot, PLOT_HEIGHT, title, "Time over B*H");
  plot_y_ticks(&plot, name);
  put_x_labels(&plot, rows, group->count);
  put_expected(&plot, rows, group->count);
  put_measured(&plot, rows, group->count);
  plot_close(&plot);
}

/* ---- the figure ------------------------------------------------------------------------------------------------ */

static void put_data(const struct page *page, FILE *file, const struct merge_row *const *rows, size_t count) {
  plot_data_open(file, "variant,key,baseline_key,mode,b_h,time_ratio,wave_ratio,full_wave_b_h");
  for (size_t i = 0; i < count; ++i) {
    const double numbers[] = {pairs_of(rows[i]), ratio_of(rows[i]), scaling_at(rows[i])->wave_ratio,
                              scaling_at(rows[i])->full_bh};
    plot_data_row(page, file, rows[i]);
    fputc(',', file);
    html_csv_text(file, scaling_at(rows[i])->baseline_key);
    fprintf(file, ",%s", time_mode_name(mode_of(rows[i])));
    plot_data_numbers(file, numbers, sizeof numbers / sizeof *numbers);
  }
}

/* Drawings of two or more cases. */
static size_t gather_groups(const struct merge_row *const *rows, size_t count, struct group *out) {
  size_t groups = 0;
  for (size_t start = 0, end; start < count; start = end) {
    for (end = start + 1; end < count && same_group(rows[start], rows[end]);) ++end;
    if (end - start > 1) out[groups++] = group_of(rows + start, end - start);
  }
  return groups;
}

struct status scaling_figure_write(const struct page *page, FILE *file) {
  OWNED_ARRAY(const struct merge_row *, rows, page->row_count, "rows of figures");
  OWNED_ARRAY(struct group, groups, page->row_count, "drawings of figures");
  const size_t count = rows_pick(page, is_shown, compare_rows, rows);
  const size_t group_count = gather_groups(rows, count, groups);
  char common[ROWS_TEXT_MAX] = "", heading[ROWS_TEXT_MAX + 32];
  for (size_t i = 0; i < group_count; ++i) rows_parts(groups[i].text, i == 0 ? groups[i].text : common, true, common);
  snprintf(heading, sizeof heading, "Scaling over B*H%s%s", common[0] != '\0' ? ": " : "", common);
  const struct plot_figure figure = {
      .id = "scaling",
      .heading = heading,
      .is_named = true,
      .caption =
          "Time over that of the baseline case as B*H grows. Dashed: what the waves of the grid say, a step "
          "for each wave; a library whose launches are not known has no such line."};
  plot_figure_open(page, file, &figure);
  for (size_t i = 0; i < group_count; ++i)
    put_drawing(page, file, &groups[i], y_axis(groups, group_count, groups[i].text), common);
  put_data(page, file, rows, count);
  plot_figure_close(file, &figure);
  return status_ok();
}
