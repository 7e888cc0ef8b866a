/* Rate and latency over the cases: a drawing for each D, dtype, mask and head group, with a line per variant. */
#include <inttypes.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/page/plot.h"

enum { TEXT_MAX = 512, LABELS_SHOWN_MAX = 24 };
static const double SOURCE_SHIFT = 0.1; /* of the way to the next case */

/* What a figure shows of a row: median, and the ends of its interval. */
struct shown {
  double value, low, high;
};

static bool is_shown(const struct merge_row *row) { return rows_time(row, TIME_HOT) != NULL; }

/* Of rows that are shown. */
static struct shown rate_of(const struct merge_row *row) {
  const struct page_interval us = rows_interval_of(row, TIME_HOT);
  const double tflop_us = row->row->metrics.flops * 1e-6;
  return (struct shown){tflop_us / us.median_us, tflop_us / us.high_us, tflop_us / us.low_us};
}

static struct shown latency_of(const struct merge_row *row) {
  const struct page_interval us = rows_interval_of(row, TIME_HOT);
  return (struct shown){us.median_us, us.low_us, us.high_us};
}

static const struct kind {
  const char *id, *heading, *caption, *unit, *data;
  bool is_log;
  struct shown (*of)(const struct merge_row *);
} kinds[] = {
    {"rate", "Rate over S",
     "TFLOP/s from the hot median, with bars over the 95&nbsp;% interval of the median. Lines join cases that differ "
     "in S, or in B and H. Higher is better.",
     "TFLOP/s", "variant,key,tflop_per_s,ci95_low,ci95_high", false, rate_of},
    {"latency", "Latency over S",
     "Microseconds of one launch: the hot median with its 95&nbsp;% interval, on a logarithmic axis. Lower is "
     "better.",
     "us, logarithmic", "variant,key,hot_us,ci95_low,ci95_high", true, latency_of},
};

static int compare_cases(const struct attn_problem *a, const struct attn_problem *b) {
  const int orders[] = {rows_compare_kinds(a, b),   rows_order(a->Sq, b->Sq),
                        rows_order(a->Skv, b->Skv), rows_order((uint64_t)a->B * a->Hq, (uint64_t)b->B * b->Hq),
                        rows_order(a->B, b->B),     rows_order(a->Hkv, b->Hkv)};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; ++i) {
    if (orders[i] != 0) return orders[i];
  }
  return 0;
}

static int compare_rows(const void *left, const void *right) {
  const struct merge_row *a = *(const struct merge_row *const *)left, *b = *(const struct merge_row *const *)right;
  const int by_case = compare_cases(rows_shape(a), rows_shape(b));
  return by_case != 0                            ? by_case
         : rows_order(a->series, b->series) != 0 ? rows_order(a->series, b->series)
                                                 : rows_order(a->number, b->number);
}

/* ---- one drawing ----------------------------------------------------------------------------------------------- */

/* Is what lies between these two one step of S, of B and H, or of both at the same number of tokens? */
static bool joins(const struct attn_problem *a, const struct attn_problem *b) {
  const bool same_heads = a->B == b->B && a->Hq == b->Hq && a->Hkv == b->Hkv;
  const bool same_s = a->Sq == b->Sq && a->Skv == b->Skv;
  const bool same_tokens = (uint64_t)a->B * a->Sq == (uint64_t)b->B * b->Sq && a->Sq == a->Skv && b->Sq == b->Skv;
  return same_heads || same_s || same_tokens;
}

/* "S512" and "B4 H32/8". */
struct case_label {
  char first[64], second[64];
};

static struct case_label label_of(const struct attn_problem *s) {
  struct case_label label;
  char keys[16] = "", heads[16] = "";
  if (s->Skv != s->Sq) snprintf(keys, sizeof keys, "x%" PRIu32, s->Skv);
  if (s->Hkv != s->Hq) snprintf(heads, sizeof heads, "/%" PRIu32, s->Hkv);
  snprintf(label.first, sizeof label.first, "S%" PRIu32 "%s", s->Sq, keys);
  snprintf(label.second, sizeof label.second, "B%" PRIu32 " H%" PRIu32 "%s", s->B, s->Hq, heads);
  return label;
}

static void put_case_label(const struct plot *plot, double x, const struct attn_problem *s, bool turned) {
  const struct case_label label = label_of(s);
  char both[sizeof label];
  snprintf(both, sizeof both, "%s %s", label.first, label.second);
  plot_x_label(plot, x, turned ? both : label.first, turned ? "" : label.second, turned);
}

/* Is there too little room for labels side by side? */
static bool are_labels_turned(const struct merge_row *const *rows, size_t count, size_t cases) {
  size_t longest = 0;
  for (size_t i = 0; i < count; ++i) {
    const struct case_label label = label_of(rows_shape(rows[i]));
    longest = strlen(label.first) > longest ? strlen(label.first) : longest;
    longest = strlen(label.second) > longest ? strlen(label.second) : longest;
  }
  return (double)longest * PLOT_LETTER * (double)cases > PLOT_RIGHT - PLOT_LEFT;
}

