/* The least time that a shape can take on a device, whatever the kernel: a median below it was not measured of this
 * computation. */
#ifndef ATTNBENCH_CLI_RECORD_FLOOR_H
#define ATTNBENCH_CLI_RECORD_FLOOR_H

#include "kernels/device.h"

/* Operations of both matrix products, over the pairs of query and key that the mask leaves; one FMA is two. */
double floor_flops(const struct attn_shape *);

/* Bytes of Q, K, V and O. */
double floor_bytes(const struct attn_shape *);

/* The longer one of: all multiplications on the tensor cores, all bytes through DRAM. sm_clock_mhz is the measured
 * clock, or the device's highest where it is NAN or 0. A f32 product may be put together from three 16-bit ones, so
 * f32 has a third of the tensor rate. Of a hot launch, what fits into L2 need not move. 0 on a CPU and where the
 * device's rates are not known. */
double floor_us(const struct attn_shape *, const struct device_info *, enum time_mode, double sm_clock_mhz);

#endif
