#include "tests/faults/fault.h"

#include <math.h>

#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/threads.h"

enum { FAULT_D_MAX = 256 };

static float element(const void *data, enum attn_dtype dtype, uint64_t index) {
  return attn_dtype_value(dtype, attn_dtype_load(dtype, data, index));
}

struct fault_job {
  const struct attn_problem *shape;
  const struct attn_buffers *buffers;
  const struct fault_rule *rule;
};

static double fault_score(const struct fault_job *job, uint64_t q_row, uint64_t kv_row) {
  const struct attn_problem *s = job->shape;
  double dot = 0;
  for (uint32_t d = 0; d < s->D; ++d)
    dot += (double)element(job->buffers->q, s->dtype, q_row * s->D + d) *
           (double)element(job->buffers->k, s->dtype, kv_row * s->D + d);
  return dot / sqrt((double)s->D);
}

static void fault_row(void *context, uint64_t q_row, unsigned worker) {
  (void)worker;
  const struct fault_job *job = context;
  const struct attn_problem *s = job->shape;
  const uint64_t head = q_row / s->Sq % s->Hq, batch = q_row / s->Sq / s->Hq;
  const uint64_t kv_row = (batch * s->Hkv + head / (s->Hq / s->Hkv)) * s->Skv;
  const uint32_t keys = job->rule->keys(s, (uint32_t)(q_row % s->Sq));
  double o[FAULT_D_MAX] = {0}, maximum = -INFINITY, sum = 0;
  if (job->rule->skip_last_head && head == s->Hq - 1) return;
  for (uint32_t j = job->rule->first_key; j < keys; ++j) {
    const double score = fault_score(job, q_row, kv_row + j), larger = fmax(maximum, score);
    const double rescale = exp(maximum - larger), p = exp(score - larger);
    sum = sum * rescale + p;
    for (uint32_t d = 0; d < s->D; ++d)
      o[d] = o[d] * rescale + p * (double)element(job->buffers->v, s->dtype, (kv_row + j) * s->D + d);
    maximum = larger;
  }
  for (uint32_t d = 0; d < s->D; ++d)
    cpu_store(job->buffers->o, s->dtype, q_row * s->D + d, (float)(sum > 0 ? o[d] / sum : 0));
}

void fault_attention(const struct attn_problem *shape, const struct attn_buffers *buffers,
                     const struct fault_rule *rule, unsigned threads) {
  struct fault_job job = {.shape = shape, .buffers = buffers, .rule = rule};
  cpu_parallel_for(threads, (uint64_t)shape->B * shape->Hq * shape->Sq, fault_row, &job);
}

const char *fault_supports(const struct attn_problem *shape, const struct attn_tuning *tuning,
                           const struct device_info *device) {
  (void)shape, (void)tuning, (void)device;
  return NULL;
}

void fault_plan(const struct attn_problem *shape, const struct attn_tuning *tuning, const struct device_info *device,
                struct attn_plan *plan) {
  attn_variant_cpu_ref.plan(shape, tuning, device, plan);
}
