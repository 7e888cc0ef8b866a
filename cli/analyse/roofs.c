/* Reachable rates by compute capability, and the share of each that a row takes. */
#include "cli/analyse/roofs.h"

#include <math.h>

#include "kernels/gpu_models.h"
#include "kernels/problem/work.h"

/* 9.0 was measured on an H200 by micro-benchmarks of one instruction each: mma.sync m16n8k16 reaches 2720 of 4096
 * FLOP per clock and SM, wgmma 4080, ex2 16, L2 8.9 TB/s at 1980 MHz, DRAM 96 % of its peak. Of the others the
 * programming guide gives ex2 and shared memory, and mma.sync is their fastest instruction, but for 10.0, whose
 * tensor peak takes tcgen05: what mma.sync reaches there is not known. L2 is not known of any of them. */
static const struct rates {
  uint32_t cc_major, cc_minor;
  double mma_sync, wgmma; /* share of the tensor peak; 0: there is none, or it is not known */
  double fp32;            /* share of the fp32 peak */
  double ex2_per_clk_sm, shared_bytes_per_clk_sm, l2_bytes_per_clk_sm;
  double dram; /* share of the vendor's peak */
} rates[] = {
    {8, 0, 0.97, 0, 0.96, 16, 128, 0, 0.92}, {8, 6, 0.97, 0, 0.96, 16, 128, 0, 0.92},
    {8, 9, 0.97, 0, 0.96, 16, 128, 0, 0.92}, {9, 0, 0.664, 0.996, 0.96, 16, 128, 34, 0.96},
    {10, 0, 0, 0, 0.96, 16, 128, 0, 0.92},   {12, 0, 0.97, 0, 0.96, 16, 128, 0, 0.92},
};

/* A model that says more than this of the time does not describe the kernel. */
static const double MODELLED_SHARE_MAX = 1.0;

enum { FRAGMENT_ROWS = 16, WARP_THREADS = 32, WARPGROUP_WARPS = 4 };

static const struct rates *rates_of(const struct device_info *dev) {
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
    if (rates[i].cc_major == dev->cc_major && rates[i].cc_minor == dev->cc_minor) return &rates[i];
  return NULL;
}

double roofs_products_rate(const struct device_info *dev, enum roofs_products products, enum attn_dtype dtype) {
  const struct rates *r = rates_of(dev);
  const double tensor = dtype == ATTN_E4M3 ? gpu_tensor_rate(dev, dtype) : dev->tensor_flop_per_clk_sm;
  if (r == NULL) return 0;
  const double by_products[] = {[PRODUCTS_NONE] = 0,
                                [PRODUCTS_FP32] = dev->fp32_flop_per_clk_sm * r->fp32,
                                [PRODUCTS_MMA_SYNC] = tensor * r->mma_sync,
                                [PRODUCTS_WGMMA] = tensor * r->wgmma};
  return by_products[products];
}

double roofs_l2_gb_per_s(const struct device_info *dev) {
  const struct rates *r = rates_of(dev);
  return r == NULL ? 0 : r->l2_bytes_per_clk_sm * dev->sms * dev->sm_clock_max_mhz * 1e-3;
}

double roofs_dram_gb_per_s(const struct device_info *dev) {
  const struct rates *r = rates_of(dev);
  return r == NULL ? 0 : r->dram * dev->dram_gb_per_s;
}

const char *roofs_pipe_name(const struct roofs *roofs, enum roofs_pipe pipe) {
  static const char *const products[] = {"none", "fp32", "mma.sync", "wgmma"};
  static const char *const names[PIPE_COUNT] = {
      [PIPE_DRAM] = "DRAM", [PIPE_EX2] = "exponential (ex2)", [PIPE_L2] = "L2", [PIPE_SHARED] = "shared-memory"};
  return pipe == PIPE_PRODUCTS ? products[roofs->products] : names[pipe];
}

/* ---- what the row asks of a pipe ------------------------------------------------------------------------------- */

static double over(double amount, double per_us) { return per_us > 0 ? amount / per_us : (double)NAN; }

/* Bytes that warps read from shared memory when each reads K and V once for its own query rows, and the copies into
 * it. wgmma reads them once per warpgroup. NAN where warps share rows or D is split. */
static double shared_bytes(const struct record *r, const struct metrics *m, enum roofs_products products) {
  const struct attn_pass *pass = &r->pass[metrics_main_pass(r)].pass;
  uint32_t readers = pass->row_threads / WARP_THREADS;
  if (products == PRODUCTS_WGMMA) readers /= WARPGROUP_WARPS;
  const bool applies = products >= PRODUCTS_MMA_SYNC && m->traffic.known &&
                       (metrics_covers(pass) & ATTN_COVERS_D) == 0 && readers > 0 &&
                       r->plan.tile_q / readers >= FRAGMENT_ROWS;
  return applies ? m->traffic.reread_ratio * m->traffic.held_bytes * (readers + 1.0) : (double)NAN;
}

