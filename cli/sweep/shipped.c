/* Finds shipped sweeps from where the program lies. */
#include "cli/sweep/sweep.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/text.h"

enum { NAMES_MAX = 64, NAME_MAX_BYTES = 64 };

static const char suffix[] = ".json";

/* Folders of shipped sweeps relative to the program's: beside it, in the source tree above build/CONFIG/, installed.
 */
static const char *const folders[] = {"shapes", "../../shapes", "../share/attnbench/shapes"};
enum { FOLDER_COUNT = sizeof folders / sizeof *folders };

/* "" when the system does not say where the program lies. */
static void program_folder(char out[PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
  out[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(out, '/');
  if (slash != NULL) *slash = '\0';
}

static bool is_name(const char *text) {
  const size_t length = strlen(text);
  return length > 0 && strcmp(text, "-") != 0 && length < NAME_MAX_BYTES && strchr(text, '/') == NULL &&
         !text_ends_with(text, suffix) && access(text, F_OK) != 0;
}

bool shipped_find(const char *name, char out[PATH_MAX]) {
  char program[PATH_MAX], path[2 * PATH_MAX];
  if (!is_name(name)) return false;
  program_folder(program);
  for (size_t i = 0; i < FOLDER_COUNT; ++i) {
    snprintf(path, sizeof path, "%s/%s/%s%s", program, folders[i], name, suffix);
    if (realpath(path, out) != NULL) return true;
  }
  return false;
}

bool shipped_pages(char out[PATH_MAX]) {
  char program[PATH_MAX], path[2 * PATH_MAX];
  program_folder(program);
  snprintf(path, sizeof path, "%s/../share/attnbench/doc", program);
  return realpath(path, out) != NULL;
}

struct names {
  char text[NAMES_MAX][NAME_MAX_BYTES];
  const char *list[NAMES_MAX + 1]; /* NULL-ended */
  size_t count;
};

static void add_name(const char *file, struct names *out) {
  const size_t length = strlen(file);
  if (out->count == NAMES_MAX || length < sizeof suffix || length >= NAME_MAX_BYTES) return;
  if (!text_ends_with(file, suffix)) return;
  char *name = out->text[out->count];
  snprintf(name, NAME_MAX_BYTES, "%.*s", (int)(length - (sizeof suffix - 1)), file);
  out->list[out->count++] = name;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists the sweeps of the first folder that has any. */
static void list_names(struct names *out) {
  char program[PATH_MAX], path[2 * PATH_MAX];
  *out = (struct names){.count = 0};
  program_folder(program);
  for (size_t i = 0; i < FOLDER_COUNT && out->count == 0; ++i) {
    snprintf(path, sizeof path, "%s/%s", program, folders[i]);
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
      add_name(entry->d_name, out);
    if (folder != NULL) closedir(folder);
  }
  if (out->count > 0) qsort(out->list, out->count, sizeof *out->list, compare_names);
}

const char *shipped_name(size_t index) {
  static struct names names;
  if (names.count == 0) list_names(&names);
  return index < names.count ? names.list[index] : NULL;
}

/* "v3" of "v3.json", where there is no such file but a sweep of that name. */
static struct status check_file(const char *path) {
  const char *slash = strrchr(path, '/'), *file = slash != NULL ? slash + 1 : path;
  char name[NAME_MAX_BYTES], found[PATH_MAX];
  const size_t length = strlen(file);
  if (access(path, F_OK) == 0 || length < sizeof suffix || strcmp(file + length - (sizeof suffix - 1), suffix) != 0)
    return status_ok();
  snprintf(name, sizeof name, "%.*s", (int)(length - (sizeof suffix - 1)), file);
  if (!shipped_find(name, found)) return status_ok();
  return status_make(STATUS_INPUT, "--sweep %s: no such file; did you mean %s, which attnbench comes with?", path,
                     name);
}

struct status shipped_check(const char *name) {
  struct names names;
  char all[512] = "";
  TRY(check_file(name));
  if (!is_name(name)) return status_ok();
  list_names(&names);
  for (size_t i = 0; i < names.count; ++i) text_append(all, sizeof all, "%s%s", i > 0 ? " " : "", names.list[i]);
  const char *nearest = json_nearest(name, names.list);
  return status_make(
      STATUS_INPUT, "--sweep %s: no such file, and no sweep of that name comes with attnbench%s%s%s%s%s", name,
      nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "", nearest != NULL ? "?" : "",
      all[0] == '\0'    ? "; give a file, or shapes with --shape"
      : nearest != NULL ? " There are "
                        : "; there are ",
      all);
}
