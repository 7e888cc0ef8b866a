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
static const struct record *record_of(const void *row) { return row_of(row)->row->record; }

static void cell_key(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", record_of(row)->attn_case.key);
}

static void cell_variant(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", record_of(row)->variant);
}

static void cell_source(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%zu", row_of(row)->source_number);
}

static void cell_device(const void *row, char out[TEXT_CELL_MAX]) {
  const struct journal_data *data = &row_of(row)->source->data;
  snprintf(out, TEXT_CELL_MAX, "%s", data->has_device ? data->device.name : "-");
}

static void cell_status_text(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", cell_status_name(record_of(row)->status));
}

static void cell_hot(const void *row, char out[TEXT_CELL_MAX]) { units_format(row_of(row)->us[TIME_HOT], out); }
static void cell_cold(const void *row, char out[TEXT_CELL_MAX]) { units_format(row_of(row)->us[TIME_COLD], out); }
static void cell_rate(const void *row, char out[TEXT_CELL_MAX]) {
  const struct mode_metrics *hot = &row_of(row)->row->metrics.mode[TIME_HOT];
  units_format(hot->known ? hot->tflop_per_s : (double)NAN, out);
}
static void cell_ratio(const void *row, char out[TEXT_CELL_MAX]) {
  units_format_fixed(row_of(row)->best_ratio, 2, out);
}
static void cell_error(const void *row, char out[TEXT_CELL_MAX]) {
  const struct check_record *check = &record_of(row)->check;
  units_format_exponent(check->done ? check->compare.max_abs_error : (double)NAN, out);
}

/* The rows of a case stand under its key. The fastest is marked, and what failed. */
static enum text_tone tone_of(const void *row) {
  if (cell_status_exit_code(record_of(row)->status) != EXIT_CODE_OK) return TEXT_BAD;
  return row_of(row)->is_fastest ? TEXT_BEST : TEXT_PLAIN;
}

/* The device is the last column, so that it can be left out. */
static const struct text_column columns[] = {
    {"variant", "", true, 0, 12, cell_variant},   {"source", "", false, 0, 0, cell_source},
    {"status", "", true, 0, 0, cell_status_text}, {"hot", "us", false, 0, 0, cell_hot},
    {"cold", "us", false, 2, 0, cell_cold},       {"rate", "TFLOP/s", false, 1, 0, cell_rate},
    {"hot", "x best", false, 0, 0, cell_ratio},   {"error", "max abs", false, 3, 0, cell_error},
    {"device", "", true, 0, 12, cell_device},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

/* ---- parts --------------------------------------------------------------------------------------------------- */

static void print_source(FILE *file, const struct merge *merge, size_t index) {
  const struct merge_source *source = &merge->source[index];
  const struct journal_data *data = &source->data;
  const struct run_info *run = &data->run;
  char lead[24], text[PARAGRAPH_MAX], device[192] = "nothing measured";
  if (data->has_device) {
    snprintf(device, sizeof device, "%s, %" PRIu32 " %s", data->device.name, data->device.sms,
             data->device.kind == DEVICE_CPU ? "threads" : "SMs");
  }
  snprintf(lead, sizeof lead, "source %zu  ", index + 1);
  snprintf(text, sizeof text, "%s: %s %s; sweep %s; %s; seed %" PRIu64, source->path,
           run->tool[0] != '\0' ? run->tool : "attnbench", run->version, run->sweep_name, device, run->seed);
  text_wrap(file, lead, strlen(lead), text);
}

static bool seeds_differ(const struct merge *merge) {
  for (size_t i = 1; i < merge->source_count; ++i) {
    if (merge->source[i].data.run.seed != merge->source[0].data.run.seed) return true;
  }
  return false;
}

/* Does an earlier row of this source say the same? */
static bool is_repeated(const struct merge *merge, size_t index) {
  const struct record *record = record_of(&merge->rows[index]);
  for (size_t i = 0; i < index; ++i) {
    const struct record *other = record_of(&merge->rows[i]);
    if (merge->rows[i].source == merge->rows[index].source && strcmp(other->variant, record->variant) == 0 &&
        strcmp(other->reason, record->reason) == 0) {
      return true;
    }
  }
  return false;
}

static void print_reasons(FILE *file, const struct merge *merge) {
  char lead[64], text[PARAGRAPH_MAX];
  for (size_t i = 0; i < merge->row_count; ++i) {
    const struct record *record = record_of(&merge->rows[i]);
    if (record->reason[0] == '\0' || record->status == CELL_planned || is_repeated(merge, i)) continue;
    snprintf(lead, sizeof lead, "%s: ", cell_status_name(record->status));
    snprintf(text, sizeof text, "%s of source %zu: %s", record->variant, merge->rows[i].source_number,
             record->reason);
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
  const struct text_table table = {.columns = columns,
                                   .column_count = column_count,
                                   .rows = rows,
                                   .row_count = merge->row_count,
                                   .group = cell_key,
                                   .tone = tone_of};
  const struct text_fit fit = text_table_write(file, &table);
  fprintf(file, "x best = hot median over the smallest of its case%s\n",
          merge->mixed_devices ? " on the same device; times of unlike devices are not compared" : "");
  if (seeds_differ(merge)) fputs("the seeds differ: these are not the same inputs\n", file);
  text_fit_print(file, &fit, "the reports");
  print_reasons(file, merge);
  free(rows);
  return status_ok();
}
