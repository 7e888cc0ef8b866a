/* Limits: CUDA C++ Programming Guide, "Compute Capabilities" and the vendor's tuning guides. Rates: the vendor's data
 * sheets (A10, L4, L40S, A100, H100, H200, HGX B200, GB200 NVL72) and architecture white papers (GA102 for the RTX
 * 3090, AD102 for the RTX 4090, "NVIDIA RTX Blackwell GPU Architecture" for the RTX 5090), divided back to FLOP per
 * clock per SM; tests/kernels/unit_occupancy.c multiplies them out again. Memory sizes, clocks and names are those
 * the driver reports, as is the L2 of B200 and GB200, which no data sheet gives. */
#include "kernels/gpu_models.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define KIB(n) ((n)*1024u)
#define MIB(n) (UINT64_C(n) << 20)

/* What depends on the compute capability alone. */
#define LIMITS_8_0                                                                                          \
  .cc_major = 8, .cc_minor = 0, .threads_per_sm = 2048, .blocks_per_sm = 32, .smem_per_sm_bytes = KIB(164), \
  .smem_per_block_bytes = KIB(163), .fp32_flop_per_clk_sm = 128
#define LIMITS_8_6                                                                                          \
  .cc_major = 8, .cc_minor = 6, .threads_per_sm = 1536, .blocks_per_sm = 16, .smem_per_sm_bytes = KIB(100), \
  .smem_per_block_bytes = KIB(99), .fp32_flop_per_clk_sm = 256
#define LIMITS_8_9                                                                                          \
  .cc_major = 8, .cc_minor = 9, .threads_per_sm = 1536, .blocks_per_sm = 24, .smem_per_sm_bytes = KIB(100), \
  .smem_per_block_bytes = KIB(99), .fp32_flop_per_clk_sm = 256
#define LIMITS_9_0                                                                                          \
  .cc_major = 9, .cc_minor = 0, .threads_per_sm = 2048, .blocks_per_sm = 32, .smem_per_sm_bytes = KIB(228), \
  .smem_per_block_bytes = KIB(227), .fp32_flop_per_clk_sm = 256
#define LIMITS_10_0                                                                                          \
  .cc_major = 10, .cc_minor = 0, .threads_per_sm = 2048, .blocks_per_sm = 32, .smem_per_sm_bytes = KIB(228), \
  .smem_per_block_bytes = KIB(227), .fp32_flop_per_clk_sm = 256
#define LIMITS_12_0                                                                                          \
  .cc_major = 12, .cc_minor = 0, .threads_per_sm = 1536, .blocks_per_sm = 24, .smem_per_sm_bytes = KIB(100), \
  .smem_per_block_bytes = KIB(99), .fp32_flop_per_clk_sm = 256
#define LIMITS_ALL                                                                        \
  .kind = DEVICE_CUDA, .modelled = true, .regs_per_sm = 65536, .threads_per_block = 1024, \
  .smem_reserved_bytes = KIB(1)

static const struct gpu_model models[] = {
    {"a10",
     {LIMITS_ALL, LIMITS_8_6, .name = "NVIDIA A10", .sms = 72, .l2_bytes = MIB(6), .memory_bytes = MIB(23028),
      .sm_clock_max_mhz = 1695, .dram_gb_per_s = 600, .tensor_flop_per_clk_sm = 1024}},
    {"l4",
     {LIMITS_ALL, LIMITS_8_9, .name = "NVIDIA L4", .sms = 58, .l2_bytes = MIB(48), .memory_bytes = MIB(23034),
      .sm_clock_max_mhz = 2040, .dram_gb_per_s = 300, .tensor_flop_per_clk_sm = 1024}},
    {"l40s",
     {LIMITS_ALL, LIMITS_8_9, .name = "NVIDIA L40S", .sms = 142, .l2_bytes = MIB(96), .memory_bytes = MIB(46068),
      .sm_clock_max_mhz = 2520, .dram_gb_per_s = 864, .tensor_flop_per_clk_sm = 1024}},
    {"a100",
     {LIMITS_ALL, LIMITS_8_0, .name = "NVIDIA A100-SXM4-80GB", .sms = 108, .l2_bytes = MIB(40),
      .memory_bytes = MIB(81920), .sm_clock_max_mhz = 1410, .dram_gb_per_s = 2039, .tensor_flop_per_clk_sm = 2048}},
    {"h100",
     {LIMITS_ALL, LIMITS_9_0, .name = "NVIDIA H100 80GB HBM3", .sms = 132, .l2_bytes = MIB(50),
      .memory_bytes = MIB(81559), .sm_clock_max_mhz = 1980, .dram_gb_per_s = 3350, .tensor_flop_per_clk_sm = 4096}},
    {"h200",
     {LIMITS_ALL, LIMITS_9_0, .name = "NVIDIA H200", .sms = 132, .l2_bytes = MIB(60), .memory_bytes = MIB(143771),
      .sm_clock_max_mhz = 1980, .dram_gb_per_s = 4800, .tensor_flop_per_clk_sm = 4096}},
    /* The vendor publishes no data sheet of it. f16 rate (a quarter of the H100's) and DRAM bandwidth are as
     * resellers and the press give them. */
    {"h20",
     {LIMITS_ALL, LIMITS_9_0, .name = "NVIDIA H20", .sms = 78, .l2_bytes = MIB(60), .memory_bytes = MIB(97871),
      .sm_clock_max_mhz = 1980, .dram_gb_per_s = 4000, .tensor_flop_per_clk_sm = 1024}},
    {"b200",
     {LIMITS_ALL, LIMITS_10_0, .name = "NVIDIA B200", .sms = 148, .l2_bytes = MIB(126), .memory_bytes = MIB(183359),
      .sm_clock_max_mhz = 1965, .dram_gb_per_s = 8000, .tensor_flop_per_clk_sm = 8192}},
    {"gb200",
     {LIMITS_ALL, LIMITS_10_0, .name = "NVIDIA GB200", .sms = 152, .l2_bytes = MIB(126), .memory_bytes = MIB(189471),
      .sm_clock_max_mhz = 2062, .dram_gb_per_s = 8000, .tensor_flop_per_clk_sm = 8192}},
    /* GeForce runs f16 products at half rate when they accumulate in fp32. */
    {"rtx3090",
     {LIMITS_ALL, LIMITS_8_6, .name = "NVIDIA GeForce RTX 3090", .sms = 82, .l2_bytes = MIB(6),
      .memory_bytes = MIB(24576), .sm_clock_max_mhz = 1695, .dram_gb_per_s = 936, .tensor_flop_per_clk_sm = 512}},
    {"rtx4090",
     {LIMITS_ALL, LIMITS_8_9, .name = "NVIDIA GeForce RTX 4090", .sms = 128, .l2_bytes = MIB(72),
      .memory_bytes = MIB(24564), .sm_clock_max_mhz = 2520, .dram_gb_per_s = 1008, .tensor_flop_per_clk_sm = 512}},
    {"rtx5090",
     {LIMITS_ALL, LIMITS_12_0, .name = "NVIDIA GeForce RTX 5090", .sms = 170, .l2_bytes = MIB(96),
      .memory_bytes = MIB(32607), .sm_clock_max_mhz = 2407, .dram_gb_per_s = 1792, .tensor_flop_per_clk_sm = 512}},
};

