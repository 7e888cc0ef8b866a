/* The table of all rows, which the script of the page makes sortable and lets one filter. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/units.h"
#include "cli/page/parts.h"
#include "cli/report/columns.h"

/* A cell: its text, and the number that it is sorted by (NAN: by its text). */
struct column_cell {
  char text[TEXT_CELL_MAX];
  double number;
};

static double source_of(const struct page *page, const struct merge_row *row) {
  (void)page;
  return (double)row->source + 1;
}

static double width_of(const struct page *page, const struct merge_row *row) {
  (void)page;
  const struct process_interval us = rows_interval_of(row, TIME_HOT);
  return rows_time(row, TIME_HOT) != NULL ? 50 * (us.high_us - us.low_us) / us.median_us : (double)NAN;
}

/* Where DRAM bounds the row, its rate is that of bytes. */
static double bandwidth_of(const struct page *page, const struct merge_row *row) {
  const struct mode_metrics *metrics = &row->row->metrics.mode[TIME_HOT];
  return rows_is_memory_bound(page, row) && metrics->known ? metrics->gb_per_s : (double)NAN;
}

static double clock_of(const struct page *page, const struct merge_row *row) {
  (void)page;
  const struct time_record *time = rows_time(row, TIME_HOT);
  return time != NULL ? time->sm_clock_mhz : (double)NAN;
}

/* Behind case and variant. The first is for pages of several sources alone. */
static const struct column {
  const char *heading, *unit;
  bool is_minor; /* goes first where a crowded table lacks width */
  enum columns_id id;
  double (*number)(const struct page *, const struct merge_row *); /* NULL: what `id` names */
  int decimals;                                                    /* of such a number */
} columns[] = {
    {"source", "", false, 0, source_of, 0},
    {"hot", "us", false, COLUMNS_HOT, NULL, 0},
    {"&plusmn;", "% of hot", false, 0, width_of, 2},
    {"cold", "us", false, COLUMNS_COLD, NULL, 0},
    {"steady", "us", false, COLUMNS_STEADY, NULL, 0},
    {"rate", "TFLOP/s", false, COLUMNS_RATE, NULL, 0},
    {"rate", "GB/s", false, 0, bandwidth_of, 0},
    {"roof", "% of peak", false, COLUMNS_ROOF, NULL, 0},
    {"steady", "TFLOP/s", false, COLUMNS_STEADY_RATE, NULL, 0},
    {"power", "W", false, COLUMNS_POWER, NULL, 0},
    {"energy", "pJ/FLOP", false, COLUMNS_ENERGY, NULL, 0},
    {"vs ref", "hot", false, COLUMNS_SPEEDUP, NULL, 0},
    {"vs ref", "kernel", false, COLUMNS_KERNEL, NULL, 0},
    {"vs ref", "steady", false, COLUMNS_STEADY_SPEEDUP, NULL, 0},
    {"blocks", "", true, COLUMNS_BLOCKS, NULL, 0},
    {"waves", "", true, COLUMNS_WAVES, NULL, 0},
    {"clock", "MHz", true, 0, clock_of, 0},
    {"error", "max abs", true, COLUMNS_ERROR, NULL, 0},
};
enum { COLUMN_SOURCE, COLUMN_HOT, COLUMN_COUNT = sizeof columns / sizeof *columns, CROWDED = 13 };
/* The rows with a time for each one that DRAM bounds, at most, so that bytes have a column; the data of the figure of
 * rates has them for all rows. */
enum { ROWS_PER_BANDWIDTH_MAX = 4 };

static struct column_cell cell_of(const struct page *page, const struct merge_row *row, size_t column) {
  const enum cell_status status = row->row->record->status;
  const bool is_timed = record_is_timed(row->row->record);
  struct column_cell cell;
  if (columns[column].number != NULL) {
    cell.number = columns[column].number(page, row);
    units_format_fixed(cell.number, columns[column].decimals, cell.text);
    return cell;
  }
  cell.number = columns_number(row->row, columns[column].id);
  columns_text(row->row, columns[column].id, cell.text);
  /* What has no time at all says so in one word. */
  if (column == COLUMN_HOT && (status != CELL_ok || !is_timed))
    snprintf(cell.text, sizeof cell.text, "%s", cell_status_name(status));
  return cell;
}

/* Which columns are shown: the first where there are several sources, the others where rows fill them. */
struct shown {
  bool column[COLUMN_COUNT];
  bool is_constant[COLUMN_COUNT]; /* a minor column that would say the same in each row that fills it */
  size_t count;
};

