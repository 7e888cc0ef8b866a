/* The files that a command line names. */
#include <string.h>

#include "cli/options/table.h"

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
  size_t count = 0, values;
  for (size_t i = 0; i < o->reports.count; ++i)
    add((struct options_file){"the report", o->reports.item[i], false}, out, &count);
  EACH_OPTION(row, o->verb) {
    if ((row->flags & (OPTION_READS | OPTION_WRITES)) == 0) continue;
    const char *const *paths = options_table_values(row, o, &values);
    for (size_t i = 0; i < values; ++i)
      add((struct options_file){row->name, paths[i], (row->flags & OPTION_WRITES) != 0}, out, &count);
  }
  return count;
}

const char *options_files_on_stdout(const struct options *o, const char *except) {
  EACH_OPTION(row, o->verb) {
    if ((row->flags & OPTION_WRITES) == 0 || row->name == except) continue;
    const char *path = *options_table_text(row, o);
    if (path != NULL && is_stdout(path)) return row->name;
  }
  return NULL;
}
