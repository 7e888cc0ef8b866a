/* What the fuzz targets share. A target is a function of any bytes; besides what the sanitizers find, a promise that
 * is not kept ends it. */
#ifndef ATTNBENCH_TESTS_FUZZ_FUZZ_H
#define ATTNBENCH_TESTS_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/journal.h"
#include "cli/report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void expect(int promise) {
  if (!promise) abort();
}

/* A failure says something, on one line. */
static inline bool is_refused(const struct status *status) {
  if (!status_failed(status)) return false;
  expect(status->text[0] != '\0' && strchr(status->text, '\n') == NULL);
  return true;
}

/* As measured_load does, of a file's bytes. */
static inline struct status load(const uint8_t *data, size_t size, struct journal_data *out) {
  char *text = calloc(size + 1, 1);
  struct json_doc doc;
  expect(text != NULL);
  if (size > 0) memcpy(text, data, size);
  if (journal_starts(text)) {
    const struct status status = journal_parse("fuzz", text, size, out);
    free(text);
    return status;
  }
  struct status status = json_adopt("fuzz", text, size, &doc);
  if (status_failed(&status)) return status;
  const cJSON *schema = json_get(doc.root, "schema");
  const bool is_times = cJSON_IsString(schema) && strcmp(schema->valuestring, TIMES_SCHEMA) == 0;
  status = is_times ? times_read(&doc, out) : report_read(&doc, out);
  json_free(&doc);
  return status;
}

/* What a report's sink writes, malloc'ed. */
static inline char *written(const struct report *report, struct status (*write)(const struct report *, FILE *),
                            size_t *size) {
  char *text = NULL;
  FILE *stream = open_memstream(&text, size);
  expect(stream != NULL);
  const struct status status = write(report, stream);
  expect(fclose(stream) == 0 && !status_failed(&status));
  return text;
}

#endif
