/* Gathers the rows of all sources and writes the parts of the page in order. */
#include "cli/page/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/page/assets.h"
#include "cli/page/html.h"
#include "cli/page/parts.h"

/* ---- what the parts ask ---------------------------------------------------------------------------------------- */

void page_case_text(const struct attn_shape *s, char out[PAGE_CASE_MAX]) {
  char heads[16] = "", keys[16] = "";
  if (s->Hkv != s->Hq) snprintf(heads, sizeof heads, "/%" PRIu32, s->Hkv);
  if (s->Skv != s->Sq) snprintf(keys, sizeof keys, "x%" PRIu32, s->Skv);
  snprintf(out, PAGE_CASE_MAX, "%" PRIu32 ",%" PRIu32 "%s,%" PRIu32 "%s,%" PRIu32 ",%s,%s", s->B, s->Hq, heads, s->Sq,
           keys, s->D, attn_dtype_name(s->dtype), s->causal ? "causal" : "full");
}

void page_series_text(const struct page *page, size_t index, char out[PAGE_NAME_MAX]) {
  const struct page_series *series = &page->series[index];
  if (page->source_count > 1) {
    snprintf(out, PAGE_NAME_MAX, "%s (%zu)", series->variant, series->source + 1);
  } else {
    snprintf(out, PAGE_NAME_MAX, "%s", series->variant);
  }
}

bool page_is_same_device(const struct page_row *a, const struct page_row *b) {
  const struct device_info *left = a->row->device, *right = b->row->device;
  return left->sms == right->sms && left->kind == right->kind && strcmp(left->name, right->name) == 0;
}

const struct time_record *page_time(const struct page_row *row, enum time_mode mode) {
  const struct time_record *time = &row->row->record->time[mode];
  return time->done ? time : NULL;
}

struct page_interval page_interval_of(const struct page_row *row, enum time_mode mode) {
  const struct process_interval over = process_interval_of(&row->row->record->process[mode]);
  const struct stats *within = &row->row->record->time[mode].us;
  if (over.processes == 0) return (struct page_interval){0, within->median, within->ci_low, within->ci_high};
  return (struct page_interval){over.processes, over.median_us, over.low_us, over.high_us};
}

