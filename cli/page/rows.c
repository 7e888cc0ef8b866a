/* Gathers the rows of all sources of a page and answers what its parts ask of them. */
#include "cli/page/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/text.h"

/* ---- what the parts ask ---------------------------------------------------------------------------------------- */

struct page_name rows_series_text(const struct page *page, size_t index) {
  struct page_name out;
  const struct page_series *series = &page->series[index];
  if (page->source_count > 1) {
    snprintf(out.text, sizeof out.text, "%s (%zu)", series->variant, series->source + 1);
  } else {
    snprintf(out.text, sizeof out.text, "%s", series->variant);
  }
  return out;
}

struct page_name rows_series_style(const struct page *page, size_t index) {
  const struct page_series *series = &page->series[index];
  struct page_name out;
  snprintf(out.text, sizeof out.text, "c%zu d%zu%s%s", series->number % PAGE_COLOURS,
           rows_series_round(series) % PAGE_DASHES, series->is_reference ? " ref" : "",
           series->is_twin ? " twin" : "");
  return out;
}

size_t rows_series_round(const struct page_series *series) { return series->source + series->number / PAGE_COLOURS; }

const struct time_record *rows_time(const struct merge_row *row, enum time_mode mode) {
  const struct time_record *time = &row->row->record->time[mode];
  return time->done ? time : NULL;
}

struct process_interval rows_interval_of(const struct merge_row *row, enum time_mode mode) {
  const struct process_interval over = row->row->between[mode];
  const struct stats *within = &row->row->record->time[mode].us;
  if (over.processes > 0) return over;
  return (struct process_interval){.median_us = within->median, .low_us = within->ci_low, .high_us = within->ci_high};
}

bool rows_any(const struct page *page, bool (*is)(const struct merge_row *)) {
  for (size_t i = 0; i < page->row_count; ++i) {
    if (is(&page->rows[i])) return true;
  }
  return false;
}

size_t rows_pick(const struct page *page, bool (*is)(const struct merge_row *),
                 int (*compare)(const void *left, const void *right), const struct merge_row **out) {
  size_t count = 0;
  for (size_t i = 0; i < page->row_count; ++i) {
    if (is(&page->rows[i])) out[count++] = &page->rows[i];
  }
  qsort(out, count, sizeof *out, compare);
  return count;
}

const struct merge_row *rows_find(const struct page *page, size_t source, const char *key, const char *variant) {
  for (size_t i = 0; i < page->row_count; ++i) {
    const struct merge_row *row = &page->rows[i];
    if (row->source == source && record_is_cell(row->row->record, key, variant)) return row;
  }
  return NULL;
}

const struct attn_problem *rows_shape(const struct merge_row *row) { return &row->row->record->attn_case.shape; }

int rows_compare_lengths(const struct attn_problem *a, const struct attn_problem *b) {
  return SORTING_FIRST(SORTING_ORDER(a->Sq, b->Sq), SORTING_ORDER(a->Skv, b->Skv));
}

static struct attn_problem without_mask(const struct attn_problem *shape) {
  struct attn_problem full = *shape;
  full.left = full.right = -1;
  return full;
}

int rows_compare_unmasked(const struct attn_problem *a, const struct attn_problem *b) {
  const struct attn_problem x = without_mask(a), y = without_mask(b);
  return SORTING_FIRST(SORTING_ORDER(a->D, b->D), SORTING_ORDER(a->dtype, b->dtype),
                       SORTING_ORDER(a->Hq / a->Hkv, b->Hq / b->Hkv), axes_compare_traits(&x, &y));
}

/* Keys on one side of a row's own. */
static uint64_t reach_of(int64_t bound) { return bound < 0 ? UINT64_MAX : (uint64_t)bound; }

int rows_compare_masks(const struct attn_problem *a, const struct attn_problem *b) {
  return SORTING_FIRST(SORTING_ORDER(reach_of(a->right), reach_of(b->right)),
                       SORTING_ORDER(reach_of(a->left), reach_of(b->left)));
}

bool rows_has_window(const struct attn_problem *shape) { return shape->left >= 0 || shape->right > 0; }

int rows_compare_kinds(const struct attn_problem *a, const struct attn_problem *b) {
  return SORTING_FIRST(rows_compare_unmasked(a, b), rows_compare_masks(b, a));
}

void rows_kind_text(const struct attn_problem *shape, char *out, size_t size) {
  char traits[AXIS_TRAITS_MAX];
  axes_traits(shape, traits);
  snprintf(out, size, "D %" PRIu32 ", %s", shape->D, traits);
  if (shape->Hq != shape->Hkv)
    text_append(out, size, ", %" PRIu32 " query heads per KV head", shape->Hq / shape->Hkv);
}

static void put_part(char *out, const char *part, size_t length) {
  const size_t used = strlen(out);
  snprintf(out + used, ROWS_TEXT_MAX - used, "%s%.*s", used > 0 ? ", " : "", (int)length, part);
}

