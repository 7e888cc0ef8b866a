/* The memory that control groups, of either version, leave to this process: a container's, a batch job's. */
#ifndef ATTNBENCH_KERNELS_CPU_CGROUP_H
#define ATTNBENCH_KERNELS_CPU_CGROUP_H

#include <stdint.h>

/* The least that the group of this process and those above it have left, with what they can give back of the page
 * cache; UINT64_MAX without a limit. root is put before /proc and /sys: "" but in tests. */
uint64_t cgroup_memory_free(const char *root);

#endif
