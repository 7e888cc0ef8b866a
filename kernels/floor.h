/* A lower bound of the time of a problem on a device, whatever the kernel. A median below it cannot be right. */
#ifndef ATTNBENCH_KERNELS_FLOOR_H
#define ATTNBENCH_KERNELS_FLOOR_H

#include "kernels/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The lower bound in microseconds: the larger one of the time of all multiplications on the tensor cores and the time
 * of all bytes through DRAM (problem/work.h). sm_clock_mhz is the measured clock; NAN or 0 stands for the device's
 * highest one. An f32 product may be composed of several 16-bit products, whose number is in dtypes.def. In a hot
 * launch the bytes that fit into L2 are not counted. 0 on a CPU, and where the device's rates are unknown. */
double floor_us(const struct attn_problem *, const struct device_info *, enum time_mode, double sm_clock_mhz);

#ifdef __cplusplus
}
#endif
#endif
