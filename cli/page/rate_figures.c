/* Rate and latency over the cases: a drawing for each D, dtype, mask and head group, with a line per variant, and one
 * for all cases that are alone. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/page/plot.h"

enum { LABELS_SHOWN_MAX = 24, CAPTION_MAX = 1024 };
static const double TURNED_RISE = 0.87;    /* of a label's length */
static const double DRAM_SHOWN_FROM = 0.5; /* of its bandwidth: drawings of lower rates keep their scale */
static const double SOURCE_SHIFT = 0.1;    /* of the way to the next case */

static bool is_shown(const struct merge_row *row) { return rows_time(row, TIME_HOT) != NULL; }

/* What a figure shows of a row that is shown: median, and the ends of its interval. */
struct shown {
  double value, low, high;
};

/* `of_us` is the work of one launch, in the unit times a microsecond. */
static struct shown over_time(const struct merge_row *row, double of_us) {
  const struct process_interval us = rows_interval_of(row, TIME_HOT);
  return (struct shown){of_us / us.median_us, of_us / us.high_us, of_us / us.low_us};
}

static struct shown rate_of(const struct merge_row *row) { return over_time(row, row->row->metrics.flops * 1e-6); }
static struct shown bandwidth_of(const struct merge_row *row) {
  return over_time(row, row->row->metrics.bytes * 1e-3);
}

static struct shown latency_of(const struct merge_row *row) {
  const struct process_interval us = rows_interval_of(row, TIME_HOT);
  return (struct shown){us.median_us, us.low_us, us.high_us};
}

struct scale {
  const char *unit;
  bool is_log;
  struct shown (*of)(const struct merge_row *);
};

static const struct kind {
  struct plot_figure figure;
  const char *data;
  struct scale scale, of_memory; /* the second where DRAM bounds every case of a drawing */
} kinds[] = {
    {{.id = "rate",
      .heading = "Rate",
      .caption =
          "The rate from the hot median, with bars over the 95&nbsp;% interval of the median: TFLOP/s, or GB/s of Q, "
          "K, V and O where DRAM bounds all cases of a drawing. Lines join cases that differ in S, in B and H, or in "
          "the window. Higher is better."},
     "variant,key,tflop_per_s,ci95_low,ci95_high,gb_per_s",
     {"TFLOP/s", false, rate_of},
     {"GB/s", false, bandwidth_of}},
    {{.id = "latency",
      .heading = "Latency",
      .caption =
          "Microseconds of one launch: the hot median with its 95&nbsp;% interval, on a logarithmic axis. Lower is "
          "better. Cases without others of their kind have their times beside their rates."},
     "variant,key,hot_us,ci95_low,ci95_high",
     {"us, logarithmic", true, latency_of},
     {"us, logarithmic", true, latency_of}},
};

static const char dram_caption[] =
    " Dashed: the bandwidth of DRAM. Hot rows whose tensors fit in L2 may lie above it.";

/* ---- which cases share a drawing ------------------------------------------------------------------------------- */

static int compare_batches(const struct attn_problem *a, const struct attn_problem *b) {
  return SORTING_FIRST(SORTING_ORDER((uint64_t)a->B * a->Hq, (uint64_t)b->B * b->Hq), SORTING_ORDER(a->B, b->B),
                       SORTING_ORDER(a->Hkv, b->Hkv));
}

static int compare_rows(const void *left, const void *right, bool by_batch) {
  const struct merge_row *a = *(const struct merge_row *const *)left, *b = *(const struct merge_row *const *)right;
  const struct attn_problem *x = rows_shape(a), *y = rows_shape(b);
  const int lengths = rows_compare_lengths(x, y), batches = compare_batches(x, y);
  return SORTING_FIRST(rows_compare_kinds(x, y), by_batch ? batches : lengths, by_batch ? lengths : batches,
                       SORTING_ORDER(a->series, b->series), SORTING_ORDER(a->number, b->number));
}

static int by_length(const void *left, const void *right) { return compare_rows(left, right, false); }
static int by_batch(const void *left, const void *right) { return compare_rows(left, right, true); }

static bool is_one_case(const struct merge_row *a, const struct merge_row *b) {
  const struct attn_problem *x = rows_shape(a), *y = rows_shape(b);
  return rows_compare_kinds(x, y) == 0 && rows_compare_lengths(x, y) == 0 && compare_batches(x, y) == 0;
}

