/* Documents for tests of JSON. Include after unit.h. */
#ifndef ATTNBENCH_TESTS_UNIT_DOCUMENT_H
#define ATTNBENCH_TESTS_UNIT_DOCUMENT_H

#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static inline struct json_doc parsed(const char *text) {
  struct json_doc doc;
  const struct status status = json_parse("t.json", text, strlen(text), &doc);
  if (status_failed(&status)) fail_msg("%s", status.text);
  return doc;
}

/* `count` copies of a byte between two texts. */
static inline char *repeated(const char *before, char byte, size_t count, const char *after) {
  const size_t head = strlen(before);
  char *text = malloc(head + count + strlen(after) + 1);
  assert_non_null(text);
  memcpy(text, before, head);
  memset(text + head, byte, count);
  memcpy(text + head + count, after, strlen(after) + 1);
  return text;
}

#endif
