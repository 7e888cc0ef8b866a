/* Stands in for libFuzzer where there is none: feeds the files of a corpus to a target, once each. Writes TAP. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>

#include "cli/base/json.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static void replay(const char *folder, const char *name) {
  char path[PATH_MAX], *text;
  size_t length;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const struct status status = json_read_file(path, JSON_FILE_BYTES_MAX, &text, &length);
  if (status_failed(&status)) {
    printf("not ok - %s\n", status.text);
    return;
  }
  /* As large as the input, so that a sanitizer sees what is read beyond it. */
  uint8_t *bytes = malloc(length > 0 ? length : 1);
  expect(bytes != NULL);
  memcpy(bytes, text, length);
  free(text);
  LLVMFuzzerTestOneInput(bytes, length);
  free(bytes);
}

int main(int argc, char **argv) {
  const struct dirent *entry;
  DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
  size_t count = 0;
  if (folder == NULL) {
    fprintf(stderr, "usage: %s FOLDER, with inputs to replay\n", argv[0]);
    return 2;
  }
  if (LLVMFuzzerInitialize != NULL) LLVMFuzzerInitialize(&argc, &argv);
  while ((entry = readdir(folder)) != NULL) {
    if (entry->d_name[0] == '.') continue;
    replay(argv[1], entry->d_name);
    ++count;
  }
  closedir(folder);
  printf("%s - %zu inputs of %s\n1..1\n", count > 0 ? "ok" : "not ok", count, argv[1]);
  return 0;
}