/* The rows of one drawing. */
struct panel {
  const struct merge_row **rows;
  size_t count, cases;
  bool is_memory; /* DRAM bounds every case */
};

/* Whether two cases that stand beside each other differ, but not in what `compare` compares. */
static bool has_pair(const struct merge_row *const *rows, size_t count,
                     int (*compare)(const struct attn_problem *, const struct attn_problem *)) {
  for (size_t i = 1; i < count; ++i) {
    if (!is_one_case(rows[i - 1], rows[i]) && compare(rows_shape(rows[i - 1]), rows_shape(rows[i])) == 0) return true;
  }
  return false;
}

static struct panel panel_of(const struct page *page, const struct merge_row **rows, size_t count) {
  struct panel panel = {.rows = rows, .count = count, .is_memory = true};
  for (size_t start = 0, end; start < count; start = end) {
    bool is_memory = false;
    for (end = start; end < count && is_one_case(rows[start], rows[end]); ++end)
      is_memory = is_memory || rows_is_memory_bound(page, rows[end]);
    panel.is_memory = panel.is_memory && is_memory;
    ++panel.cases;
  }
  return panel;
}

/* Rows of one kind. Where several cases share an S, those of one B and H have a drawing of their own. */
static size_t add_panels(const struct page *page, const struct merge_row **rows, size_t count, struct panel *out) {
  size_t panels = 0;
  const bool has_ties = has_pair(rows, count, rows_compare_lengths);
  qsort(rows, count, sizeof *rows, by_batch);
  const bool is_split = has_ties && has_pair(rows, count, compare_batches);
  if (!is_split) qsort(rows, count, sizeof *rows, by_length);
  for (size_t start = 0, end; start < count; start = end) {
    for (end = start; end < count;) {
      if (is_split && compare_batches(rows_shape(rows[start]), rows_shape(rows[end])) != 0) break;
      ++end;
    }
    out[panels++] = panel_of(page, rows + start, end - start);
  }
  return panels;
}

static bool is_same_but_mask(const struct attn_problem *a, const struct attn_problem *b) {
  return rows_compare_unmasked(a, b) == 0 && rows_compare_lengths(a, b) == 0 && compare_batches(a, b) == 0;
}

static int by_mask(const void *left, const void *right) {
  const struct merge_row *a = *(const struct merge_row *const *)left, *b = *(const struct merge_row *const *)right;
  const struct attn_problem *x = rows_shape(a), *y = rows_shape(b);
  return SORTING_FIRST(rows_compare_unmasked(x, y), rows_compare_lengths(x, y), compare_batches(x, y),
                       rows_compare_masks(x, y), SORTING_ORDER(a->series, b->series),
                       SORTING_ORDER(a->number, b->number));
}

/* Replaces the panels of single cases that differ in their window alone by one; `rows` has room for all rows. */
static void join_windows(const struct page *page, struct panel *panels, size_t count, const struct merge_row **rows) {
  size_t alone = 0;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < panels[i].count && panels[i].cases == 1; ++j) rows[alone++] = panels[i].rows[j];
  }
  qsort(rows, alone, sizeof *rows, by_mask);
  for (size_t start = 0, end; start < alone; start = end) {
    bool has_window = false;
    for (end = start; end < alone && is_same_but_mask(rows_shape(rows[start]), rows_shape(rows[end])); ++end)
      has_window = has_window || rows_has_window(rows_shape(rows[end]));
    const struct panel joined = panel_of(page, rows + start, end - start);
    bool is_placed = false;
    for (size_t i = 0; i < count && has_window && joined.cases > 1; ++i) {
      if (panels[i].cases != 1 || !is_same_but_mask(rows_shape(rows[start]), rows_shape(panels[i].rows[0]))) continue;
      panels[i] = is_placed ? (struct panel){.rows = rows + start} : joined; /* the others are empty */
      is_placed = true;
    }
  }
}

/* Room that the drawings share. */
struct scratch {
  double *place;           /* of each row of a drawing */
  struct line_name *names; /* of each series of the page */
};

/* ---- one drawing ----------------------------------------------------------------------------------------------- */

/* Is what lies between these two one step of S, of B and H, or of both at the same number of tokens, or a wider
 * window that is open to the same side? */
