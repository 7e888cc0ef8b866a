/* Right values, wrong use of memory: poison, the check after timing, redzones and inputs must see it. */
#include <string.h>

#include "kernels/cpu/threads.h"
#include "tests/faults/fault.h"

enum { RIGHT_LAUNCHES = 3, BYTES_BEYOND = 16 };

static void fault_stale_run(const struct attn_problem *shape, const struct attn_plan *plan,
                            const struct attn_buffers *buffers, unsigned threads) {
  static bool launched;
  if (!launched) attn_variant_cpu_ref.run(shape, plan, buffers, threads);
  launched = true;
}
FAULT(stale, "writes its output in the first launch only");

static uint32_t no_keys(const struct attn_problem *shape, uint32_t row) {
  (void)shape;
  (void)row;
  return 0;
}

static void fault_late_run(const struct attn_problem *shape, const struct attn_plan *plan,
                           const struct attn_buffers *buffers, unsigned threads) {
  static unsigned launches;
  if (launches < RIGHT_LAUNCHES) {
    ++launches;
    attn_variant_cpu_ref.run(shape, plan, buffers, threads);
  } else {
    fault_attention(shape, buffers, &(struct fault_rule){.keys = no_keys}, threads);
  }
}
FAULT(late, "right in the first three launches, zeros afterwards");

static void fault_redzone_run(const struct attn_problem *shape, const struct attn_plan *plan,
                              const struct attn_buffers *buffers, unsigned threads) {
  const uint64_t bytes = (uint64_t)shape->B * shape->Hq * shape->Sq * shape->D * attn_dtype_bytes(shape->dtype);
  attn_variant_cpu_ref.run(shape, plan, buffers, threads);
  memset((unsigned char *)buffers->o + bytes, 0, BYTES_BEYOND);
}
FAULT(redzone, "writes 16 bytes beyond O");

static void fault_input_run(const struct attn_problem *shape, const struct attn_plan *plan,
                            const struct attn_buffers *buffers, unsigned threads) {
  attn_variant_cpu_ref.run(shape, plan, buffers, threads);
  memset((void *)buffers->q, 0x3C, attn_dtype_bytes(shape->dtype));
}
FAULT(input, "changes one element of Q");

/* Right in itself: what goes wrong is done to them, by cards.c. */
static void right_run(const struct attn_problem *shape, const struct attn_plan *plan,
                      const struct attn_buffers *buffers, unsigned threads) {
  attn_variant_cpu_ref.run(shape, plan, buffers, threads);
}
#define fault_lost_run right_run
#define fault_oom_run  right_run
FAULT(lost, "the card is lost while it runs");
FAULT(oom, "its workspace is refused");

static void workspace_plan(const struct attn_problem *shape, const struct attn_tuning *tuning,
                           const struct device_info *device, struct attn_plan *plan) {
  fault_plan(shape, tuning, device, plan);
  plan->workspace_bytes = UINT64_C(1) << 50;
}

const struct attn_variant attn_variant_fault_workspace = {
    .name = "fault_workspace",
    .summary = "planted fault: plans a workspace that no device has",
    .limits = "CPU; f16, bf16, f32; D <= 256",
    .runs_on = DEVICE_CPU,
    .math = ATTN_MATH_FP64_HOST,
    .supports = fault_supports,
    .plan = workspace_plan,
    .run = right_run,
};

/* Two tasks compute half of the keys each and write the same rows: whoever comes last wins. */
struct race {
  const struct attn_problem *shape;
  const struct attn_buffers *buffers;
};

static uint32_t keys_of_half(const struct attn_problem *shape, uint32_t row) {
  const uint32_t keys = fault_keys(shape, row);
  return keys < shape->Skv / 2 ? keys : shape->Skv / 2;
}

static void race_task(void *context, uint64_t half, unsigned worker) {
  (void)worker;
  const struct race *race = context;
  const struct fault_rule rules[] = {{.keys = keys_of_half}, {.keys = fault_keys, .first_key = race->shape->Skv / 2}};
  fault_attention(race->shape, race->buffers, &rules[half], 1);
}

static void fault_race_run(const struct attn_problem *shape, const struct attn_plan *plan,
                           const struct attn_buffers *buffers, unsigned threads) {
  (void)plan;
  (void)threads;
  struct race race = {shape, buffers};
  cpu_parallel_for(2, 2, race_task, &race);
}
FAULT(race, "two tasks write the same rows");
