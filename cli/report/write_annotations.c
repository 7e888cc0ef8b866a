/* A report as annotations of a CI log: one for each row that failed. */
#include <inttypes.h>

#include "cli/base/markup.h"
#include "cli/report/report.h"

static void put_row(FILE *file, const struct report *report, const struct record *record) {
  char title[64];
  snprintf(title, sizeof title, "attnbench: %s", cell_status_name(record->status));
  markup_annotation_start(file, true, report->journal->run.sweep_path, title);
  markup_put(file, markup_annotation_text, "%s %s: %s\n", record->attn_case.key, record->variant, record->reason);
}

/* A run that was cut short would be one without failures. */
static void put_incomplete(FILE *file, const struct report *report) {
  const uint64_t wanted = report->journal->run.cell_count;
  if (report->row_count > 0 && report->row_count >= wanted) return;
  markup_annotation_start(file, true, report->journal->run.sweep_path, "attnbench: incomplete");
  fprintf(file, "%zu of %" PRIu64 " cells: the run did not come to its end\n", report->row_count, wanted);
}

/* Writes the first rows that failed, and returns how many did. */
static size_t put_first(FILE *file, const struct report *report, size_t most) {
  size_t all = 0;
  for (size_t i = 0; i < report->row_count; ++i) {
    const struct record *record = report->rows[i].record;
    if (cell_status_exit_code(record->status) != EXIT_CODE_OK && all++ < most) put_row(file, report, record);
  }
  return all;
}

struct status report_write_annotations(const struct report *report, FILE *file) {
  const size_t all = put_first(file, report, 0);
  /* Room for the one on a run that was cut short, and for the one that counts the rest. */
  const size_t most = all > MARKUP_ANNOTATIONS_MAX - 1 ? MARKUP_ANNOTATIONS_MAX - 2 : all;
  put_incomplete(file, report);
  put_first(file, report, most);
  if (all == most) return status_ok();
  markup_annotation_start(file, true, report->journal->run.sweep_path, "attnbench");
  fprintf(file, "and %zu more of %zu rows failed\n", all - most, report->row_count);
  return status_ok();
}
