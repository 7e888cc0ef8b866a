/* libFuzzer entry: any bytes as the journal of a run that was killed. Cut off anywhere behind its first line, a
 * journal that can be read still can, and has no cell more. */
#include "tests/fuzz/fuzz.h"

static void check_cut(const char *text, size_t length, size_t cells) {
  const char *first = memchr(text, '\n', length);
  const size_t header = (size_t)(first - text) + 1, rest = length - header;
  /* Some place that the bytes decide, without taking any off the input. */
  const size_t kept = header + (rest > 0 ? (length * 2654435761u) % rest : 0);
  struct journal_data data;
  char *cut = strndup(text, kept);
  expect(cut != NULL);
  const struct status status = journal_parse("cut", cut, strlen(cut), &data);
  expect(!status_failed(&status) && data.record_count <= cells);
  journal_free(&data);
  free(cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  struct journal_data data;
  char *text = calloc(count + 1, 1);
  expect(text != NULL);
  if (count > 0) memcpy(text, bytes, count);
  const struct status status = journal_parse("fuzz", text, count, &data);
  if (!is_refused(&status)) {
    check_cut(text, count, data.record_count);
    journal_free(&data);
  }
  free(text);
  numbers_drop();
  return 0;
}
