/* The table of known GPUs, for planning without hardware and for peak rates that the driver does not report. */
#ifndef ATTNBENCH_KERNELS_GPU_MODELS_H
#define ATTNBENCH_KERNELS_GPU_MODELS_H

#include "kernels/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_model {
  const char *name;        /* short and in small letters, as --gpu takes it */
  struct device_info info; /* modelled = true */
};

/* The GPU of planned rows without --gpu. */
#define GPU_MODEL_DEFAULT "h200"

size_t gpu_model_count(void);
const struct gpu_model *gpu_model_at(size_t index);
const struct gpu_model *gpu_model_find(const char *name); /* in any case; NULL when unknown */
const struct gpu_model *gpu_model_of(
    const char *info_name);        /* by the name that the driver reports; NULL when unknown */
const char *gpu_model_names(void); /* all of them, as "l4, a100 or h100" */

/* Dense f16 tensor and fp32 FLOP per clock per SM of a compute capability; 0 when unknown. */
double gpu_tensor_flop_per_clk_sm(uint32_t cc_major, uint32_t cc_minor);
double gpu_fp32_flop_per_clk_sm(uint32_t cc_major, uint32_t cc_minor);
/* The same of a device. Products of one architecture differ (GeForce halves the tensor rate), so a known model comes
 * before the compute capability. */
void gpu_model_rates(const struct device_info *, double *tensor_flop_per_clk_sm, double *fp32_flop_per_clk_sm);

/* The tensor rate of a GPU for products of this type, in FLOP per clock per SM: e4m3 at twice that of f16 from
 * compute capability 8.9 on, and as f16 before, where it has to be converted; f32 as attn_dtype_row.products says. */
double gpu_tensor_rate(const struct device_info *, enum attn_dtype);

#ifdef __cplusplus
}
#endif
#endif