static void put_point(const struct plot *plot, const struct kind *kind, const struct merge_row *row, double x) {
  const struct shown shown = kind->of(row);
  plot_point(plot, row, x, shown.value, shown.low, shown.high, "%s (%s to %s) %.*s", units_short(shown.value).text,
             units_short(shown.low).text, units_short(shown.high).text, (int)strcspn(kind->unit, ","), kind->unit);
}

/* Place on the x axis of each row: the number of its case in the drawing, from 0. */
static size_t number_cases(const struct merge_row *const *rows, size_t count, double *place) {
  size_t cases = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && compare_cases(rows_shape(rows[i - 1]), rows_shape(rows[i])) != 0) ++cases;
    place[i] = (double)cases;
  }
  return cases + 1;
}

/* What several sources have of one case stands side by side. */
static double place_of(const struct page *page, const struct merge_row *row, double case_place) {
  return case_place + ((double)row->source - (double)(page->source_count - 1) / 2) * SOURCE_SHIFT;
}

static void put_series(const struct plot *plot, const struct kind *kind, const struct merge_row *const *rows,
                       const double *place, size_t count, size_t series) {
  size_t before = count;
  bool any = false;
  for (size_t i = 0; i < count; ++i) {
    if (rows[i]->series != series) continue;
    if (!any) plot_series_open(plot, series);
    any = true;
    if (before < count && joins(rows_shape(rows[before]), rows_shape(rows[i])))
      plot_line(plot, "line", place_of(plot->page, rows[before], place[before]), kind->of(rows[before]).value,
                place_of(plot->page, rows[i], place[i]), kind->of(rows[i]).value);
    before = i;
  }
  for (size_t i = 0; i < count; ++i) {
    if (rows[i]->series == series) put_point(plot, kind, rows[i], place_of(plot->page, rows[i], place[i]));
  }
  if (any) plot_series_close(plot);
}

static void put_drawing(const struct page *page, FILE *file, const struct kind *kind,
                        const struct merge_row *const *rows, const double *place, size_t count, size_t cases) {
  struct plot plot = {.file = file, .page = page};
  struct axis_range range = axis_range_none();
  char title[TEXT_MAX];
  for (size_t i = 0; i < count; ++i) {
    axis_range_add(&range, kind->of(rows[i]).low);
    axis_range_add(&range, kind->of(rows[i]).high);
  }
  plot.x = (struct axis){.low = -0.5, .high = (double)cases - 0.5, .from = PLOT_LEFT, .to = PLOT_RIGHT};
  plot.y = kind->is_log ? axis_log(range.least, range.most, PLOT_BOTTOM, PLOT_TOP)
                        : axis_linear(range.most, PLOT_BOTTOM, PLOT_TOP);
  const bool turned = are_labels_turned(rows, count, cases);
  rows_kind_text(rows_shape(rows[0]), title, sizeof title);
  plot_open_sized(&plot, PLOT_WIDTH, turned ? PLOT_TURNED_HEIGHT : PLOT_HEIGHT, title, kind->heading);
  plot_y_ticks(&plot, kind->unit);
  const size_t stride = (cases + LABELS_SHOWN_MAX - 1) / LABELS_SHOWN_MAX;
  for (size_t i = 0; i < count; ++i) {
    const bool is_first = i == 0 || place[i] > place[i - 1];
    if (is_first && (size_t)place[i] % stride == 0) put_case_label(&plot, place[i], rows_shape(rows[i]), turned);
  }
  for (size_t s = 0; s < page->series_count; ++s) put_series(&plot, kind, rows, place, count, s);
  plot_close(&plot);
}

/* ---- the figures ----------------------------------------------------------------------------------------------- */

static void put_data(const struct page *page, FILE *file, const struct kind *kind,
                     const struct merge_row *const *rows, size_t count) {
  plot_data_open(file, kind->data);
  for (size_t i = 0; i < count; ++i) {
    const struct merge_row *row = rows[i];
    const struct shown shown = kind->of(row);
    const double numbers[] = {shown.value, shown.low, shown.high};
    plot_data_row(page, file, row);
    plot_data_numbers(file, numbers, sizeof numbers / sizeof *numbers);
  }
  plot_data_close(file);
}

static void put_figure(const struct page *page, FILE *file, const struct kind *kind,
                       const struct merge_row *const *rows, size_t count, double *place) {
  plot_figure_open(page, file, kind->id, kind->heading, kind->caption);
  for (size_t start = 0, end; start < count; start = end) {
    const struct attn_problem *first = rows_shape(rows[start]);
    for (end = start + 1; end < count && rows_compare_kinds(first, rows_shape(rows[end])) == 0;) ++end;
    const size_t cases = number_cases(rows + start, end - start, place);
    put_drawing(page, file, kind, rows + start, place, end - start, cases);
  }
  put_data(page, file, kind, rows, count);
  plot_figure_close(file);
}

bool rate_figures_any(const struct page *page) { return rows_any(page, is_shown); }

struct status rate_figures_write(const struct page *page, FILE *file) {
  OWNED_ARRAY(double, place, page->row_count, "rows of figures");
  OWNED_ARRAY(const struct merge_row *, rows, page->row_count, "rows of figures");
  const size_t count = rows_pick(page, is_shown, compare_rows, rows);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) put_figure(page, file, &kinds[i], rows, count, place);
  return status_ok();
}
