/* Whether this binary contains machine code for a GPU. Otherwise the driver has to compile the kernels from PTX.
 * Pure. */
#ifndef ATTNBENCH_KERNELS_MACHINE_CODE_H
#define ATTNBENCH_KERNELS_MACHINE_CODE_H

#include "kernels/variant.h"

enum { MACHINE_CODE_NOTE_MAX = 320 };

/* True when none of the architectures is machine code for that GPU; `note` then says so in a sentence. archs is that
 * of device_build_archs: 900 for compute capability 9.0, and a 0 at the end. */
bool machine_code_is_missing(const uint32_t *archs, const struct device_info *, char note[MACHINE_CODE_NOTE_MAX]);

#endif