static void fill_modelled(const struct record *r, const struct metrics *m, const struct device_info *dev,
                          enum time_mode mode, struct roofs *out) {
  const struct rates *rate = rates_of(dev);
  const double us = r->time[mode].us.median, clk_per_us = metrics_clock_mhz(&r->time[mode], dev) * dev->sms;
  const bool stays_in_l2 = metrics_stays_in_l2(dev, mode, m->bytes);
  double *share = out->share[mode];
  share[PIPE_DRAM] = stays_in_l2 ? (double)NAN : over(m->bytes, roofs_dram_gb_per_s(dev) * 1e3) / us;
  share[PIPE_PRODUCTS] =
      over(m->flops, roofs_products_rate(dev, out->products, r->attn_case.shape.dtype) * clk_per_us) / us;
  share[PIPE_EX2] =
      over((double)work_pairs(&r->attn_case.shape), rate->ex2_per_clk_sm * clk_per_us) / us; /* one per score */
  share[PIPE_L2] =
      m->traffic.known ? over(m->traffic.requested_bytes, roofs_l2_gb_per_s(dev) * 1e3) / us : (double)NAN;
  share[PIPE_SHARED] = over(shared_bytes(r, m, out->products), rate->shared_bytes_per_clk_sm * clk_per_us) / us;
  for (enum roofs_pipe pipe = PIPE_L2; pipe <= PIPE_SHARED; pipe++)
    if (share[pipe] > MODELLED_SHARE_MAX) share[pipe] = NAN;
}

/* Counters of the bytes that really moved replace the model, over the profiler's own time. */
static void fill_counted(const struct metrics *m, const struct device_info *dev, struct roofs *out) {
  const struct counter_values *v = &m->counted.total;
  if (!m->counted.known || !(v->gpu_time_us > 0)) return;
  const double sm_cycles =
      (isfinite(v->sm_cycles) ? v->sm_cycles : v->gpu_time_us * dev->sm_clock_max_mhz) * dev->sms;
  const double counted[PIPE_COUNT] = {
      [PIPE_DRAM] = over(v->dram_read_bytes + v->dram_write_bytes, roofs_dram_gb_per_s(dev) * 1e3) / v->gpu_time_us,
      [PIPE_PRODUCTS] = NAN,
      [PIPE_EX2] = NAN,
      [PIPE_L2] = over(v->l2_bytes, roofs_l2_gb_per_s(dev) * 1e3) / v->gpu_time_us,
      [PIPE_SHARED] = v->shared_wavefronts / sm_cycles, /* one wavefront of 128 bytes a cycle */
  };
  for (enum roofs_pipe pipe = 0; pipe < PIPE_COUNT; pipe++) {
    if (!isfinite(counted[pipe])) continue;
    out->counted[pipe] = true;
    for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; mode++)
      if (m->mode[mode].known) out->share[mode][pipe] = counted[pipe];
  }
}

/* A kernel that says "tensor" and passes what mma.sync reaches uses wgmma. */
static enum roofs_products products_of(const struct record *r, const struct metrics *m,
                                       const struct device_info *dev) {
  if (r->math == ATTN_MATH_FP32) return PRODUCTS_FP32;
  if (r->math == ATTN_MATH_WGMMA) return PRODUCTS_WGMMA;
  if (r->math != ATTN_MATH_TENSOR) return PRODUCTS_NONE;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; mode++) {
    const double clock_mhz = metrics_clock_mhz(&r->time[mode], dev);
    const double reached = m->mode[mode].known ? m->flops / r->time[mode].us.median / clock_mhz / dev->sms : 0;
    if (reached > roofs_products_rate(dev, PRODUCTS_MMA_SYNC, r->attn_case.shape.dtype) &&
        roofs_products_rate(dev, PRODUCTS_WGMMA, r->attn_case.shape.dtype) > 0)
      return PRODUCTS_WGMMA;
  }
  return PRODUCTS_MMA_SYNC;
}

void roofs_of(const struct record *r, const struct metrics *m, const struct device_info *dev, struct roofs *out) {
  *out = (struct roofs){.known = false};
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; mode++)
    for (enum roofs_pipe pipe = 0; pipe < PIPE_COUNT; pipe++) out->share[mode][pipe] = NAN;
  if (dev->kind != DEVICE_CUDA || rates_of(dev) == NULL) return;
  out->products = products_of(r, m, dev);
  /* Without the rate of its products a row would look far from every roof. */
  if (!(roofs_products_rate(dev, out->products, r->attn_case.shape.dtype) > 0)) return;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; mode++)
    if (m->mode[mode].known) fill_modelled(r, m, dev, mode, out);
  fill_counted(m, dev, out);
  double most = 0;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; mode++)
    for (enum roofs_pipe pipe = 0; pipe < PIPE_COUNT; pipe++)
      if (out->share[mode][pipe] > most)
        most = out->share[mode][pipe], out->mode = mode, out->nearest = pipe, out->known = true;
}
