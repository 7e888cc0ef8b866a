/* Gathers the rows of all sources of a page and answers what its parts ask of them. */
#include "cli/page/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the parts ask ---------------------------------------------------------------------------------------- */

void rows_series_text(const struct page *page, size_t index, char out[PAGE_NAME_MAX]) {
  const struct page_series *series = &page->series[index];
  if (page->source_count > 1) {
    snprintf(out, PAGE_NAME_MAX, "%s (%zu)", series->variant, series->source + 1);
  } else {
    snprintf(out, PAGE_NAME_MAX, "%s", series->variant);
  }
}

bool rows_is_same_device(const struct page_row *a, const struct page_row *b) {
  const struct device_info *left = a->row->device, *right = b->row->device;
  return left->sms == right->sms && left->kind == right->kind && strcmp(left->name, right->name) == 0;
}

const struct time_record *rows_time(const struct page_row *row, enum time_mode mode) {
  const struct time_record *time = &row->row->record->time[mode];
  return time->done ? time : NULL;
}

struct page_interval rows_interval_of(const struct page_row *row, enum time_mode mode) {
  const struct process_interval over = process_interval_of(&row->row->record->process[mode]);
  const struct stats *within = &row->row->record->time[mode].us;
  if (over.processes == 0) return (struct page_interval){0, within->median, within->ci_low, within->ci_high};
  return (struct page_interval){over.processes, over.median_us, over.low_us, over.high_us};
}

const struct page_row *rows_find(const struct page *page, size_t source, const char *key, const char *variant) {
  for (size_t i = 0; i < page->row_count; ++i) {
    const struct page_row *row = &page->rows[i];
    if (row->source == source && record_is_cell(row->row->record, key, variant)) return row;
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

static void mark_fastest(struct page *page, size_t index) {
  struct page_row *row = &page->rows[index];
  const struct time_record *time = rows_time(row, TIME_HOT);
  size_t first = index;
  while (first > 0 && page->rows[first - 1].case_number == row->case_number) --first;
  row->is_fastest = time != NULL && !row->row->is_twin;
  for (size_t i = first; i < page->row_count && page->rows[i].case_number == row->case_number; ++i) {
    const struct time_record *other = rows_time(&page->rows[i], TIME_HOT);
    if (row->is_fastest && other != NULL && other->us.median < time->us.median &&
        rows_is_same_device(row, &page->rows[i]) && !page->rows[i].row->is_twin)
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

static bool make_room(struct page *page, size_t rows) {
  page->rows = calloc(rows + 1, sizeof *page->rows);
  page->series = calloc(rows + 1, sizeof *page->series);
  return page->rows != NULL && page->series != NULL;
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

struct status rows_gather(struct page *page) {
  size_t rows = 0;
  for (size_t i = 0; i < page->source_count; ++i) rows += page->source[i].report->row_count;
  if (!make_room(page, rows)) {
    rows_free(page);
    return status_make(STATUS_MEMORY, "no memory for a page of %zu rows", rows);
  }
  add_rows(page);
  finish_rows(page);
  return status_ok();
}

void rows_free(struct page *page) {
  free(page->rows);
  free(page->series);
  page->rows = NULL;
  page->series = NULL;
}
