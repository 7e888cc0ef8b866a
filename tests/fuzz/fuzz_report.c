/* libFuzzer entry: any bytes as a report, a journal or a table of times. One that is accepted can be reported in
 * every form, and its JSON is read back as the same report. */
#include "cli/page/page.h"
#include "tests/fuzz/fuzz.h"

static void check_read_back(const struct report *report) {
  size_t size, again_size;
  struct journal_data data;
  struct report again;
  char *text = written(report, report_write_json, &size);
  struct status status = load((const uint8_t *)text, size, &data);
  expect(!status_failed(&status));
  status = report_build(&data, &again);
  expect(!status_failed(&status));
  char *second = written(&again, report_write_json, &again_size);
  expect(size == again_size && memcmp(text, second, size) == 0);
  free(text);
  free(second);
  report_free(&again);
  journal_free(&data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static struct status (*const sinks[])(const struct report *, FILE *) = {report_write_text, report_write_csv,
                                                                          report_write_gbench, page_write_report};
  struct journal_data data;
  struct report report;
  size_t size;
  struct status status = load(bytes, count, &data);
  if (is_refused(&status)) return 0;
  status = report_build(&data, &report);
  expect(!status_failed(&status));
  check_read_back(&report);
  for (size_t i = 0; i < sizeof sinks / sizeof *sinks; ++i) free(written(&report, sinks[i], &size));
  report_free(&report);
  journal_free(&data);
  numbers_drop();
  return 0;
}
