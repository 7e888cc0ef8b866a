/* What this machine's processor is, from /proc and /sys. */
#ifndef ATTNBENCH_KERNELS_CPU_HOST_INFO_H
#define ATTNBENCH_KERNELS_CPU_HOST_INFO_H

#include "kernels/variant.h"

/* Fills *out: kind, name, sms (threads used), l2_bytes (the largest cache), memory_bytes, sm_clock_max_mhz. What is
 * not told stays 0, and the name "unknown CPU". */
void cpu_info_read(struct device_info *out);

/* The processor's model name; leaves out alone when it is not told. */
void cpu_info_name(char *out, size_t size);

/* Memory that can be allocated without swapping, and within the limits of control groups; UINT64_MAX when unknown. */
uint64_t cpu_info_memory_free(void);

/* The monotonic clock, microseconds. */
double cpu_now_us(void);

#endif
