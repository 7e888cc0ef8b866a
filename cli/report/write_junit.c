/* A report as JUnit XML: a test case per row. */
#include <inttypes.h>
#include <math.h>

#include "cli/base/markup.h"
#include "cli/base/units.h"
#include "cli/report/report.h"

/* What a row is in JUnit's words: a failure is of the kernel, an error one of measuring it. */
enum outcome { OUTCOME_PASSED, OUTCOME_FAILURE, OUTCOME_ERROR, OUTCOME_SKIPPED, OUTCOME_COUNT };

static const char *const tags[OUTCOME_COUNT] = {
    [OUTCOME_FAILURE] = "failure", [OUTCOME_ERROR] = "error", [OUTCOME_SKIPPED] = "skipped"};

static enum outcome outcome_of(const struct record *record) {
  if (record->status == CELL_ok) return OUTCOME_PASSED;
  if (record->status == CELL_wrong || record->status == CELL_implausible) return OUTCOME_FAILURE;
  return cell_status_exit_code(record->status) == EXIT_CODE_OK ? OUTCOME_SKIPPED : OUTCOME_ERROR;
}

static const char *suite_name(const struct report *report) {
  const char *name = report->journal->run.sweep_name;
  return name[0] != '\0' ? name : "attnbench";
}

/* A run that was cut short would be a file without failures. */
static bool is_whole(const struct report *report) {
  return report->row_count > 0 && report->row_count >= report->journal->run.cell_count;
}

static void put_start(FILE *file, const char *class, const char *name, double us) {
  markup_put(file, markup_xml_text, "    <testcase classname=\"%s\" name=\"%s\" time=\"%s\"", class, name,
             units_fixed(isfinite(us) ? us * 1e-6 : 0, 9).text);
}

static void put_end(FILE *file, enum outcome outcome, const char *type, const char *message) {
  if (outcome == OUTCOME_PASSED) {
    fputs("/>\n", file);
    return;
  }
  fprintf(file, ">\n      <%s", tags[outcome]);
  if (outcome != OUTCOME_SKIPPED) markup_xml_attribute(file, "type", type);
  markup_put(file, markup_xml_text, " message=\"%s\"/>\n    </testcase>\n", message);
}

/* classname is SWEEP.VARIANT: viewers show the part up to the last point as a folder. */
static void put_row(FILE *file, const struct report *report, const struct record *record) {
  char class[SWEEP_NAME_MAX + VARIANT_SPEC_MAX + 2];
  const enum time_mode mode = record_mode(record);
  snprintf(class, sizeof class, "%s.%s", suite_name(report), record->variant);
  put_start(file, class, record->attn_case.key, record->time[mode].done ? record->time[mode].us.median : (double)NAN);
  put_end(file, outcome_of(record), cell_status_name(record->status), record->reason);
}

static void put_whole(FILE *file, const struct report *report) {
  char message[128];
  snprintf(message, sizeof message, "%zu of %" PRIu64 " cells: the run did not come to its end", report->row_count,
           (uint64_t)report->journal->run.cell_count);
  put_start(file, suite_name(report), "complete", NAN);
  put_end(file, is_whole(report) ? OUTCOME_PASSED : OUTCOME_ERROR, "incomplete", message);
}

static void put_counts(FILE *file, const struct report *report) {
  size_t count[OUTCOME_COUNT] = {0};
  for (size_t i = 0; i < report->row_count; ++i) ++count[outcome_of(report->rows[i].record)];
  fprintf(file, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"", report->row_count + 1,
          count[OUTCOME_FAILURE], count[OUTCOME_ERROR] + !is_whole(report), count[OUTCOME_SKIPPED]);
}

struct status report_write_junit(const struct report *report, FILE *file) {
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"attnbench\"", file);
  put_counts(file, report);
  fputs(">\n  <testsuite", file);
  markup_xml_attribute(file, "name", suite_name(report));
  put_counts(file, report);
  fputs(">\n", file);
  put_whole(file, report);
  for (size_t i = 0; i < report->row_count; ++i) put_row(file, report, report->rows[i].record);
  fputs("  </testsuite>\n</testsuites>\n", file);
  return status_ok();
}
