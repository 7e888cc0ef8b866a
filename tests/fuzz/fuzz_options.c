/* libFuzzer entry: lines as the words of a command line. What is accepted can be passed on, and named as files. */
#include "cli/options/options.h"

#include "tests/fuzz/fuzz.h"

enum { WORDS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static struct options options; /* large */
  static const char *words[2 * OPTIONS_LIST_MAX + 64];
  struct options_file files[OPTIONS_FILES_MAX];
  char *argv[WORDS_MAX + 1] = {"attnbench"}, *text = calloc(count + 1, 1);
  int argc = 1;
  expect(text != NULL);
  if (count > 0) memcpy(text, bytes, count);
  char *rest = text;
  for (char *word; argc < WORDS_MAX && (word = strsep(&rest, "\n")) != NULL;) argv[argc++] = word;
  const struct status status = options_parse(argc, argv, &options);
  if (!is_refused(&status) && !options.help && !options.version) {
    expect(options_files(&options, files) <= OPTIONS_FILES_MAX);
    expect(options_relay(&options, true, NULL) == options_relay(&options, true, words));
  }
  free(text);
  return 0;
}