static bool joins(const struct attn_problem *a, const struct attn_problem *b) {
  if (rows_compare_masks(a, b) != 0) return a->right == b->right;
  const bool are_square = a->Sq == a->Skv && b->Sq == b->Skv;
  const bool one_step = are_square || a->Sq == b->Sq || a->Skv == b->Skv;
  const bool same_tokens = are_square && (uint64_t)a->B * a->Sq == (uint64_t)b->B * b->Sq;
  return (compare_batches(a, b) == 0 && one_step) || rows_compare_lengths(a, b) == 0 || same_tokens;
}

/* What of the cases of a drawing differs; its title says the rest. */
struct differs {
  bool queries, keys, b, h, mask;
  bool rectangles; /* some have other keys than queries */
};

static struct differs differs_of(const struct panel *panel) {
  const struct attn_problem *first = rows_shape(panel->rows[0]);
  struct differs differs = {0};
  for (size_t i = 0; i < panel->count; ++i) {
    const struct attn_problem *shape = rows_shape(panel->rows[i]);
    differs.queries = differs.queries || shape->Sq != first->Sq;
    differs.keys = differs.keys || shape->Skv != first->Skv;
    differs.rectangles = differs.rectangles || shape->Sq != shape->Skv;
    differs.b = differs.b || shape->B != first->B;
    differs.h = differs.h || shape->Hq != first->Hq;
    differs.mask = differs.mask || rows_compare_masks(shape, first) != 0;
  }
  return differs;
}

/* "S512" or "1x512" where queries and keys differ, "512" where one of them does; and "B4 H32". */
struct case_label {
  char first[64], second[64];
};

static struct case_label label_of(const struct attn_problem *s, struct differs differs) {
  struct case_label label = {"", ""};
  if (differs.mask && rows_has_window(s)) {
    snprintf(label.first, sizeof label.first, "%" PRId64 ":%" PRId64, (int64_t)s->left, (int64_t)s->right);
  } else if (differs.mask) {
    snprintf(label.first, sizeof label.first, "%s", s->right == 0 ? "causal" : "no mask");
  } else if (differs.queries && differs.keys && s->Sq != s->Skv) {
    snprintf(label.first, sizeof label.first, "%" PRIu32 "x%" PRIu32, s->Sq, s->Skv);
  } else if (differs.queries || differs.keys) {
    snprintf(label.first, sizeof label.first, "%s%" PRIu32, differs.queries && differs.keys ? "S" : "",
             differs.keys ? s->Skv : s->Sq);
  }
  if (differs.b) snprintf(label.second, sizeof label.second, "B%" PRIu32 "%s", s->B, differs.h ? " " : "");
  if (differs.h) text_append(label.second, sizeof label.second, "H%" PRIu32, s->Hq);
  return label;
}

static const char *x_name(struct differs differs) {
  if (differs.mask) return "window, keys before:after";
  if (differs.queries && differs.keys) return differs.rectangles ? "S, or queries x keys" : "";
  return differs.keys ? "keys" : differs.queries ? "queries" : "";
}

/* The letters of the longest label. */
static size_t longest_label(const struct panel *panel, struct differs differs, bool in_one_line) {
  size_t longest = 0;
  for (size_t i = 0; i < panel->count; ++i) {
    const struct case_label label = label_of(rows_shape(panel->rows[i]), differs);
    const size_t first = strlen(label.first), second = strlen(label.second);
    const size_t letters = in_one_line ? first + 1 + second : first > second ? first : second;
    longest = letters > longest ? letters : longest;
  }
  return longest;
}

/* Turned labels stand in one line each. */
static void put_case_labels(const struct plot *plot, const struct panel *panel, struct differs differs, bool turned) {
  const size_t stride = (panel->cases + LABELS_SHOWN_MAX - 1) / LABELS_SHOWN_MAX;
  size_t number = 0;
  for (size_t i = 0; i < panel->count; ++i) {
    const struct case_label label = label_of(rows_shape(panel->rows[i]), differs);
    char both[sizeof label];
    if (i > 0 && is_one_case(panel->rows[i - 1], panel->rows[i])) continue;
    snprintf(both, sizeof both, "%s%s%s", label.first, label.first[0] != '\0' ? " " : "", label.second);
    if (number % stride == 0)
      plot_x_label(plot, (double)number, turned ? both : label.first, turned ? "" : label.second, turned);
    ++number;
  }
}

/* "412.3 (411 to 413.5) TFLOP/s" */
static void text_of(const struct scale *scale, const struct merge_row *row, char out[TEXT_CELL_MAX]) {
  const struct shown shown = scale->of(row);
  snprintf(out, TEXT_CELL_MAX, "%s (%s to %s) %.*s", units_short(shown.value).text, units_short(shown.low).text,
           units_short(shown.high).text, (int)strcspn(scale->unit, ","), scale->unit);
}

