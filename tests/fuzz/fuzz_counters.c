/* libFuzzer entry: any bytes as what a profiler counted of a report's rows. */
#include "cli/record/journal.h"

#include "tests/fuzz/fuzz.h"

static struct journal_data report;
static bool is_loaded;

/* A report of a released version, from the top of the tree. */
static void load_report(void) {
  char *text;
  size_t length;
  struct status status = json_read_file("tests/data/released/0.1.0/gpu.json", JSON_FILE_BYTES_MAX, &text, &length);
  expect(!status_failed(&status));
  status = load((const uint8_t *)text, length, &report);
  expect(!status_failed(&status));
  free(text);
  is_loaded = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  if (!is_loaded) load_report();
  struct journal_data into = report;
  struct json_doc doc;
  struct report built;
  size_t size;
  struct status status = json_parse("fuzz", (const char *)bytes, count, &doc);
  if (is_refused(&status)) return 0;
  into.records = calloc(report.record_count, sizeof *into.records);
  expect(into.records != NULL);
  memcpy(into.records, report.records, report.record_count * sizeof *into.records);
  status = counters_read(&doc, &into);
  if (!is_refused(&status)) {
    status = report_build(&into, &built);
    expect(!status_failed(&status));
    free(written(&built, report_write_json, &size));
    report_free(&built);
  }
  free(into.records);
  json_free(&doc);
  return 0;
}