const struct page_row *page_find(const struct page *page, size_t source, const char *key, const char *variant) {
  for (size_t i = 0; i < page->row_count; ++i) {
    const struct record *record = page->rows[i].row->record;
    if (page->rows[i].source == source && strcmp(record->attn_case.key, key) == 0 &&
        strcmp(record->variant, variant) == 0) {
      return &page->rows[i];
    }
  }
  return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static size_t series_of(struct page *page, const struct page_row *row) {
  const char *variant = row->row->record->variant;
  size_t number = 0;
  bool known = false;
  for (size_t i = 0; i < page->series_count; ++i) {
    const bool same = strcmp(page->series[i].variant, variant) == 0;
    if (same && page->series[i].source == row->source) return i;
    if (same) known = true;
    if (same || (!known && page->series[i].number >= number)) {
      number = same ? page->series[i].number : page->series[i].number + 1;
    }
  }
  page->series[page->series_count] =
      (struct page_series){.variant = variant, .source = row->source, .number = number};
  return page->series_count++;
}

static void mark_reference(struct page *page, const struct page_row *row) {
  const struct speedup_record *speedup = &row->row->record->speedup;
  if (!report_has_speedup(speedup)) return;
  for (size_t i = 0; i < page->series_count; ++i) {
    struct page_series *series = &page->series[i];
    if (series->source == row->source && strcmp(series->variant, speedup->reference) == 0)
      series->is_reference = true;
  }
}

/* Rows of a case are neighbours. */
static void mark_fastest(struct page *page, size_t index) {
  struct page_row *row = &page->rows[index];
  const struct time_record *time = page_time(row, TIME_HOT);
  size_t first = index;
  while (first > 0 && page->rows[first - 1].case_number == row->case_number) --first;
  row->is_fastest = time != NULL;
  for (size_t i = first; i < page->row_count && page->rows[i].case_number == row->case_number; ++i) {
    const struct time_record *other = page_time(&page->rows[i], TIME_HOT);
    if (row->is_fastest && other != NULL && other->us.median < time->us.median &&
        page_is_same_device(row, &page->rows[i]))
      row->is_fastest = false;
  }
}

static void finish_rows(struct page *page) {
  for (size_t i = 0; i < page->row_count; ++i) {
    page->rows[i].number = i + 1;
    page->rows[i].series = series_of(page, &page->rows[i]);
  }
  for (size_t i = 0; i < page->row_count; ++i) {
    mark_reference(page, &page->rows[i]);
    mark_fastest(page, i);
  }
}

static struct status no_memory(size_t rows) {
  return status_make(STATUS_MEMORY, "no memory for a page of %zu rows", rows);
}

static bool make_room(struct page *page, size_t rows) {
  page->rows = calloc(rows + 1, sizeof *page->rows);
  page->series = calloc(rows + 1, sizeof *page->series);
  return page->rows != NULL && page->series != NULL;
}

static void add_source(struct page *page, const char *path, const struct report *report) {
  page->source[page->source_count++] = (struct page_source){path, report};
}

static const char *key_of(const struct page_row *row) { return row->row->record->attn_case.key; }

static int compare_keys(const void *left, const void *right) {
  const struct page_row *a = left, *b = right;
  const int by_key = strcmp(key_of(a), key_of(b));
  return by_key != 0 ? by_key : (a->number > b->number) - (a->number < b->number);
}

static int compare_rows(const void *left, const void *right) {
  const struct page_row *a = left, *b = right;
  if (a->case_number != b->case_number) return a->case_number < b->case_number ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

/* In order of first appearance, case by case, so that what is compared stands together. */
static void order_rows(struct page *page) {
  qsort(page->rows, page->row_count, sizeof *page->rows, compare_keys);
  for (size_t i = 0; i < page->row_count; ++i) {
    struct page_row *row = &page->rows[i];
    const bool is_new = i == 0 || strcmp(key_of(row), key_of(row - 1)) != 0;
    row->case_number = is_new ? row->number : page->rows[i - 1].case_number;
  }
  qsort(page->rows, page->row_count, sizeof *page->rows, compare_rows);
}

static void add_rows(struct page *page) {
  for (size_t s = 0; s < page->source_count; ++s) {
    for (size_t i = 0; i < page->source[s].report->row_count; ++i) {
      const struct report_row *row = &page->source[s].report->rows[i];
      page->rows[page->row_count] = (struct page_row){.row = row, .source = s, .number = page->row_count};
      ++page->row_count;
    }
  }
  order_rows(page);
}

/* ---- the page -------------------------------------------------------------------------------------------------- */

/* "v3 on NVIDIA H200" */
static void put_title(const struct page *page, FILE *file) {
  const struct journal_data *journal = page->source[page->source_count - 1].report->journal;
  html_text(file, page->compare != NULL ? "comparison of " : "");
  html_text(file, journal->run.sweep_name);
  fputs(" on ", file);
  html_text(file, journal->has_device ? journal->device.name : "no device");
}

static void put_opening(const struct page *page, FILE *file) {
  fputs(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>attnbench: ",
      file);
  put_title(page, file);
  fprintf(file, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", assets_style);
  fputs("<header>\n<p class=\"brand\">attnbench</p>\n<h1>", file);
  put_title(page, file);
  fputs("</h1>\n", file);
}

/* Links to the parts that are there. */
static void put_contents(const struct page *page, FILE *file) {
  const struct {
    const char *id, *name;
    bool is_there;
  } parts[] = {
      {"verdict", "Verdict", page->compare != NULL},
      {"rows", "Table", true},
      {"rate", "Rate", rate_figures_any(page)},
      {"latency", "Latency", rate_figures_any(page)},
      {"roofline", "Roofline", roofline_figure_any(page)},
      {"scaling", "Scaling", scaling_figure_any(page)},
      {"cold", "Cold and hot", cold_figure_any(page)},
      {"findings", "Findings", findings_part_any(page)},
  };
  fputs("<nav aria-label=\"Parts of this page\"><ul>", file);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (parts[i].is_there) fprintf(file, "<li><a href=\"#%s\">%s</a></li>", parts[i].id, parts[i].name);
  }
  fputs("</ul></nav>\n</header>\n<main>\n", file);
}

static struct status put_figures(const struct page *page, FILE *file) {
  if (rate_figures_any(page)) TRY(rate_figures_write(page, file));
  if (roofline_figure_any(page)) roofline_figure_write(page, file);
  if (scaling_figure_any(page)) TRY(scaling_figure_write(page, file));
  if (cold_figure_any(page)) cold_figure_write(page, file);
  return status_ok();
}

static struct status put_page(const struct page *page, FILE *file) {
  put_opening(page, file);
  head_write(page, file);
  put_contents(page, file);
  if (page->compare != NULL) verdict_part_write(page, file);
  table_part_write(page, file);
  TRY(put_figures(page, file));
  if (findings_part_any(page)) TRY(findings_part_write(page, file));
  fprintf(file, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", assets_script);
  return status_ok();
}

static struct status write_page(struct page *page, FILE *file) {
  size_t rows = 0;
  for (size_t i = 0; i < page->source_count; ++i) rows += page->source[i].report->row_count;
  struct status status = status_ok();
  if (make_room(page, rows)) {
    add_rows(page);
    finish_rows(page);
    status = put_page(page, file);
  } else {
    status = no_memory(rows);
  }
  free(page->rows);
  free(page->series);
  return status;
}

struct status page_write_report(const struct report *report, FILE *file) {
  struct page page = {.compare = NULL};
  add_source(&page, NULL, report);
  return write_page(&page, file);
}

struct status page_write_merge(const struct merge *merge, const struct compare *compare, FILE *file) {
  struct page page = {.compare = compare};
  for (size_t i = 0; i < merge->source_count; ++i) {
    add_source(&page, merge->source[i].path, &merge->source[i].report);
  }
  return write_page(&page, file);
}

/* base and now are built. */
static struct status write_compared(const struct compare *compare, const struct report *base,
                                    const struct report *now, FILE *file) {
  struct page page = {.compare = compare};
  add_source(&page, compare->base_path, base);
  add_source(&page, NULL, now);
  return write_page(&page, file);
}

static struct status write_with_base(const struct compare *compare, const struct report *base, FILE *file) {
  struct report now;
  TRY(report_build(compare->now, &now));
  const struct status status = write_compared(compare, base, &now, file);
  report_free(&now);
  return status;
}

struct status page_write_compare(const struct compare *compare, FILE *file) {
  struct report base;
  TRY(report_build(compare->base, &base));
  const struct status status = write_with_base(compare, &base, file);
  report_free(&base);
  return status;
}