/* Place on the x axis of each row: the number of its case in the drawing, from 0. What several sources have of one
 * case stands side by side. */
static void place_cases(const struct page *page, const struct panel *panel, double *place) {
  size_t number = 0;
  for (size_t i = 0; i < panel->count; ++i) {
    const double aside = (double)panel->rows[i]->source - (double)(page->source_count - 1) / 2;
    if (i > 0 && !is_one_case(panel->rows[i - 1], panel->rows[i])) ++number;
    place[i] = (double)number + aside * SOURCE_SHIFT;
  }
}

static void put_series(const struct plot *plot, const struct scale *scale, const struct panel *panel,
                       const double *place, size_t series) {
  const struct merge_row *const *rows = panel->rows;
  size_t before = panel->count;
  char text[TEXT_CELL_MAX];
  for (size_t i = 0; i < panel->count; ++i) {
    if (rows[i]->series != series) continue;
    if (before == panel->count) plot_series_open(plot, series);
    if (before < panel->count && joins(rows_shape(rows[before]), rows_shape(rows[i])))
      plot_line(plot, "line", place[before], scale->of(rows[before]).value, place[i], scale->of(rows[i]).value);
    before = i;
  }
  for (size_t i = 0; i < panel->count; ++i) {
    const struct shown shown = scale->of(rows[i]);
    if (rows[i]->series != series) continue;
    text_of(scale, rows[i], text);
    plot_point(plot, rows[i], place[i], shown.value, shown.low, shown.high, "%s", text);
  }
  if (before < panel->count) plot_series_close(plot);
}

/* GB/s of the DRAM of all rows, where the drawing shows it; NAN: it does not, or rows are of unlike devices. */
static double dram_of(const struct scale *scale, const struct panel *panel, double most) {
  const struct device_info *device = panel->rows[0]->row->device;
  if (scale->of != bandwidth_of || !(device->dram_gb_per_s > 0)) return NAN;
  for (size_t i = 1; i < panel->count; ++i) {
    if (!merge_is_same_device(device, panel->rows[i]->row->device)) return NAN;
  }
  return most > DRAM_SHOWN_FROM * device->dram_gb_per_s ? device->dram_gb_per_s : (double)NAN;
}

static struct axis_range range_of(const struct scale *scale, const struct panel *panel) {
  struct axis_range range = axis_range_none();
  for (size_t i = 0; i < panel->count; ++i) {
    axis_range_add(&range, scale->of(panel->rows[i]).low);
    axis_range_add(&range, scale->of(panel->rows[i]).high);
  }
  axis_range_add(&range, dram_of(scale, panel, range.most));
  return range;
}

static void put_dram(const struct plot *plot, double dram) {
  char text[64];
  if (isnan(dram)) return;
  snprintf(text, sizeof text, "DRAM %s", units_fixed(dram, 0).text);
  plot_line(plot, "roof reached", plot->x.low, dram, plot->x.high, dram);
  plot_note(plot, plot->x.low, dram + (plot->y.high - plot->y.low) * 0.02, "start", text);
}

/* The lines of a drawing that get names; 0 where there are so few that they need none. A ring around another
 * variant's marker is no line. */
static size_t names_of(const struct page *page, const struct panel *panel, struct line_name *names) {
  size_t count = 0;
  for (size_t s = 0; s < page->series_count; ++s) {
    bool is_here = false;
    for (size_t i = 0; i < panel->count && !is_here; ++i) is_here = panel->rows[i]->series == s;
    if (is_here && !page->series[s].is_twin) names[count++] = (struct line_name){.series = s};
  }
  return count >= LINE_NAMES_LEAST ? count : 0;
}

/* Where each line ends: the last row of its series. */
static void find_ends(const struct plot *plot, const struct scale *scale, const struct panel *panel,
                      const double *place, struct line_name *names, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    for (size_t i = 0; i < panel->count; ++i) {
      if (panel->rows[i]->series != names[n].series) continue;
      names[n].x = axis_at(&plot->x, place[i]);
      names[n].y = axis_at(&plot->y, scale->of(panel->rows[i]).value);
    }
  }
}

