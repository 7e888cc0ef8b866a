/* The least time that a shape can take: operations over the tensor rate, bytes over the DRAM rate. */
#include "cli/record/floor.h"

#include <math.h>

uint64_t floor_pairs(const struct attn_shape *s) {
  const uint64_t rows = s->Sq, keys = s->Skv;
  if (!s->causal) return rows * keys;
  /* A trapezoid when every row attends something, else a triangle under the rows that attend nothing. */
  return keys >= rows ? rows * (keys - rows) + rows * (rows + 1) / 2 : keys * (keys + 1) / 2;
}

double floor_flops(const struct attn_shape *s) { return 4.0 * s->B * s->Hq * s->D * (double)floor_pairs(s); }

double floor_bytes(const struct attn_shape *s) {
  const double query_rows = (double)s->B * s->Hq * s->Sq, key_rows = (double)s->B * s->Hkv * s->Skv;
  return 2.0 * attn_dtype_bytes(s->dtype) * s->D * (query_rows + key_rows) + (s->lse ? 4.0 * query_rows : 0);
}

/* Bytes that have to move: all but the rows of Q that attend no key. */
static double needed_bytes(const struct attn_shape *s) {
  const double idle_rows = s->causal && s->Sq > s->Skv ? (double)s->Sq - s->Skv : 0;
  return floor_bytes(s) - (double)attn_dtype_bytes(s->dtype) * s->D * s->B * s->Hq * idle_rows;
}

double floor_us(const struct attn_shape *shape, const struct device_info *device, enum time_mode mode,
                double sm_clock_mhz) {
  const double products = shape->dtype == ATTN_F32 ? 3 : 1;
  const double clock_mhz = sm_clock_mhz > 0 ? sm_clock_mhz : device->sm_clock_max_mhz;
  const double pipe = fmax(device->tensor_flop_per_clk_sm / products, device->fp32_flop_per_clk_sm);
  const double flop_per_us = pipe * device->sms * clock_mhz;
  const double in_cache = mode == TIME_HOT ? (double)device->l2_bytes : 0;
  const double moved = fmax(needed_bytes(shape) - in_cache, 0);
  if (device->kind == DEVICE_CPU) return 0;
  return fmax(flop_per_us > 0 ? floor_flops(shape) / flop_per_us : 0,
              device->dram_gb_per_s > 0 ? moved / device->dram_gb_per_s * 1e-3 : 0);
}
