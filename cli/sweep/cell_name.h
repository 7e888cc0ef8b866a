/* The name of a cell, which is a variant on a case, as the command line and messages write it: "KEY/VARIANT". */
#pragma once

#include <stdbool.h>

#include "cli/sweep/variant_spec.h"
#include "kernels/problem/axes.h"

enum { CELL_NAME_MAX = AXIS_KEY_MAX + VARIANT_SPEC_MAX, CELL_GLOB_MAX = CELL_NAME_MAX };

/* Writes the cell's name into out. */
void cell_name(const char *key, const char *variant, char out[CELL_NAME_MAX]);
/* Does the cell's name match the glob? As in fnmatch without flags, * also matches "/" and ".". */
bool cell_name_matches(const char *glob, const char *key, const char *variant);