enum { MODEL_COUNT = sizeof models / sizeof models[0] };

/* 8.6: the GeForce rate with fp32 accumulation, as on most cards of that capability (A10 and A40 reach twice it).
 * 8.9: the data-centre rate (GeForce reaches half of it). 9.0: H100 and H200 (H20 reaches a quarter). 12.0: the
 * GeForce rate. */
static const struct {
  uint32_t cc_major, cc_minor;
  double tensor, fp32;
} rates[] = {
    {8, 0, 2048, 128}, {8, 6, 512, 256}, {8, 9, 1024, 256}, {9, 0, 4096, 256}, {10, 0, 8192, 256}, {12, 0, 512, 256},
};

size_t gpu_model_count(void) { return MODEL_COUNT; }

const struct gpu_model *gpu_model_at(size_t index) { return index < MODEL_COUNT ? &models[index] : NULL; }

const struct gpu_model *gpu_model_find(const char *name) {
  for (size_t i = 0; i < MODEL_COUNT; i++)
    if (strcasecmp(models[i].name, name) == 0) return &models[i];
  return NULL;
}

const struct gpu_model *gpu_model_of(const char *info_name) {
  for (size_t i = 0; i < MODEL_COUNT; i++)
    if (strcmp(models[i].info.name, info_name) == 0) return &models[i];
  return NULL;
}

const char *gpu_model_names(void) {
  static char names[MODEL_COUNT * 16];
  size_t used = 0;
  for (size_t i = 0; i < MODEL_COUNT && used < sizeof names; i++) {
    const char *before = i == 0 ? "" : i + 1 < MODEL_COUNT ? ", " : " or ";
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", before, models[i].name);
  }
  return names;
}

double gpu_tensor_flop_per_clk_sm(uint32_t cc_major, uint32_t cc_minor) {
  for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
    if (rates[i].cc_major == cc_major && rates[i].cc_minor == cc_minor) return rates[i].tensor;
  return 0;
}

double gpu_fp32_flop_per_clk_sm(uint32_t cc_major, uint32_t cc_minor) {
  for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
    if (rates[i].cc_major == cc_major && rates[i].cc_minor == cc_minor) return rates[i].fp32;
  return 0;
}

void gpu_model_rates(const struct device_info *info, double *tensor_flop_per_clk_sm, double *fp32_flop_per_clk_sm) {
  const struct gpu_model *model = gpu_model_of(info->name);
  *tensor_flop_per_clk_sm =
      model != NULL ? model->info.tensor_flop_per_clk_sm : gpu_tensor_flop_per_clk_sm(info->cc_major, info->cc_minor);
  *fp32_flop_per_clk_sm =
      model != NULL ? model->info.fp32_flop_per_clk_sm : gpu_fp32_flop_per_clk_sm(info->cc_major, info->cc_minor);
}

double gpu_tensor_rate(const struct device_info *info, enum attn_dtype dtype) {
  const bool has_e4m3 = info->cc_major > 8 || (info->cc_major == 8 && info->cc_minor >= 9);
  const double products = dtype == ATTN_E4M3 && !has_e4m3 ? 1 : attn_dtype_facts(dtype)->products;
  return info->tensor_flop_per_clk_sm / products;
}
