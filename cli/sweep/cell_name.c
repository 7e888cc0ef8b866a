/* Writes and matches the names of cells. */
#include "cli/sweep/variant_spec.h"

#include <fnmatch.h>
#include <stdio.h>

void cell_name(const char *key, const char *variant, char out[CELL_NAME_MAX]) {
  snprintf(out, CELL_NAME_MAX, "%s/%s", key, variant);
}

bool cell_name_matches(const char *glob, const char *key, const char *variant) {
  char name[CELL_NAME_MAX];
  cell_name(key, variant, name);
  return fnmatch(glob, name, 0) == 0;
}