static void put_drawing(const struct page *page, FILE *file, const char *what, const struct scale *scale,
                        const struct panel *panel, const struct scratch *scratch) {
  struct plot plot = {.file = file, .page = page};
  const struct axis_range range = range_of(scale, panel);
  const struct differs differs = differs_of(panel);
  const size_t names = names_of(page, panel, scratch->names);
  const double letters = (double)longest_label(panel, differs, false) * (double)panel->cases;
  const double right = PLOT_RIGHT - (names > 0 ? line_names_width(page, scratch->names, names) : 0);
  const double bottom = fmax(PLOT_BOTTOM, names > 0 ? PLOT_TOP + line_names_height(names) : 0);
  const bool turned = letters * PLOT_LETTER > right - PLOT_LEFT;
  const double turned_height = turned ? (double)longest_label(panel, differs, true) * PLOT_LETTER * TURNED_RISE : 0;
  const int height = PLOT_HEIGHT + (int)(bottom - PLOT_BOTTOM) + (int)turned_height;
  char title[ROWS_TEXT_MAX];
  place_cases(page, panel, scratch->place);
  plot.x = (struct axis){.low = -0.5, .high = (double)panel->cases - 0.5, .from = PLOT_LEFT, .to = right};
  plot.y =
      scale->is_log ? axis_log(range.least, range.most, bottom, PLOT_TOP) : axis_linear(range.most, bottom, PLOT_TOP);
  for (size_t i = 0; i < panel->count; ++i) rows_share(rows_shape(panel->rows[i]), i == 0, title);
  plot_open(&plot, height, title, what);
  plot_y_ticks(&plot, scale->unit);
  put_case_labels(&plot, panel, differs, turned);
  put_dram(&plot, dram_of(scale, panel, range.most));
  plot_x_name(&plot, height, x_name(differs));
  for (size_t s = 0; s < page->series_count; ++s) put_series(&plot, scale, panel, scratch->place, s);
  find_ends(&plot, scale, panel, scratch->place, scratch->names, names);
  line_names_put(&plot, scratch->names, names);
  plot_close(&plot);
}

/* ---- cases that are alone -------------------------------------------------------------------------------------- */

static const struct merge_row *fastest_of(const struct panel *panel) {
  const struct merge_row *best = panel->rows[0];
  for (size_t i = 1; i < panel->count; ++i) {
    if (rows_interval_of(panel->rows[i], TIME_HOT).median_us < rows_interval_of(best, TIME_HOT).median_us)
      best = panel->rows[i];
  }
  return best;
}

static void put_strip(const struct plot *plot, const struct scale *scale, const struct panel *panel,
                      const char *common) {
  char label[ROWS_TEXT_MAX], text[TEXT_CELL_MAX];
  rows_rest(rows_shape(panel->rows[0]), common, label);
  const double dram = dram_of(scale, panel, plot->x.high);
  plot_strip_open(plot, label);
  if (dram <= plot->x.high) plot_strip_line(plot, "roof reached", dram);
  for (size_t i = 0; i < panel->count; ++i) {
    const struct merge_row *row = panel->rows[i];
    const struct shown shown = scale->of(row);
    text_of(scale, row, text);
    text_append(text, sizeof text, ", %s us", units_short(latency_of(row).value).text);
    plot_strip_point(plot, row, shown.value, shown.low, shown.high, text);
  }
  plot_strip_close(plot, units_short(latency_of(fastest_of(panel)).value).text);
}

/* A line for each case that has no other one beside it in a drawing. */
static void put_strips(const struct page *page, FILE *file, const struct scale *scale, const struct panel *panels,
                       size_t count, bool is_memory) {
  struct axis_range range = axis_range_none();
  char common[ROWS_TEXT_MAX] = "", title[ROWS_TEXT_MAX + sizeof "Single cases: "];
  size_t lines = 0;
  for (size_t i = 0; i < count; ++i) {
    if (panels[i].cases != 1 || panels[i].is_memory != is_memory) continue;
    const struct axis_range of_panel = range_of(scale, &panels[i]);
    axis_range_add(&range, of_panel.least);
    axis_range_add(&range, of_panel.most);
    rows_share(rows_shape(panels[i].rows[0]), lines++ == 0, common);
  }
  if (lines == 0) return;
  const struct plot plot = {
      .file = file, .page = page, .x = axis_linear(range.most, PLOT_STRIP_LEFT, PLOT_STRIP_RIGHT)};
  if (lines == 1) common[0] = '\0';
  snprintf(title, sizeof title, "Single cases%s%s", common[0] != '\0' ? ": " : "", common);
  plot_strips_open(&plot, title, scale->unit, "fastest, us");
  for (size_t i = 0; i < count; ++i) {
    if (panels[i].cases == 1 && panels[i].is_memory == is_memory) put_strip(&plot, scale, &panels[i], common);
  }
  plot_strips_close(&plot);
}