static bool has_part(const char *text, const char *part, size_t length) {
  for (; text[0] != '\0'; text += strcspn(text, ","), text += strspn(text, ", ")) {
    if (strcspn(text, ",") == length && strncmp(text, part, length) == 0) return true;
  }
  return false;
}

void rows_parts(const char *text, const char *other, bool shared, char out[ROWS_TEXT_MAX]) {
  char chosen[ROWS_TEXT_MAX] = "";
  for (; text[0] != '\0'; text += strcspn(text, ","), text += strspn(text, ", ")) {
    const size_t length = strcspn(text, ",");
    if (has_part(other, text, length) == shared) put_part(chosen, text, length);
  }
  memcpy(out, chosen, sizeof chosen);
}

static void put_case(const struct attn_problem *shape, char out[ROWS_TEXT_MAX]) {
  rows_kind_text(shape, out, ROWS_TEXT_MAX);
  text_append(out, ROWS_TEXT_MAX, ", B %" PRIu32 ", H %" PRIu32, shape->B, shape->Hq);
  if (shape->Sq == shape->Skv) {
    text_append(out, ROWS_TEXT_MAX, ", S %" PRIu32, shape->Sq);
  } else {
    text_append(out, ROWS_TEXT_MAX, ", %" PRIu32 " %s, %" PRIu32 " keys", shape->Sq,
                shape->Sq == 1 ? "query" : "queries", shape->Skv);
  }
}

void rows_share(const struct attn_problem *shape, bool is_first, char common[ROWS_TEXT_MAX]) {
  char text[ROWS_TEXT_MAX];
  put_case(shape, text);
  rows_parts(is_first ? text : common, text, true, common);
}

void rows_rest(const struct attn_problem *shape, const char *common, char out[ROWS_TEXT_MAX]) {
  put_case(shape, out);
  rows_parts(out, common, false, out);
}

static bool has_roof(const struct merge_row *row, enum time_mode mode, enum roof_kind roof) {
  const struct mode_metrics *metrics = &row->row->metrics.mode[mode];
  return metrics_has_roof(metrics) && metrics->roof == roof;
}

/* With an L2 that holds nothing, at least. */
static bool is_dram_bound(const struct merge_row *row) {
  return has_roof(row, TIME_HOT, ROOF_DRAM) || has_roof(row, TIME_COLD, ROOF_DRAM) ||
         has_roof(row, TIME_STEADY, ROOF_DRAM);
}

static bool is_tensor_bound(const struct merge_row *row) {
  return !is_dram_bound(row) && (has_roof(row, TIME_HOT, ROOF_TENSOR) || has_roof(row, TIME_HOT, ROOF_TENSOR_E4M3));
}

bool rows_is_memory_bound(const struct page *page, const struct merge_row *row) {
  return page->is_memory_bound ? is_dram_bound(row) : has_roof(row, TIME_HOT, ROOF_DRAM);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static size_t series_of(struct page *page, const struct merge_row *row) {
  const char *variant = row->row->record->variant;
  size_t i = 0;
  while (i < page->series_count &&
         (page->series[i].source != row->source || strcmp(page->series[i].variant, variant) != 0))
    ++i;
  if (i == page->series_count)
    page->series[page->series_count++] =
        (struct page_series){.variant = variant, .source = row->source, .is_twin = true};
  if (record_is_timed(row->row->record) && !row->row->is_twin) page->series[i].is_twin = false;
  return i;
}

static void number_series(struct page *page) {
  size_t next = 0;
  for (size_t i = 0; i < page->series_count; ++i) {
    struct page_series *series = &page->series[i];
    size_t first = 0;
    while (strcmp(page->series[first].variant, series->variant) != 0 ||
           page->series[first].is_twin != series->is_twin)
      ++first;
    series->number = first < i ? page->series[first].number : series->is_twin ? 0 : next++;
  }
}

static void mark_reference(struct page *page, const struct merge_row *row) {
  const struct speedup_record *speedup = &row->row->record->speedup;
  if (!report_has_speedup(row->row)) return;
  for (size_t i = 0; i < page->series_count; ++i) {
    struct page_series *series = &page->series[i];
    if (series->source == row->source && strcmp(series->variant, speedup->reference) == 0)
      series->is_reference = true;
  }
}

struct status rows_gather(const struct merge *merge, const struct compare *compare, struct page *out) {
  const size_t count = merge->row_count;
  *out = (struct page){.source = merge->source, .source_count = merge->source_count, .compare = compare};
  TRY(owned_array(&out->rows, count, sizeof *out->rows, "rows of a page"));
  TRY(owned_array(&out->series, count, sizeof *out->series, "series of a page"));
  for (; out->row_count < count; ++out->row_count) {
    struct merge_row *row = &out->rows[out->row_count];
    *row = merge->rows[out->row_count];
    row->series = series_of(out, row);
  }
  number_series(out);
  out->is_memory_bound = !rows_any(out, is_tensor_bound);
  for (size_t i = 0; i < count; ++i) mark_reference(out, &out->rows[i]);
  return status_ok();
}

void rows_free(struct page *page) {
  free(page->rows);
  free(page->series);
  *page = (struct page){.row_count = 0};
}
