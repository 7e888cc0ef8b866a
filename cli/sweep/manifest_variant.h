/* The kernel of a manifest as a variant. Pure: what it plans needs no GPU, and its file is opened by the device. */
#ifndef ATTNBENCH_CLI_SWEEP_MANIFEST_VARIANT_H
#define ATTNBENCH_CLI_SWEEP_MANIFEST_VARIANT_H

#include "cli/sweep/manifest.h"

/* Reads the manifest and adds its variant to the registry, for good. STATUS_INPUT names a place in the file,
 * STATUS_USAGE a name that is taken or too many of them. */
struct status manifest_variant_add(const char *path);

#endif
