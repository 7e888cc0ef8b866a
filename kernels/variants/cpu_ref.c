/* cpu_ref: the fp64 oracle as a variant, so that a machine without a GPU has a second, independent answer to measure
 * and check against. All scores of 16 query rows are kept per thread (16 * Skv * 8 bytes: 64 KiB at Skv = 512), so
 * it leaves the caches where cpu_flash does not. */
#include "kernels/cpu/oracle.h"
#include "kernels/variant.h"

static const char *cpu_ref_supports(const struct attn_problem *shape, const struct attn_tuning *tuning,
                                    const struct device_info *device) {
  (void)shape, (void)tuning, (void)device;
  return NULL;
}

static void cpu_ref_plan(const struct attn_problem *shape, const struct attn_tuning *tuning,
                         const struct device_info *device, struct attn_plan *plan) {
  (void)tuning;
  plan->workspace_bytes = oracle_scratch_bytes(shape, device->sms ? device->sms : 1);
  plan->tile_q = 16;
  plan->tile_kv = 64;
  plan->splits = 1;
  plan->stages = 1;
}

static void cpu_ref_run(const struct attn_problem *shape, const struct attn_plan *plan,
                        const struct attn_buffers *buffers, unsigned threads) {
  struct oracle_input input = {.pattern = NULL};
  const struct oracle_output output = {.rounded = buffers->o, .lse = buffers->lse};
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) input.tensor[role] = buffers->tensor[role];
  const uint64_t room = plan->workspace_bytes / oracle_scratch_bytes(shape, 1);
  oracle_compute(shape, &input, &output, buffers->workspace, threads < room ? threads : (unsigned)room);
}

const struct attn_variant attn_variant_cpu_ref = {
    .name = "cpu_ref",
    .summary = "fp64 oracle on the CPU: two-pass softmax straight from the definition, multithreaded",
    .limits = "CPU",
    .runs_on = DEVICE_CPU,
    .math = ATTN_MATH_FP64_HOST,
    .takes = ATTN_TAKES_LSE | ATTN_TAKES_WINDOW | ATTN_TAKES_DV | ATTN_TAKES_SOFTCAP | ATTN_TAKES_SINK |
             ATTN_TAKES_LAYOUT | ATTN_TAKES_BATCH | ATTN_TAKES_E4M3 | ATTN_TAKES_PAGE | ATTN_TAKES_V_IN_K |
             ATTN_TAKES_SPARSE,
    .dtypes = ATTN_DTYPES_FLOAT | ATTN_DTYPE_BIT(ATTN_E4M3),
    .supports = cpu_ref_supports,
    .plan = cpu_ref_plan,
    .run = cpu_ref_run,
};