/* Classes of style.css. */
static const char *style_of(const struct shown *shown, size_t column) {
  return shown->count >= CROWDED && columns[column].is_minor ? "n minor" : "n";
}

static bool is_constant(const struct page *page, size_t column, size_t filled) {
  char first[TEXT_CELL_MAX] = "";
  if (!columns[column].is_minor || filled < 2) return false;
  for (size_t i = 0; i < page->row_count; ++i) {
    const struct column_cell cell = cell_of(page, &page->rows[i], column);
    if (!isfinite(cell.number)) continue;
    if (first[0] != '\0' && strcmp(first, cell.text) != 0) return false;
    snprintf(first, sizeof first, "%s", cell.text);
  }
  return true;
}

static struct shown columns_shown(const struct page *page) {
  struct shown shown = {{page->source_count > 1}, {false}, page->source_count > 1};
  size_t timed = 0;
  for (size_t i = 0; i < page->row_count; ++i) timed += rows_time(&page->rows[i], TIME_HOT) != NULL;
  for (size_t c = 1; c < COLUMN_COUNT; ++c) {
    size_t filled = 0;
    for (size_t i = 0; i < page->row_count; ++i) filled += isfinite(cell_of(page, &page->rows[i], c).number);
    shown.is_constant[c] = is_constant(page, c, filled);
    shown.column[c] = c == COLUMN_HOT || (filled > 0 && !shown.is_constant[c]);
    if (columns[c].number == bandwidth_of && filled * ROWS_PER_BANDWIDTH_MAX < timed) shown.column[c] = false;
    shown.count += shown.column[c];
  }
  return shown;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static void put_headings(FILE *file, const struct shown *shown) {
  fputs(
      "<thead><tr><th scope=\"col\" data-sort=\"number\">case</th><th scope=\"col\" data-sort=\"text\">variant</th>",
      file);
  for (size_t i = 0; i < COLUMN_COUNT; ++i) {
    if (!shown->column[i]) continue;
    fprintf(file, "<th scope=\"col\" data-sort=\"number\" class=\"%s\">%s", style_of(shown, i), columns[i].heading);
    if (columns[i].unit[0] != '\0') fprintf(file, " <small>%s</small>", columns[i].unit);
    fputs("</th>", file);
  }
  fputs("<th scope=\"col\" data-sort=\"number\">findings</th></tr></thead>\n<tbody>\n", file);
}

/* The worst one with a link to where it is told, as the others are. */
static void put_findings(FILE *file, const struct merge_row *row) {
  const size_t count = row->row->findings.count;
  fprintf(file, "<td data-value=\"%zu\"%s>", count, count > 0 ? " data-label=\"findings\"" : "");
  if (count > 0) {
    const char *name = finding_name(row->row->findings.item[0].id);
    fprintf(file, "<a href=\"#finding-%s-%zu\">%s</a>", name, row->series, name);
  }
  if (count > 1) fprintf(file, " <small>+%zu</small>", count - 1);
  fputs("</td>", file);
}

/* On a narrow page, where a row is a card, the cell says what it is, and is not shown where it is not known. */
static void put_cell(FILE *file, const struct column_cell *cell, const char *style, size_t column, bool is_strong) {
  char styles[64];
  snprintf(styles, sizeof styles, "%s%s", style, isfinite(cell->number) || column == COLUMN_HOT ? "" : " unknown");
  html_labelled_cell(file, styles, columns[column].heading, columns[column].unit, cell->number);
  html_element(file, is_strong ? "strong" : "span", cell->text);
  fputs("</td>", file);
}

static bool row_failed(const struct record *record) {
  return record->status != CELL_ok && record->status != CELL_planned && record->status != CELL_skipped;
}

static void put_row(const struct page *page, FILE *file, const struct merge_row *row, const struct shown *shown) {
  const struct record *record = row->row->record;
  fprintf(file, "<tr id=\"row-%zu\" data-series=\"%zu\" data-status=\"%s\"%s", row->number, row->series,
          cell_status_name(record->status),
          row->leads_case      ? " class=\"fastest\""
          : row_failed(record) ? " class=\"failed\""
                               : "");
  html_put(file, " data-key=\"%s\"><th scope=\"row\" data-value=\"%zu\">", record->attn_case.key, row->case_number);
  html_breakable(file, record->attn_case.key);
  fprintf(file, "</th><td class=\"%s\"><i class=\"chip\"></i><span>", rows_series_style(page, row->series).text);
  html_breakable(file, record->variant);
  fputs("</span>", file);
  if (record->picked[0] != '\0') html_put(file, " <small>%s</small>", record->picked);
  fputs(row->leads_case ? " <small class=\"mark-fastest\">fastest</small></td>" : "</td>", file);
  for (size_t i = 0; i < COLUMN_COUNT; ++i) {
    if (!shown->column[i]) continue;
    const struct column_cell cell = cell_of(page, row, i);
    put_cell(file, &cell, style_of(shown, i), i, i == COLUMN_HOT && (row->leads_case || row_failed(record)));
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
    if (report_has_speedup(page->rows[i].row)) return speedup->reference;
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

/* " Not in the table, since equal in all rows that have it: blocks 132, waves 1.00." */
static void put_constants(const struct page *page, FILE *file, const struct shown *shown) {
  size_t told = 0;
  for (size_t c = 1; c < COLUMN_COUNT; ++c) {
    size_t row = 0;
    if (!shown->is_constant[c]) continue;
    while (!isfinite(cell_of(page, &page->rows[row], c).number)) ++row;
    fprintf(file, "%s%s ", told++ == 0 ? " Not in the table, since equal in all rows that have it: " : ", ",
            columns[c].heading);
    html_put(file, "%s%s%s", cell_of(page, &page->rows[row], c).text, columns[c].unit[0] != '\0' ? " " : "",
             columns[c].unit);
  }
  if (told > 0) fputs(".", file);
}

static void put_notes(const struct page *page, FILE *file, const struct shown *shown) {
  const char *reference = reference_of(page);
  size_t injected = 0;
  for (size_t i = 0; i < page->row_count; ++i) injected += page->rows[i].row->record->injected.done;
  fputs("<p>", file);
  put_intervals(page, file);
  if (reference != NULL)
    html_put(
        file,
        " vs ref is the hot time of <code>%s</code> over the row's, the two measured in turns: above 1 the row is "
        "faster. ~ marks a ratio that still moved when the time for it was over; kernel: without what a launch "
        "holds beside its kernels.",
        reference);
  if (injected > 0) fprintf(file, " %zu rows were slowed down on purpose (--inject-slowdown).", injected);
  put_constants(page, file, shown);
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
    html_put(file, "<li><a href=\"#row-%zu\">%s</a>: ", page->rows[i].number, cell_status_name(record->status));
    html_breakable(file, record->attn_case.key);
    html_put(file, " <code>%s</code>: %s</li>\n", record->variant, record->reason);
  }
  if (any) fputs("</ul></details>\n", file);
}

static bool is_bounded(const struct merge_row *row) { return row->row->leads_case && row->row->bound_by.known; }

static void put_bounds(const struct page *page, FILE *file) {
  if (!rows_any(page, is_bounded)) return;
  fputs("<details class=\"reasons\" open><summary>What bounds the fastest row of each case</summary><ul>\n", file);
  for (size_t i = 0; i < page->row_count; ++i) {
    const struct report_row *row = page->rows[i].row;
    if (!is_bounded(&page->rows[i])) continue;
    fprintf(file, "<li><a href=\"#row-%zu\">", page->rows[i].number);
    html_breakable(file, row->record->attn_case.key);
    html_put(file, "</a> <code>%s</code> (%s): %s</li>\n", row->record->variant, time_mode_name(row->bound_by.mode),
             row->bound_by.text);
  }
  fputs("</ul></details>\n", file);
}

struct status table_part_write(const struct page *page, FILE *file) {
  fputs("<section id=\"rows\" class=\"cards\" aria-labelledby=\"rows-h\">\n<h2 id=\"rows-h\">Table</h2>\n", file);
  const struct shown shown = columns_shown(page);
  put_notes(page, file, &shown);
  fprintf(file,
          "<div class=\"scroll\" role=\"region\" aria-labelledby=\"rows-h\" tabindex=\"0\"><table class=\"sortable "
          "filtered\"><caption>All %zu rows</caption>",
          page->row_count);
  put_headings(file, &shown);
  for (size_t i = 0; i < page->row_count; ++i) put_row(page, file, &page->rows[i], &shown);
  fputs("</tbody></table></div>\n", file);
  put_bounds(page, file);
  put_reasons(page, file);
  fputs("</section>\n", file);
  return status_ok();
}
