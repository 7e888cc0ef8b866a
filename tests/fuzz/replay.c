/* Stands in for libFuzzer where there is none: feeds the files of corpora to the targets that the folders are named
 * after, once each. Writes TAP. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>

#include "cli/base/json.h"

#define FUZZ(name) int name(const uint8_t *data, size_t size);
#include "fuzz.def"
#undef FUZZ

static const struct target {
  const char *name;
  int (*run)(const uint8_t *data, size_t size);
} targets[] = {
#define FUZZ(name) {#name, name},
#include "fuzz.def"
#undef FUZZ
};

static void replay_file(const struct target *target, const char *folder, const char *name) {
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
  target->run(bytes, length);
  free(bytes);
}

static size_t replay_folder(const struct target *target, const char *path) {
  const struct dirent *entry;
  size_t count = 0;
  DIR *folder = opendir(path);
  if (folder == NULL) return 0;
  while ((entry = readdir(folder)) != NULL) {
    if (entry->d_name[0] == '.') continue;
    replay_file(target, path, entry->d_name);
    ++count;
  }
  closedir(folder);
  return count;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER, with a folder of inputs for each target\n", argv[0]);
    return 2;
  }
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", argv[1], targets[i].name + strlen("fuzz_"));
    const size_t count = replay_folder(&targets[i], path);
    printf("%s - %zu inputs of %s\n", count > 0 ? "ok" : "not ok", count, path);
  }
  printf("1..%zu\n", sizeof targets / sizeof *targets);
  return 0;
}
