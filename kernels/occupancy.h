/* Resident blocks per SM from a device's limits, for planning without a GPU. The allocation rules (register unit 256
 * per warp, shared memory unit 128 bytes, warps in fours) are those of CUDA's occupancy calculator for compute
 * capability 8.0 to 9.0. */
#ifndef ATTNBENCH_KERNELS_OCCUPANCY_H
#define ATTNBENCH_KERNELS_OCCUPANCY_H

#include "kernels/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

struct occupancy {
  uint32_t resident_blocks; /* 0: the block does not fit at all */
  const char *limited_by;   /* "registers", "shared memory", "threads", "blocks" */
};

/* registers_per_thread is 0 when unknown; registers then limit nothing, so that the result is an upper bound. */
struct occupancy occupancy_of(const struct device_info *, uint32_t threads_per_block, uint32_t registers_per_thread,
                              uint64_t smem_bytes);

#ifdef __cplusplus
}
#endif
#endif
