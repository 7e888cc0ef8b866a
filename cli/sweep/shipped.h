/* Sweeps that attnbench comes with, by name: "v3" is shapes/v3.json of the source tree that the program was built in,
 * or share/attnbench/shapes/v3.json beside the bin folder that it was installed in. */
#ifndef ATTNBENCH_CLI_SWEEP_SHIPPED_H
#define ATTNBENCH_CLI_SWEEP_SHIPPED_H

#include <limits.h>

#include "kernels/status.h"

/* False when `name` is a path, or a file that there is, or the name of no such sweep. */
bool shipped_find(const char *name, char out[PATH_MAX]);

/* STATUS_INPUT, with the nearest name and all names, when `name` could only have been that of a shipped sweep. */
struct status shipped_check(const char *name);

#endif
