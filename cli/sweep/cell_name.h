/* The name of a cell, which is a variant on a case, as the command line and messages write it: "KEY/VARIANT". */
#ifndef ATTNBENCH_CLI_SWEEP_CELL_NAME_H
#define ATTNBENCH_CLI_SWEEP_CELL_NAME_H

#include <stdbool.h>

#include "cli/sweep/case_key.h"
#include "cli/sweep/variant_spec.h"

enum { CELL_NAME_MAX = CASE_KEY_MAX + VARIANT_SPEC_MAX, CELL_GLOB_MAX = CELL_NAME_MAX };

/* Writes the cell's name into out. */
void cell_name(const char *key, const char *variant, char out[CELL_NAME_MAX]);
/* Does its name match the glob? As fnmatch does, * also matches / and the dots of the key. */
bool cell_name_matches(const char *glob, const char *key, const char *variant);

#endif
