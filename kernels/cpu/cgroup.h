/* What control groups, of either version, tell of this process and of those beside it: a container's, a batch job's.
 */
#ifndef ATTNBENCH_KERNELS_CPU_CGROUP_H
#define ATTNBENCH_KERNELS_CPU_CGROUP_H

#include <stdint.h>

/* The least that the group of this process and those above it have left, with what they can give back of the page
 * cache; UINT64_MAX without a limit. root is put before /proc and /sys: "" but in tests. */
uint64_t cgroup_memory_free(const char *root);

/* Processor seconds used so far by all processes of this control group, or of the nearest one above it with an
 * account, except this process and the children that it has waited for. Running children count. Only differences have
 * a meaning. NAN: not known. */
double cgroup_others_s(const char *root);

#endif
