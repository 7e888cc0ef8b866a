/* The limits of a device: its model's, its compute capability's, its own highest clock. */
#include "cli/record/machine.h"

#include <math.h>

#include "kernels/gpu_models.h"

/* A card may be made to run faster, and a later version may correct the table. A driver that does not tell says 0. */
static bool is_about(double said, double known) { return known == 0 || (said >= known / 2 && said <= known * 2); }
static bool is_about_or_0(double said, double known) { return said == 0 || is_about(said, known); }

/* Of a card with MIG some are switched off. */
static const char *model_problem(const struct device_info *said, const struct device_info *model) {
  if (said->cc_major != model->cc_major || said->cc_minor != model->cc_minor)
    return "has a compute capability that this GPU does not have";
  if (said->sms == 0 || said->sms > model->sms) return "has a number of SMs that this GPU does not have";
  if (said->memory_bytes > model->memory_bytes + model->memory_bytes / 10) return "has more memory than this GPU";
  if (!is_about_or_0(said->dram_gb_per_s, model->dram_gb_per_s)) return "has a DRAM rate that this GPU does not have";
  if (!is_about_or_0((double)said->l2_bytes, (double)model->l2_bytes)) return "has an L2 that this GPU does not have";
  return is_about_or_0(said->sm_clock_max_mhz, model->sm_clock_max_mhz)
             ? NULL
             : "has a highest clock that this GPU does not have";
}

const char *machine_problem(const struct device_info *info) {
  const struct gpu_model *model = gpu_model_of(info->name);
  double tensor, fp32;
  if (info->kind != DEVICE_CUDA) return NULL;
  gpu_model_rates(info, &tensor, &fp32);
  if (!is_about(info->tensor_flop_per_clk_sm, tensor)) return "has a tensor rate that this GPU does not have";
  if (!is_about(info->fp32_flop_per_clk_sm, fp32)) return "has an fp32 rate that this GPU does not have";
  return model != NULL ? model_problem(info, &model->info) : NULL;
}

bool machine_is_clock(const struct device_info *device, double sm_clock_mhz) {
  static const double slowest_mhz = 10, fastest_mhz = 10000,
                      reading = 1.05; /* a clock between two stamps is rounded */
  const bool is_known = device->kind == DEVICE_CUDA && device->sm_clock_max_mhz > 0;
  const double most_mhz = is_known ? reading * device->sm_clock_max_mhz : fastest_mhz;
  return isnan(sm_clock_mhz) || (sm_clock_mhz >= slowest_mhz && sm_clock_mhz <= most_mhz);
}
