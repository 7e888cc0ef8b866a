/* The least time that a problem can take: operations over the tensor rate, bytes over the DRAM rate. */
#include "kernels/floor.h"

#include <math.h>

#include "kernels/gpu_models.h"
#include "kernels/problem/work.h"

double floor_us(const struct attn_problem *problem, const struct device_info *device, enum time_mode mode,
                double sm_clock_mhz) {
  const double clock_mhz = sm_clock_mhz > 0 ? sm_clock_mhz : device->sm_clock_max_mhz;
  const double pipe = fmax(gpu_tensor_rate(device, problem->dtype), device->fp32_flop_per_clk_sm);
  const double flop_per_us = pipe * device->sms * clock_mhz;
  const double in_cache = mode != TIME_COLD ? (double)device->l2_bytes : 0;
  const double moved = fmax(work_least_bytes(problem) - in_cache, 0);
  if (device->kind == DEVICE_CPU) return 0;
  return fmax(flop_per_us > 0 ? work_flops(problem) / flop_per_us : 0,
              device->dram_gb_per_s > 0 ? moved / device->dram_gb_per_s * 1e-3 : 0);
}
