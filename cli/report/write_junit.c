/* A report as JUnit XML: a test case per row. */
#include <inttypes.h>
#include <math.h>

#include "cli/base/markup.h"
#include "cli/report/report.h"

/* A failure is of the kernel, an error one of measuring it. */
static enum junit_outcome outcome_of(const struct record *record) {
  if (record->status == CELL_ok) return JUNIT_PASSED;
  if (record->status == CELL_wrong || record->status == CELL_implausible) return JUNIT_FAILURE;
  return cell_status_exit_code(record->status) == EXIT_CODE_OK ? JUNIT_SKIPPED : JUNIT_ERROR;
}

/* A run that was cut short would be a file without failures. */
static enum junit_outcome outcome_of_run(const struct report *report) {
  const bool is_whole = report->row_count > 0 && report->row_count >= report->journal->run.cell_count;
  return is_whole ? JUNIT_PASSED : JUNIT_ERROR;
}

static void put_run(FILE *file, const struct report *report, const char *suite) {
  char message[128];
  snprintf(message, sizeof message, "%zu of %" PRIu64 " cells: the run did not come to its end", report->row_count,
           (uint64_t)report->journal->run.cell_count);
  markup_junit_case(file, &(struct junit_case){.suite = suite,
                                               .name = "complete",
                                               .outcome = outcome_of_run(report),
                                               .type = "incomplete",
                                               .message = message});
}

static void put_row(FILE *file, const struct record *record, const char *suite) {
  const struct time_record *time = &record->time[record_mode(record)];
  markup_junit_case(file, &(struct junit_case){.suite = suite,
                                               .variant = record->variant,
                                               .name = record->attn_case.key,
                                               .us = time->done ? time->us.median : (double)NAN,
                                               .outcome = outcome_of(record),
                                               .type = cell_status_name(record->status),
                                               .message = record->reason});
}

struct status report_write_junit(const struct report *report, FILE *file) {
  const char *name = report->journal->run.sweep_name, *suite = name[0] != '\0' ? name : "attnbench";
  size_t count[JUNIT_OUTCOMES] = {0};
  ++count[outcome_of_run(report)];
  for (size_t i = 0; i < report->row_count; ++i) ++count[outcome_of(report->rows[i].record)];
  markup_junit_open(file, "attnbench", suite, count);
  put_run(file, report, suite);
  for (size_t i = 0; i < report->row_count; ++i) put_row(file, report->rows[i].record, suite);
  markup_junit_close(file);
  return status_ok();
}
