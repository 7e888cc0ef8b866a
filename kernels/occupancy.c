/* Computes how many blocks an SM holds at once. */
#include "kernels/occupancy.h"

/* Allocation units shared by compute capability 8.0 to 9.0: registers are given to warps in units of 256, each of the
 * SM's four partitions holds its own quarter of them, and shared memory comes in units of 128 bytes. */
enum {
  WARP_THREADS = 32,
  REGISTER_UNIT = 256,
  SM_PARTITIONS = 4,
  SMEM_UNIT_BYTES = 128,
};

static uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

static uint64_t blocks_by_registers(const struct device_info *dev, uint32_t warps, uint32_t registers) {
  if (registers == 0) return UINT32_MAX;
  const uint64_t per_warp = round_up((uint64_t)registers * WARP_THREADS, REGISTER_UNIT);
  /* A warp never takes registers of two partitions, so the division is per partition first. */
  const uint64_t warps_per_sm = dev->regs_per_sm / SM_PARTITIONS / per_warp * SM_PARTITIONS;
  return warps_per_sm / warps;
}

static uint64_t blocks_by_smem(const struct device_info *dev, uint64_t smem_bytes) {
  if (smem_bytes > dev->smem_per_block_bytes) return 0;
  const uint64_t allocated = round_up(smem_bytes + dev->smem_reserved_bytes, SMEM_UNIT_BYTES);
  return allocated == 0 ? UINT32_MAX : dev->smem_per_sm_bytes / allocated;
}

static uint64_t blocks_by_threads(const struct device_info *dev, uint32_t threads, uint32_t warps) {
  return threads > dev->threads_per_block ? 0 : dev->threads_per_sm / WARP_THREADS / warps;
}

struct occupancy occupancy_of(const struct device_info *dev, uint32_t threads_per_block,
                              uint32_t registers_per_thread, uint64_t smem_bytes) {
  const uint32_t threads = threads_per_block == 0 ? 1 : threads_per_block;
  const uint32_t warps = (threads - 1) / WARP_THREADS + 1;
  /* On a tie the earlier row is named: when threads or block slots run out as well, saving registers or shared memory
   * alone gains nothing. */
  const struct {
    uint64_t blocks;
    const char *name;
  } limits[] = {
      {blocks_by_threads(dev, threads, warps), "threads"},
      {dev->blocks_per_sm, "blocks"},
      {blocks_by_registers(dev, warps, registers_per_thread), "registers"},
      {blocks_by_smem(dev, smem_bytes), "shared memory"},
  };
  size_t least = 0;
  for (size_t i = 1; i < sizeof limits / sizeof limits[0]; i++)
    if (limits[i].blocks < limits[least].blocks) least = i;
  return (struct occupancy){.resident_blocks = (uint32_t)limits[least].blocks, .limited_by = limits[least].name};
}
