/* The table of all rows, which the script of the page makes sortable and lets one filter. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/units.h"
#include "cli/page/html.h"
#include "cli/page/parts.h"
#include "cli/report/unsteady.h"

enum { CELL_MAX = 160 };

/* A cell: its text, and the number that it is sorted by (NAN: by its text). */
struct cell {
  char text[CELL_MAX];
  double number;
};

static const struct mode_metrics *hot_of(const struct page_row *row) { return &row->row->metrics.mode[TIME_HOT]; }

static void set_number(struct cell *out, double value, int decimals) {
  char text[UNITS_TEXT_MAX];
  if (decimals < 0) {
    units_format(value, text);
  } else {
    units_format_fixed(value, decimals, text);
  }
  snprintf(out->text, sizeof out->text, "%s", text);
  out->number = value;
}

/* The mark of the text report: the interval of this median is not trusted to be narrow. */
static void set_time(struct cell *out, const struct time_record *time) {
  char text[UNITS_TEXT_MAX];
  const bool known = time != NULL;
  const bool is_doubtful = known && time->us.n > 1 && (time->stop != STATS_STOP_INTERVAL || !time->settled);
  units_format(known ? time->us.median : (double)NAN, text);
  snprintf(out->text, sizeof out->text, "%s%s", is_doubtful ? "*" : "", text);
  out->number = known ? time->us.median : (double)NAN;
}

static void cell_source(const struct page_row *row, struct cell *out) { set_number(out, (double)row->source + 1, 0); }

/* What has no time at all says so in one word. */
static void cell_hot(const struct page_row *row, struct cell *out) {
  const enum cell_status status = row->row->record->status;
  const bool is_timed = rows_time(row, TIME_HOT) != NULL || rows_time(row, TIME_COLD) != NULL;
  set_time(out, rows_time(row, TIME_HOT));
  if (status != CELL_ok || !is_timed) snprintf(out->text, sizeof out->text, "%s", cell_status_name(status));
}

static void cell_width(const struct page_row *row, struct cell *out) {
  const struct page_interval us = rows_interval_of(row, TIME_HOT);
  const bool known = rows_time(row, TIME_HOT) != NULL;
  char text[UNITS_TEXT_MAX];
  out->number = known ? 50 * (us.high_us - us.low_us) / us.median_us : (double)NAN;
  units_format_fixed(out->number, 2, text);
  snprintf(out->text, sizeof out->text, "%s", text);
}

static void cell_cold(const struct page_row *row, struct cell *out) { set_time(out, rows_time(row, TIME_COLD)); }

static void cell_rate(const struct page_row *row, struct cell *out) {
  set_number(out, hot_of(row)->known ? hot_of(row)->tflop_per_s : (double)NAN, -1);
}

static void cell_roof(const struct page_row *row, struct cell *out) {
  const struct mode_metrics *hot = hot_of(row);
  const bool known = hot->known && hot->roof != ROOF_NONE;
  const char *name = metrics_roof_name(hot->roof);
  char number[UNITS_TEXT_MAX];
  out->number = known ? 100 * hot->roof_ratio : (double)NAN;
  units_format_fixed(out->number, 1, number);
  snprintf(out->text, sizeof out->text, known ? "%s %.*s" : "%s", number, (int)strcspn(name, "_"), name);
}

static void cell_speedup(const struct page_row *row, struct cell *out) {
  const struct ratio_record *ratio = &row->row->record->speedup.mode[TIME_HOT];
  set_number(out, ratio->done ? ratio->ratio : (double)NAN, ratio->ratio < 0.1 ? 3 : 2);
  if (!unsteady_ratio(ratio)) return;
  memmove(out->text + 1, out->text, sizeof out->text - 1);
  out->text[0] = '~';
  out->text[sizeof out->text - 1] = '\0';
}

static bool has_launch(const struct page_row *row) { return row->row->record->plan.pass_count > 0; }

static void cell_blocks(const struct page_row *row, struct cell *out) {
  set_number(out, has_launch(row) ? (double)row->row->metrics.pass[0].blocks : (double)NAN, 0);
}

static void cell_waves(const struct page_row *row, struct cell *out) {
  const struct pass_metrics *pass = &row->row->metrics.pass[0];
  char number[UNITS_TEXT_MAX];
  out->number = has_launch(row) ? pass->waves : (double)NAN;
  units_format_fixed(out->number, pass->waves < 0.1 ? 4 : 2, number);
  snprintf(out->text, sizeof out->text, "%s%s", has_launch(row) && !pass->resident_exact ? ">=" : "", number);
}