/* ---- the figures ----------------------------------------------------------------------------------------------- */

static void put_data(const struct page *page, FILE *file, const struct kind *kind,
                     const struct merge_row *const *rows, size_t count) {
  plot_data_open(file, kind->data);
  for (size_t i = 0; i < count; ++i) {
    const struct shown shown = kind->scale.of(rows[i]);
    const double numbers[] = {shown.value, shown.low, shown.high, kind->of_memory.of(rows[i]).value};
    plot_data_row(page, file, rows[i]);
    plot_data_numbers(file, numbers, kind->of_memory.of == bandwidth_of ? 4 : 3);
  }
}

static void put_drawings(const struct page *page, FILE *file, const struct kind *kind, const struct panel *panels,
                         size_t count, const struct scratch *scratch) {
  for (size_t i = 0; i < count; ++i) {
    const struct scale *scale = panels[i].is_memory ? &kind->of_memory : &kind->scale;
    if (panels[i].cases > 1) put_drawing(page, file, kind->figure.heading, scale, &panels[i], scratch);
  }
}

static bool any_dram(const struct panel *panels, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const struct scale *scale = &kinds[0].of_memory;
    if (panels[i].is_memory && isfinite(dram_of(scale, &panels[i], range_of(scale, &panels[i]).most))) return true;
  }
  return false;
}

struct status rate_figures_write(const struct page *page, FILE *file) {
  OWNED_ARRAY(double, place, page->row_count, "rows of figures");
  OWNED_ARRAY(struct line_name, names, page->series_count, "names of lines");
  OWNED_ARRAY(struct panel, panels, page->row_count, "drawings of figures");
  OWNED_ARRAY(const struct merge_row *, rows, page->row_count, "rows of figures");
  OWNED_ARRAY(const struct merge_row *, alone, page->row_count, "rows of figures");
  const struct scratch scratch = {place, names};
  const size_t count = rows_pick(page, is_shown, by_length, rows);
  size_t panel_count = 0;
  for (size_t start = 0, end; start < count; start = end) {
    for (end = start + 1; end < count && rows_compare_kinds(rows_shape(rows[start]), rows_shape(rows[end])) == 0;)
      ++end;
    panel_count += add_panels(page, rows + start, end - start, panels + panel_count);
  }
  join_windows(page, panels, panel_count, alone);
  struct plot_figure rate = kinds[0].figure, latency = kinds[1].figure;
  char caption[CAPTION_MAX];
  snprintf(caption, sizeof caption, "%s%s", rate.caption, any_dram(panels, panel_count) ? dram_caption : "");
  rate.caption = caption;
  plot_figure_open(page, file, &rate);
  put_drawings(page, file, &kinds[0], panels, panel_count, &scratch);
  put_strips(page, file, &kinds[0].scale, panels, panel_count, false);
  put_strips(page, file, &kinds[0].of_memory, panels, panel_count, true);
  put_data(page, file, &kinds[0], rows, count);
  plot_figure_close(file, &rate);
  if (!rate_figures_any_latency(page)) return status_ok();
  /* Each rate is work over a time: the times have the same curves, turned over, and are for who looks for them. */
  for (size_t i = 0; i < panel_count; ++i) latency.folded += panels[i].cases > 1;
  plot_figure_open(page, file, &latency);
  put_drawings(page, file, &kinds[1], panels, panel_count, &scratch);
  put_data(page, file, &kinds[1], rows, count);
  plot_figure_close(file, &latency);
  return status_ok();
}

bool rate_figures_any(const struct page *page) { return rows_any(page, is_shown); }

bool rate_figures_any_latency(const struct page *page) {
  for (size_t i = 0; i < page->row_count; ++i) {
    for (size_t j = 0; j < i; ++j) {
      const struct merge_row *a = &page->rows[i], *b = &page->rows[j];
      const struct attn_problem *x = rows_shape(a), *y = rows_shape(b);
      const bool have_window = rows_has_window(x) || rows_has_window(y);
      if (!is_shown(a) || !is_shown(b) || is_one_case(a, b)) continue;
      if (rows_compare_kinds(x, y) == 0 || (have_window && is_same_but_mask(x, y))) return true;
    }
  }
  return false;
}
