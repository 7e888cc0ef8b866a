/* The registers and memory that ptxas allocated for each compiled kernel, one row per kernel and compute capability,
 * for planning launches without a GPU. The build writes the table (scripts/build/kernel_resources.sh) from the
 * compiler's own report; without CUDA it is empty. */
#ifndef ATTNBENCH_KERNELS_KERNEL_RESOURCES_H
#define ATTNBENCH_KERNELS_KERNEL_RESOURCES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kernel_resource {
  const char *symbol; /* mangled, the name that dladdr gives for the kernel's host handle */
  uint32_t cc_major, cc_minor;
  uint32_t registers;         /* per thread */
  uint32_t static_smem_bytes; /* per block, without the bytes that the system reserves */
  uint32_t local_bytes;       /* per thread: spills and stack */
};

extern const struct kernel_resource kernel_resources[]; /* holds one empty row when the count is 0 */
extern const size_t kernel_resource_count;

#ifdef __cplusplus
}
#endif
#endif
