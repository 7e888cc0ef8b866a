/* libFuzzer entry: any bytes as the base of a comparison, and as both of its sides. A report is never slower than
 * itself. */
#include "cli/gate/compare.h"
#include "tests/fuzz/fuzz.h"

static void write_all(const struct compare *compare) {
  static struct status (*const sinks[])(const struct compare *, FILE *) = {
      verdict_text_write, verdict_json_write, verdict_markdown_write, verdict_junit_write, verdict_annotations_write};
  for (size_t i = 0; i < sizeof sinks / sizeof *sinks; ++i) {
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    expect(stream != NULL);
    const struct status status = sinks[i](compare, stream);
    expect(fclose(stream) == 0 && !status_failed(&status));
    free(text);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  struct journal_data data;
  struct compare compare;
  struct compare_settings settings = compare_defaults();
  struct status status = load(bytes, count, &data);
  if (is_refused(&status)) return 0;
  status = identity_check_baseline("fuzz", &data);
  const bool is_baseline = !is_refused(&status);
  settings.once = true;
  settings.paired = count % 2 == 0;
  status = compare_build(&data, &data, &settings, &compare);
  expect(!status_failed(&status));
  expect(compare.exit_code != EXIT_CODE_REGRESSION);
  expect(!is_baseline || compare.comparable);
  write_all(&compare);
  compare_free(&compare);
  journal_free(&data);
  numbers_drop();
  return 0;
}
