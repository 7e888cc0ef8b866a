/* A report as annotations of a CI log: one for each row that failed. */
#include <inttypes.h>

#include "cli/base/markup.h"
#include "cli/report/report.h"

static bool has_failed(const struct report_row *row) {
  return cell_status_exit_code(row->record->status) != EXIT_CODE_OK;
}

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

struct status report_write_annotations(const struct report *report, FILE *file) {
  size_t all = 0, shown = 0;
  for (size_t i = 0; i < report->row_count; ++i) all += has_failed(&report->rows[i]);
  /* Room for the one on a run that was cut short, and for the one that counts the rest. */
  const size_t most = all > MARKUP_ANNOTATIONS_MAX - 1 ? MARKUP_ANNOTATIONS_MAX - 2 : all;
  put_incomplete(file, report);
  for (size_t i = 0; i < report->row_count && shown < most; ++i) {
    if (!has_failed(&report->rows[i])) continue;
    put_row(file, report, report->rows[i].record);
    ++shown;
  }
  if (all == shown) return status_ok();
  markup_annotation_start(file, true, report->journal->run.sweep_path, "attnbench");
  fprintf(file, "and %zu more of %zu rows failed\n", all - shown, report->row_count);
  return status_ok();
}
