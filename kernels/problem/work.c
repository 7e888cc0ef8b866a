/* Counts operations and bytes. */
#include "kernels/problem/work.h"

uint64_t work_pairs(const struct attn_problem *p) {
  const struct attn_mask mask = attn_mask_of(p);
  return attn_mask_pairs(&mask);
}

double work_flops(const struct attn_problem *p) {
  const double columns = (double)attn_columns(p, ATTN_Q) + attn_columns(p, ATTN_V);
  return 2.0 * p->B * p->Hq * columns * (double)work_pairs(p);
}

uint32_t work_seen_keys(const struct attn_problem *p) {
  const struct attn_mask mask = attn_mask_of(p);
  return attn_keys_count(attn_mask_rows(&mask, 0, p->Sq));
}

static uint32_t counted_tokens(const struct attn_problem *p, const struct attn_tensor *tensor) {
  return attn_role_rows(tensor->role) == ATTN_ROWS_KEYS ? work_seen_keys(p) : tensor->view.tokens;
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
    bytes += work_row_bytes(p, tensor.role) * tensor.view.batch * tensor.view.heads * counted_tokens(p, &tensor);
  }
  return bytes;
}

double work_least_bytes(const struct attn_problem *p) {
  const struct attn_mask mask = attn_mask_of(p);
  const double blind_rows = (double)p->B * p->Hq * (p->Sq - attn_mask_seeing_rows(&mask));
  return work_bytes(p) - work_row_bytes(p, ATTN_Q) * blind_rows;
}
