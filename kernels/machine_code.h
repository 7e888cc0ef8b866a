/* Whether this binary holds machine code for a GPU, or its driver has to compile the kernels from PTX first. Pure. */
#ifndef ATTNBENCH_KERNELS_MACHINE_CODE_H
#define ATTNBENCH_KERNELS_MACHINE_CODE_H

#include "kernels/variant.h"

enum { MACHINE_CODE_NOTE_MAX = 320 };

/* archs: of nvcc's __CUDA_ARCH_LIST__ (device_build_archs), 900 for compute capability 9.0, ended by 0. True, with a
 * sentence for people, when none of them is machine code for that GPU. */
bool machine_code_is_missing(const uint32_t *archs, const struct device_info *, char note[MACHINE_CODE_NOTE_MAX]);

#endif
