/* The files that a command line names. */
#include <string.h>

#include "cli/options/table.h"

static bool is_file(const struct option_row *row, enum verb verb) {
  return option_is_of(row, verb) && (row->flags & (OPTION_READS | OPTION_WRITES)) != 0;
}

/* Under any of its names: what else is printed there would spoil the file. */
static bool is_stdout(const char *path) {
  static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strcmp(path, names[i]) == 0) return true;
  }
  return false;
}

static void add(struct options_file file, struct options_file out[OPTIONS_FILES_MAX], size_t *count) {
  if (file.path == NULL || strcmp(file.path, "-") == 0 || *count == OPTIONS_FILES_MAX) return;
  out[(*count)++] = file;
}

size_t options_files(const struct options *o, struct options_file out[OPTIONS_FILES_MAX]) {
  const struct option_row *row;
  size_t count = 0;
  for (size_t i = 0; i < o->reports.count; ++i) {
    add((struct options_file){"the report", o->reports.item[i], false}, out, &count);
  }
  for (size_t i = 0; (row = options_table_row(i)) != NULL; ++i) {
    if (!is_file(row, o->verb)) continue;
    const bool is_list = row->kind == OPTION_LIST;
    const char *const *paths = is_list ? options_table_list(row, o)->item : options_table_text(row, o);
    for (size_t j = 0; j < (is_list ? options_table_list(row, o)->count : 1); ++j) {
      add((struct options_file){row->name, paths[j], (row->flags & OPTION_WRITES) != 0}, out, &count);
    }
  }
  return count;
}

const char *options_files_on_stdout(const struct options *o, const char *except) {
  const struct option_row *row;
  for (size_t i = 0; (row = options_table_row(i)) != NULL; ++i) {
    if (!option_is_of(row, o->verb) || (row->flags & OPTION_WRITES) == 0 || row->name == except) continue;
    const char *path = *options_table_text(row, o);
    if (path != NULL && is_stdout(path)) return row->name;
  }
  return NULL;
}
