/* Sweeps that attnbench comes with, by name: "v3" is shapes/v3.json of the source tree that the program was built in,
 * or share/attnbench/shapes/v3.json beside the bin folder that it was installed in. */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "kernels/status.h"

/* Writes the path of the shipped sweep `name`. False when `name` is a path, an existing file, or of no shipped sweep.
 */
bool shipped_find(const char *name, char out[PATH_MAX]);

/* The names of the shipped sweeps; NULL past the last. Not for several threads. */
const char *shipped_name(size_t index);

/* STATUS_INPUT, with the nearest name and all names, when `name` could only have been that of a shipped sweep. */
struct status shipped_check(const char *name);
