/* Outputs that are wrong in themselves: comparing with the oracle must see them. */
#include <string.h>

#include "tests/faults/fault.h"

enum { TILE_KEYS = 64 };

static uint32_t keys_below(const struct attn_problem *shape, uint32_t row, uint32_t limit) {
  const uint32_t keys = fault_keys(shape, row);
  return keys < limit ? keys : limit;
}

static uint32_t keys_before_last_tile(const struct attn_problem *shape, uint32_t row) {
  return keys_below(shape, row, (shape->Skv - 1) / TILE_KEYS * TILE_KEYS);
}

static uint32_t keys_off_by_one(const struct attn_problem *shape, uint32_t row) {
  const uint32_t keys = fault_keys(shape, row);
  if (!attn_is_causal(shape)) return keys - 1;
  return keys < shape->Skv ? keys + 1 : keys;
}

static uint32_t keys_of_first_half(const struct attn_problem *shape, uint32_t row) {
  return keys_below(shape, row, shape->Skv / 2);
}

static void fault_skip_head_run(const struct attn_problem *shape, const struct attn_plan *plan,
                                const struct attn_buffers *buffers, unsigned threads) {
  (void)plan;
  fault_attention(shape, buffers, &(struct fault_rule){.keys = fault_keys, .skip_last_head = true}, threads);
}
FAULT(skip_head, "the last head is never written");

static void fault_last_tile_run(const struct attn_problem *shape, const struct attn_plan *plan,
                                const struct attn_buffers *buffers, unsigned threads) {
  (void)plan;
  fault_attention(shape, buffers, &(struct fault_rule){.keys = keys_before_last_tile}, threads);
}
FAULT(last_tile, "the last tile of up to 64 keys is dropped");

static void fault_mask_off_by_one_run(const struct attn_problem *shape, const struct attn_plan *plan,
                                      const struct attn_buffers *buffers, unsigned threads) {
  (void)plan;
  fault_attention(shape, buffers, &(struct fault_rule){.keys = keys_off_by_one}, threads);
}
FAULT(mask_off_by_one, "causal rows attend one key too many, full rows one too few");

static void fault_missing_merge_run(const struct attn_problem *shape, const struct attn_plan *plan,
                                    const struct attn_buffers *buffers, unsigned threads) {
  (void)plan;
  fault_attention(shape, buffers, &(struct fault_rule){.keys = keys_of_first_half}, threads);
}
FAULT(missing_merge, "of two KV halves only the first one's result is written");

static void fault_nan_run(const struct attn_problem *shape, const struct attn_plan *plan,
                          const struct attn_buffers *buffers, unsigned threads) {
  const uint32_t element_bytes = attn_dtype_bytes(shape->dtype);
  attn_variant_cpu_ref.run(shape, plan, buffers, threads);
  memset((unsigned char *)buffers->o + (uint64_t)(shape->D - 1) * element_bytes, 0xFF, element_bytes);
}
FAULT(nan, "one element is NaN");
