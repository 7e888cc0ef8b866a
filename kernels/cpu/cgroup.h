/* What control groups, of either version, tell of this process and of those beside it: a container's, a batch job's.
 */
#ifndef ATTNBENCH_KERNELS_CPU_CGROUP_H
#define ATTNBENCH_KERNELS_CPU_CGROUP_H

#include <stdint.h>

/* The least that the group of this process and those above it have left, with what they can give back of the page
 * cache; UINT64_MAX without a limit. root is put before /proc and /sys: "" but in tests. */
uint64_t cgroup_memory_free(const char *root);

/* Processor seconds used so far. Only differences have a meaning. */
struct cgroup_seconds {
  double own; /* by this process and the children that it has waited for */
  /* By all other processes of this control group, or of the nearest one above it with an account. Running children
   * count. NAN: not known. */
  double others;
};
struct cgroup_seconds cgroup_seconds_used(const char *root);

#endif