static void cell_clock(const struct page_row *row, struct cell *out) {
  const struct time_record *time = rows_time(row, TIME_HOT);
  set_number(out, time != NULL ? time->sm_clock_mhz : (double)NAN, 0);
}

static void cell_error(const struct page_row *row, struct cell *out) {
  const struct check_record *check = &row->row->record->check;
  char text[UNITS_TEXT_MAX];
  out->number = check->done ? check->compare.max_abs_error : (double)NAN;
  units_format_exponent(out->number, text);
  snprintf(out->text, sizeof out->text, "%s", text);
}

/* Behind case and variant. The first is for pages of several sources alone. */
static const struct column {
  const char *heading, *unit;
  void (*cell)(const struct page_row *, struct cell *);
} columns[] = {
    {"source", "", cell_source},     {"hot", "us", cell_hot},          {"&plusmn;", "% of hot", cell_width},
    {"cold", "us", cell_cold},       {"rate", "TFLOP/s", cell_rate},   {"roof", "% of peak", cell_roof},
    {"vs ref", "hot", cell_speedup}, {"blocks", "", cell_blocks},      {"waves", "", cell_waves},
    {"clock", "MHz", cell_clock},    {"error", "max abs", cell_error},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

/* Which columns have something to show: the first where there are several sources, the others where any row fills
 * them.
 */
struct shown {
  bool column[COLUMN_COUNT];
};

static struct shown columns_shown(const struct page *page) {
  struct shown shown = {{page->source_count > 1}};
  for (size_t c = 1; c < COLUMN_COUNT; ++c) {
    for (size_t i = 0; i < page->row_count && !shown.column[c]; ++i) {
      struct cell cell = {.number = NAN};
      columns[c].cell(&page->rows[i], &cell);
      shown.column[c] = isfinite(cell.number) || columns[c].cell == cell_hot;
    }
  }
  return shown;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static void put_headings(FILE *file, const struct shown *shown) {
  fputs(
      "<thead><tr><th scope=\"col\" data-sort=\"number\">case</th>"
      "<th scope=\"col\" data-sort=\"text\">variant</th>",
      file);
  for (size_t i = 0; i < COLUMN_COUNT; ++i) {
    if (!shown->column[i]) continue;
    fprintf(file, "<th scope=\"col\" data-sort=\"number\" class=\"n\">%s", columns[i].heading);
    if (columns[i].unit[0] != '\0') fprintf(file, " <small>%s</small>", columns[i].unit);
    fputs("</th>", file);
  }
  fputs("<th scope=\"col\" data-sort=\"number\">findings</th></tr></thead>\n<tbody>\n", file);
}

/* The worst one with a link to where it is told, as the others are. */
static void put_findings(FILE *file, const struct page_row *row) {
  const size_t count = row->row->findings.count;
  fprintf(file, "<td data-value=\"%zu\">", count);
  if (count > 0) {
    const char *name = finding_name(row->row->findings.item[0].id);
    fprintf(file, "<a href=\"#finding-%s-%zu\">%s</a>", name, row->series, name);
  }
  if (count > 1) fprintf(file, " <small>+%zu</small>", count - 1);
  fputs("</td>", file);
}

static void put_cell(FILE *file, const struct cell *cell, bool is_strong) {
  fputs("<td class=\"n\"", file);
  if (isfinite(cell->number)) {
    fputs(" data-value=\"", file);
    html_number(file, cell->number);
    fputc('"', file);
  }
  fputc('>', file);
  html_element(file, is_strong ? "strong" : "span", cell->text);
  fputs("</td>", file);
}

static void put_variant(FILE *file, const struct record *record) {
  html_text(file, record->variant);
  if (record->picked[0] == '\0') return;
  fputs(" <small>", file);
  html_text(file, record->picked);
  fputs("</small>", file);
}

static bool row_failed(const struct record *record) {
  return record->status != CELL_ok && record->status != CELL_planned && record->status != CELL_skipped;
}

static void put_row(const struct page *page, FILE *file, const struct page_row *row, const struct shown *shown) {
  const struct record *record = row->row->record;
  fprintf(file, "<tr id=\"row-%zu\" data-series=\"%zu\" data-status=\"%s\"%s data-key=\"", row->number, row->series,
          cell_status_name(record->status),
          row->is_fastest      ? " class=\"fastest\""
          : row_failed(record) ? " class=\"failed\""
                               : "");
  html_text(file, record->attn_case.key);
  fprintf(file, "\"><th scope=\"row\" data-value=\"%zu\">", row->case_number);
  html_breakable(file, record->attn_case.key);
  fprintf(file, "</th><td class=\"c%zu\"><i class=\"chip\"></i>", page->series[row->series].number % PAGE_COLOURS);
  put_variant(file, record);
  fputs(row->is_fastest ? " <small class=\"mark-fastest\">fastest</small></td>" : "</td>", file);
  for (size_t i = 0; i < COLUMN_COUNT; ++i) {
    if (!shown->column[i]) continue;
    struct cell cell = {.number = NAN};
    columns[i].cell(row, &cell);
    put_cell(file, &cell, columns[i].cell == cell_hot && (row->is_fastest || row_failed(record)));
  }
  put_findings(file, row);
  fputs("</tr>\n", file);
}

/* ---- notes ----------------------------------------------------------------------------------------------------- */

static const char *reference_of(const struct page *page) {
  for (size_t i = 0; i < page->series_count; ++i) {
    if (page->series[i].is_reference) return page->series[i].variant;
  }
  for (size_t i = 0; i < page->row_count; ++i) {
    const struct speedup_record *speedup = &page->rows[i].row->record->speedup;
    if (report_has_speedup(speedup)) return speedup->reference;
  }
  return NULL;
}

/* For what the intervals hold. */
static void put_intervals(const struct page *page, FILE *file) {
  uint32_t processes = 0;
  bool is_timed = false;
  for (size_t i = 0; i < page->row_count; ++i) {
    if (rows_time(&page->rows[i], TIME_HOT) == NULL) continue;
    const uint32_t of_row = rows_interval_of(&page->rows[i], TIME_HOT).processes;
    is_timed = true;
    processes = of_row > processes ? of_row : processes;
  }
  if (!is_timed) return;
  fputs("Times are medians of one launch. &plusmn; is half of the 95&nbsp;% interval of the hot median", file);
  if (processes > 0) {
    fprintf(file, " over the processes that measured it (up to %" PRIu32 "; times are those of the first).",
            processes);
  } else {
    fputs(" within the one process that measured; the next process may differ by more (--rounds).", file);
  }
  fputs(" * marks an interval that is wide, and a time that was still drifting.", file);
}

static void put_notes(const struct page *page, FILE *file) {
  const char *reference = reference_of(page);
  size_t injected = 0;
  for (size_t i = 0; i < page->row_count; ++i) injected += page->rows[i].row->record->injected.done;
  fputs("<p>", file);
  put_intervals(page, file);
  if (reference != NULL) {
    fputs(" vs ref is the hot time of ", file);
    html_element(file, "code", reference);
    fputs(
        " over the row's, the two measured in turns: above 1 the row is faster. ~ marks a ratio that still moved "
        "when "
        "the time for it was over.",
        file);
  }
  if (injected > 0) fprintf(file, " %zu rows were slowed down on purpose (--inject-slowdown).", injected);
  fputs("</p>\n", file);
}

/* Why rows that have no times have none. */
static void put_reasons(const struct page *page, FILE *file) {
  bool any = false, failed = false;
  for (size_t i = 0; i < page->row_count; ++i) failed = failed || row_failed(page->rows[i].row->record);
  for (size_t i = 0; i < page->row_count; ++i) {
    const struct record *record = page->rows[i].row->record;
    if (record->status == CELL_ok || record->status == CELL_planned) continue;
    if (!any)
      fprintf(file, "<details class=\"reasons\"%s><summary>Rows that were not measured, and why</summary><ul>\n",
              failed ? " open" : "");
    any = true;
    fprintf(file, "<li><a href=\"#row-%zu\">%s</a>: ", page->rows[i].number, cell_status_name(record->status));
    html_text(file, record->attn_case.key);
    fputc(' ', file);
    html_element(file, "code", record->variant);
    fputs(": ", file);
    html_text(file, record->reason);
    fputs("</li>\n", file);
  }
  if (any) fputs("</ul></details>\n", file);
}

void table_part_write(const struct page *page, FILE *file) {
  fputs("<section id=\"rows\" aria-labelledby=\"rows-h\">\n<h2 id=\"rows-h\">Table</h2>\n", file);
  put_notes(page, file);
  fputs(
      "<div class=\"scroll\" role=\"region\" aria-labelledby=\"rows-h\" tabindex=\"0\">"
      "<table class=\"sortable filtered\"><caption>All rows of the report</caption>",
      file);
  const struct shown shown = columns_shown(page);
  put_headings(file, &shown);
  for (size_t i = 0; i < page->row_count; ++i) put_row(page, file, &page->rows[i], &shown);
  fputs("</tbody></table></div>\n", file);
  put_reasons(page, file);
  fputs("</section>\n", file);
}
