/* Prints several reports side by side. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/report/merge.h"

enum { PARAGRAPH_MAX = 1024 };

/* ---- cells --------------------------------------------------------------------------------------------------- */

static const struct merge_row *row_of(const void *row) { return row; }

static void cell_key(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", row_of(row)->key);
}

static void cell_variant(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", row_of(row)->variant);
}

static void cell_source(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%zu", row_of(row)->source_number);
}

static void cell_device(const void *row, char out[TEXT_CELL_MAX]) {
  const char *device = row_of(row)->source->device;
  snprintf(out, TEXT_CELL_MAX, "%s", device != NULL ? device : "-");
}

static void cell_status_text(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", row_of(row)->status);
}

static void cell_hot(const void *row, char out[TEXT_CELL_MAX]) { units_format(row_of(row)->us[TIME_HOT], out); }
static void cell_cold(const void *row, char out[TEXT_CELL_MAX]) { units_format(row_of(row)->us[TIME_COLD], out); }
static void cell_rate(const void *row, char out[TEXT_CELL_MAX]) { units_format(row_of(row)->tflop_per_s, out); }
static void cell_ratio(const void *row, char out[TEXT_CELL_MAX]) {
  units_format_fixed(row_of(row)->best_ratio, 2, out);
}
static void cell_error(const void *row, char out[TEXT_CELL_MAX]) {
  units_format_exponent(row_of(row)->max_abs_error, out);
}

/* The device is the last column, so that it can be left out. */
static const struct text_column columns[] = {
    {"case", "", true, 24, cell_key},           {"variant", "", true, 12, cell_variant},
    {"source", "", false, 0, cell_source},      {"status", "", true, 0, cell_status_text},
    {"hot", "us", false, 0, cell_hot},          {"cold", "us", false, 0, cell_cold},
    {"rate", "TFLOP/s", false, 0, cell_rate},   {"hot", "x best", false, 0, cell_ratio},
    {"error", "max abs", false, 0, cell_error}, {"device", "", true, 12, cell_device},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

/* ---- parts --------------------------------------------------------------------------------------------------- */

static void print_source(FILE *file, const struct merge *merge, size_t index) {
  const struct merge_source *source = &merge->source[index];
  char lead[24], text[PARAGRAPH_MAX], device[192] = "nothing measured";
  if (source->device != NULL) {
    snprintf(device, sizeof device, "%s, %" PRIu64 " %s", source->device, source->sms,
             strcmp(source->device_kind, "cpu") == 0 ? "threads" : "SMs");
  }
  snprintf(lead, sizeof lead, "source %zu  ", index + 1);
  snprintf(text, sizeof text, "%s: %s %s; sweep %s; %s; seed %" PRIu64, source->doc.path, source->tool,
           source->version, source->sweep, device, source->seed);
  text_wrap(file, lead, strlen(lead), text);
}

static bool seeds_differ(const struct merge *merge) {
  for (size_t i = 1; i < merge->source_count; ++i) {
    if (merge->source[i].seed != merge->source[0].seed) return true;
  }
  return false;
}

/* Does an earlier row of this source say the same? */
static bool is_repeated(const struct merge *merge, size_t index) {
  const struct merge_row *row = &merge->rows[index];
  for (size_t i = 0; i < index; ++i) {
    const struct merge_row *other = &merge->rows[i];
    if (other->source == row->source && strcmp(other->variant, row->variant) == 0 &&
        strcmp(other->reason, row->reason) == 0) {
      return true;
    }
  }
  return false;
}

static void print_reasons(FILE *file, const struct merge *merge) {
  char lead[64], text[PARAGRAPH_MAX];
  for (size_t i = 0; i < merge->row_count; ++i) {
    const struct merge_row *row = &merge->rows[i];
    if (row->reason[0] == '\0' || strcmp(row->status, cell_status_name(CELL_planned)) == 0) continue;
    if (is_repeated(merge, i)) continue;
    snprintf(lead, sizeof lead, "%s: ", row->status);
    snprintf(text, sizeof text, "%s of source %zu: %s", row->variant, row->source_number, row->reason);
    text_wrap(file, lead, strlen(lead), text);
  }
}

struct status merge_text_write(const struct merge *merge, FILE *file) {
  const void **rows = malloc((merge->row_count + 1) * sizeof *rows);
  if (rows == NULL) return status_make(STATUS_MEMORY, "no memory for a table of %zu rows", merge->row_count);
  for (size_t i = 0; i < merge->row_count; ++i) rows[i] = &merge->rows[i];
  for (size_t i = 0; i < merge->source_count; ++i) print_source(file, merge, i);
  fputc('\n', file);
  const size_t column_count = merge->mixed_devices ? COLUMN_COUNT : COLUMN_COUNT - 1;
  const bool cut = text_table_print(file, columns, column_count, rows, merge->row_count);
  fprintf(file, "x best = hot median over the smallest of its case%s\n",
          merge->mixed_devices ? " on the same device; times of unlike devices are not compared" : "");
  if (seeds_differ(merge)) fputs("the seeds differ: these are not the same inputs\n", file);
  if (cut) fputs("~ marks a name cut to fit\n", file);
  print_reasons(file, merge);
  free(rows);
  return status_ok();
}
