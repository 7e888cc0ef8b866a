/* Makes a variant of a manifest's kernel. Planning needs no GPU; the device opens the kernel's file. */
#pragma once

#include "cli/sweep/manifest.h"

/* Reads the manifest and adds its variant to the registry until the process ends. STATUS_INPUT names the place of an
 * error in the file. STATUS_USAGE: the variant's name is taken, or there are too many variants. */
struct status manifest_variant_add(const char *path);
