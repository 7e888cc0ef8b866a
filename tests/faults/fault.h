/* Variants that are wrong on purpose, to prove the checker and the supervisor. They are built only into
 * attnbench-faulty: the registry takes tests/faults.def as ATTN_EXTRA_VARIANTS. */
#ifndef ATTNBENCH_TESTS_FAULTS_FAULT_H
#define ATTNBENCH_TESTS_FAULTS_FAULT_H

#include "kernels/variant.h"

extern const struct attn_variant attn_variant_cpu_ref;

/* What is wrong with an attention that is otherwise by the definition. */
struct fault_rule {
  uint32_t (*keys)(const struct attn_problem *, uint32_t row); /* how many keys a row attends */
  uint32_t first_key;                                          /* and from which one on */
  bool skip_last_head;
};

/* Keys that a row sees of a full or a causal mask, from the first one on. */
static inline uint32_t fault_keys(const struct attn_problem *problem, uint32_t row) {
  return attn_keys_of_row(problem, row).end;
}

/* Attention by this rule: a plain fp64 online softmax per row that shares no code with the oracle. */
void fault_attention(const struct attn_problem *, const struct attn_buffers *, const struct fault_rule *,
                     unsigned threads);

/* cpu_ref's, with D limited to 256. */
const char *fault_supports(const struct attn_problem *, const struct attn_tuning *, const struct device_info *);
void fault_plan(const struct attn_problem *, const struct attn_tuning *, const struct device_info *,
                struct attn_plan *);

/* Defines attn_variant_fault_ID, which runs fault_ID_run. */
#define FAULT(id, text)                                 \
  const struct attn_variant attn_variant_fault_##id = { \
      .name = "fault_" #id,                             \
      .summary = "planted fault: " text,                \
      .limits = "CPU",                                  \
      .runs_on = DEVICE_CPU,                            \
      .math = ATTN_MATH_FP64_HOST,                      \
      .dtypes = ATTN_DTYPES_FLOAT,                      \
      .dims = {.most = 256},                            \
      .supports = fault_supports,                       \
      .plan = fault_plan,                               \
      .run = fault_##id##_run,                          \
  }

#endif
