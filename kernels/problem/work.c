/* Counts operations and bytes. */
#include "kernels/problem/work.h"

/* The sum of a count over all sequences. */
static uint64_t over_sequences(const struct attn_problem *p, uint64_t (*count)(const struct attn_mask *)) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    const struct attn_group group = attn_group_of(p, i);
    const struct attn_mask mask = {.Sq = group.Sq, .Skv = group.Skv, .left = p->left, .right = p->right};
    sum += group.count * count(&mask);
  }
  return sum;
}

static uint64_t all_pairs(const struct attn_mask *mask) { return (uint64_t)mask->Sq * mask->Skv; }

static uint64_t seen_keys(const struct attn_mask *mask) {
  return mask->Sq > 0 ? attn_keys_count(attn_mask_rows(mask, 0, mask->Sq)) : 0;
}

static uint64_t blind_rows(const struct attn_mask *mask) { return mask->Sq - attn_mask_seeing_rows(mask); }

uint64_t work_pairs(const struct attn_problem *p) { return over_sequences(p, attn_mask_pairs); }

uint64_t work_unmasked_pairs(const struct attn_problem *p) { return over_sequences(p, all_pairs); }

double work_flops(const struct attn_problem *p) {
  const double columns = (double)attn_columns(p, ATTN_Q) + attn_columns(p, ATTN_V);
  return 2.0 * p->Hq * columns * (double)work_pairs(p);
}

uint64_t work_seen_keys(const struct attn_problem *p) { return over_sequences(p, seen_keys); }

static double counted_rows(const struct attn_problem *p, const struct attn_tensor *tensor) {
  if (attn_role_rows(tensor->role) != ATTN_ROWS_KEYS) return (double)attn_view_rows(&tensor->view);
  return (double)tensor->view.heads * (double)work_seen_keys(p);
}

double work_row_bytes(const struct attn_problem *p, enum attn_role role) {
  struct attn_tensor tensor;
  if (!attn_tensor_of(p, role, &tensor)) return 0;
  return (double)tensor.view.columns * attn_dtype_bytes(tensor.dtype);
}

double work_bytes(const struct attn_problem *p) {
  double bytes = 0;
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct attn_tensor tensor;
    if (!attn_tensor_of(p, (enum attn_role)role, &tensor)) continue;
    bytes += work_row_bytes(p, tensor.role) * counted_rows(p, &tensor);
  }
  return bytes;
}

double work_least_bytes(const struct attn_problem *p) {
  return work_bytes(p) - work_row_bytes(p, ATTN_Q) * p->Hq * (double)over_sequences(p, blind_rows);
}
