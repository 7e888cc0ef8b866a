/* Known GPUs by short name, for planning without hardware and for peak rates the driver does not tell. */
#ifndef ATTNBENCH_KERNELS_GPU_MODELS_H
#define ATTNBENCH_KERNELS_GPU_MODELS_H

#include "kernels/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_model {
  const char *name;        /* "l4", "a100", "h100", "h200", "rtx4090" */
  struct device_info info; /* modelled = true */
};

size_t gpu_model_count(void);
const struct gpu_model *gpu_model_at(size_t index);
const struct gpu_model *gpu_model_find(const char *name); /* NULL when unknown */

/* Dense f16 tensor and fp32 FLOP per clock per SM of a compute capability; 0 when unknown. */
double gpu_tensor_flop_per_clk_sm(uint32_t cc_major, uint32_t cc_minor);
double gpu_fp32_flop_per_clk_sm(uint32_t cc_major, uint32_t cc_minor);

#ifdef __cplusplus
}
#endif
#endif
