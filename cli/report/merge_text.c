/* Prints several reports side by side. */
#include <inttypes.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/base/units.h"
#include "cli/report/columns.h"
#include "cli/report/merge.h"

enum { PARAGRAPH_MAX = 1024 };

/* ---- cells --------------------------------------------------------------------------------------------------- */

static const struct merge_row *row_of(const void *row) { return row; }
static const struct record *record_of(const void *row) { return row_of(row)->row->record; }

/* The device is the last column, so that it can be left out. */
static const struct text_column columns[] = {
    {"variant", "", true, 0, 12},   {"source", "", false, 0, 0},       {"status", "", true, 0, 0},
    {"hot", "us", false, 0, 0},     {"cold", "us", false, 2, 0},       {"rate", "TFLOP/s", false, 1, 0},
    {"hot", "x best", false, 0, 0}, {"error", "max abs", false, 3, 0}, {"device", "", true, 0, 12},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static void fill_cells(const void *of, char cell[][TEXT_CELL_MAX]) {
  const struct merge_row *row = of;
  const struct journal_data *data = row->report->journal;
  char status[TEXT_CELL_MAX], rate[TEXT_CELL_MAX], error[TEXT_CELL_MAX];
  columns_text(row->row, COLUMNS_STATUS, status);
  columns_text(row->row, COLUMNS_RATE, rate);
  columns_text(row->row, COLUMNS_ERROR, error);
  TEXT_CELLS(cell, record_of(row)->variant, units_fixed((double)row->source + 1, 0).text, status,
             units_short(row->us[TIME_HOT]).text, units_short(row->us[TIME_COLD]).text, rate,
             units_fixed(row->best_ratio, 2).text, error, data->has_device ? data->device.name : NULL);
}

static void group_case(const void *row, char out[TEXT_CELL_MAX]) {
  columns_text(row_of(row)->row, COLUMNS_CASE, out);
}

/* The rows of a case stand under its key. The fastest is marked, and what failed. */
static enum text_tone tone_of(const void *row) {
  if (cell_status_exit_code(record_of(row)->status) != EXIT_CODE_OK) return TEXT_BAD;
  return row_of(row)->is_fastest ? TEXT_BEST : TEXT_PLAIN;
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

static void print_source(FILE *file, const struct merge *merge, size_t index) {
  const struct merge_source *source = &merge->source[index];
  const struct journal_data *data = source->report->journal;
  const struct run_info *run = &data->run;
  char lead[24], device[192] = "nothing measured", when[160] = "";
  if (data->has_device)
    snprintf(device, sizeof device, "%s, %" PRIu32 " %s", data->device.name, data->device.sms,
             data->device.kind == DEVICE_CPU ? "threads" : "SMs");
  snprintf(lead, sizeof lead, "source %zu  ", index + 1);
  if (run->started_utc[0] != '\0') snprintf(when, sizeof when, " (commit %s, %s)", run->git_commit, run->started_utc);
  text_paragraph(file, lead, "%s: %s %s%s; sweep %s; %s; seed %" PRIu64, source->path,
                 run->tool[0] != '\0' ? run->tool : "attnbench", run->version, when, run->sweep_name, device,
                 run->seed);
  if (report_origin(data)[0] != '\0') text_paragraph(file, "          ", "%s", report_origin(data));
}

static bool seeds_differ(const struct merge *merge) {
  for (size_t i = 1; i < merge->source_count; ++i) {
    if (merge->source[i].report->journal->run.seed != merge->source[0].report->journal->run.seed) return true;
  }
  return false;
}

/* Does an earlier row of this source say the same? */
static bool is_repeated(const struct merge *merge, size_t index) {
  const struct record *record = record_of(&merge->rows[index]);
  for (size_t i = 0; i < index; ++i) {
    const struct record *other = record_of(&merge->rows[i]);
    if (merge->rows[i].source == merge->rows[index].source && strcmp(other->variant, record->variant) == 0 &&
        strcmp(other->reason, record->reason) == 0)
      return true;
  }
  return false;
}

static void print_reasons(FILE *file, const struct merge *merge) {
  char lead[64];
  for (size_t i = 0; i < merge->row_count; ++i) {
    const struct record *record = record_of(&merge->rows[i]);
    if (record->reason[0] == '\0' || record->status == CELL_planned || is_repeated(merge, i)) continue;
    snprintf(lead, sizeof lead, "%s: ", cell_status_name(record->status));
    text_paragraph(file, lead, "%s of source %zu: %s", record->variant, merge->rows[i].source + 1, record->reason);
  }
}

/* Rows without times say nothing beside rows that have them. Returns how many rows are left. */
static size_t leave_planned_out(const struct merge *merge, struct merge_row *rows) {
  size_t count = 0;
  for (size_t i = 0; i < merge->row_count; ++i) {
    if (record_of(&merge->rows[i])->status != CELL_planned) rows[count++] = merge->rows[i];
  }
  if (count > 0) return count;
  memcpy(rows, merge->rows, merge->row_count * sizeof *rows);
  return merge->row_count;
}

struct status merge_text_write(const struct merge *merge, FILE *file) {
  OWNED_ARRAY(struct merge_row, rows, merge->row_count, "rows of a table");
  const size_t count = leave_planned_out(merge, rows);
  for (size_t i = 0; i < merge->source_count; ++i) print_source(file, merge, i);
  fputc('\n', file);
  const size_t column_count = merge->mixed_devices ? COLUMN_COUNT : COLUMN_COUNT - 1;
  const struct text_table table =
      TEXT_TABLE(columns, column_count, rows, count, fill_cells, .group = group_case, .tone = tone_of);
  const struct text_fit fit = text_table_write(file, &table);
  fprintf(file, "x best = hot median over the smallest of its case%s\n",
          merge->mixed_devices ? " on the same device; times of unlike devices are not compared" : "");
  if (count < merge->row_count) fprintf(file, "%zu planned rows are left out\n", merge->row_count - count);
  if (seeds_differ(merge)) fputs("the seeds differ: these are not the same inputs\n", file);
  text_fit_print(file, &fit, "the reports");
  print_reasons(file, merge);
  return status_ok();
}
