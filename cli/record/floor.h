/* The least time that a shape can take on a device, whatever the kernel: a median below it was not measured of this
 * computation. */
#ifndef ATTNBENCH_CLI_RECORD_FLOOR_H
#define ATTNBENCH_CLI_RECORD_FLOOR_H

#include "kernels/device.h"

/* Pairs of query row and key in one head: all, or those under the bottom-right causal mask. */
uint64_t floor_pairs(const struct attn_shape *);

/* Operations of both matrix products, over the pairs of query and key that the mask leaves; one FMA is two. The
 * softmax is not counted. */
double floor_flops(const struct attn_shape *);

/* Bytes of Q, K and V, read once, and of O and, where the shape asks for it, LSE, written once. */
double floor_bytes(const struct attn_shape *);

/* The longer one of: all multiplications on the tensor cores, all bytes through DRAM. sm_clock_mhz is the measured
 * clock, or the device's highest where it is NAN or 0. A f32 product may be put together from three 16-bit ones, so
 * f32 has a third of the tensor rate. Of a hot launch, what fits into L2 need not move. 0 on a CPU and where the
 * device's rates are not known. */
double floor_us(const struct attn_shape *, const struct device_info *, enum time_mode, double sm_clock_mhz);

#endif
