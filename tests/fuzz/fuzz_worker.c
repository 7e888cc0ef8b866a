/* libFuzzer entry: any bytes as what a worker answers: its greeting or its failure, or the record of a cell. A record
 * that is accepted is written as a line that is read as the same record. */
#include "cli/measure/worker.h"

#include "tests/fuzz/fuzz.h"

static void read_greeting(const char *line, size_t length) {
  struct worker_hello hello = {.device_count = 0};
  struct json_doc doc;
  struct status status = json_parse("worker", line, length, &doc);
  if (is_refused(&status)) return;
  status = hello_failure(doc.root);
  json_free(&doc);
  if (is_refused(&status)) return;
  status = fields_from_line("worker", line, length, hello_fields, &hello);
  if (is_refused(&status)) return;
  char *again = fields_to_line(hello_fields, &hello);
  expect(again != NULL);
  free(again);
}

static void read_cell(const char *line, size_t length) {
  static struct record record, back;
  struct status status = record_from_line(line, length, &record);
  if (is_refused(&status)) return;
  char *first = record_to_line(&record);
  expect(first != NULL);
  status = record_from_line(first, strlen(first), &back);
  expect(!status_failed(&status));
  char *second = record_to_line(&back);
  expect(second != NULL && strcmp(first, second) == 0);
  free(first);
  free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  read_greeting((const char *)bytes, count);
  read_cell((const char *)bytes, count);
  numbers_drop();
  return 0;
}
