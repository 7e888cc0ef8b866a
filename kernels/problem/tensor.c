/* The tensors that a problem has, and where their elements lie. */
#include "kernels/problem/tensor.h"

static const struct {
  const char *name;
  bool output;
  enum attn_rows rows;
} roles[ATTN_ROLE_COUNT] = {
#define ROLE_ROW(role, member, type, output, rows) [ATTN_##role] = {#member, output, ATTN_ROWS_##rows},
    ATTN_TENSOR_MAP(ROLE_ROW)
#undef ROLE_ROW
};

const char *attn_role_name(enum attn_role role) { return roles[role].name; }
bool attn_role_is_output(enum attn_role role) { return roles[role].output; }
enum attn_rows attn_role_rows(enum attn_role role) { return roles[role].rows; }

static struct attn_view dense(uint32_t batch, uint32_t heads, uint32_t tokens, uint32_t columns) {
  const uint64_t head_stride = (uint64_t)tokens * columns;
  return (struct attn_view){.batch = batch,
                            .heads = heads,
                            .tokens = tokens,
                            .columns = columns,
                            .batch_stride = heads * head_stride,
                            .head_stride = head_stride,
                            .token_stride = columns};
}

static struct attn_view view_of(const struct attn_problem *p, enum attn_role role) {
  const uint32_t columns = attn_columns(p, role);
  switch (roles[role].rows) {
    case ATTN_ROWS_QUERIES: return dense(p->B, p->Hq, p->Sq, columns);
    case ATTN_ROWS_KEYS: return dense(p->B, p->Hkv, p->Skv, columns);
    case ATTN_ROWS_HEADS: return dense(1, p->Hq, 1, columns);
  }
  return (struct attn_view){0};
}

/* One past the last element. */
static uint64_t elements_of(const struct attn_view *v) {
  return attn_view_token(v, v->batch - 1, v->heads - 1, v->tokens - 1) + v->columns;
}

bool attn_tensor_of(const struct attn_problem *p, enum attn_role role, struct attn_tensor *out) {
  struct attn_tensor tensor = {
      .role = role, .dtype = p->dtype, .output = roles[role].output, .view = view_of(p, role)};
  switch (role) {
    case ATTN_Q:
    case ATTN_K:
    case ATTN_V:
    case ATTN_O: break;
    case ATTN_LSE:
      if (!p->lse) return false;
      tensor.dtype = ATTN_F32;
      break;
    case ATTN_SINK:
      if (!p->sink) return false;
      tensor.dtype = ATTN_F32;
      break;
  }
  tensor.elements = elements_of(&tensor.view);
  *out = tensor;
  return true;
}

uint64_t attn_tensor_bytes(const struct attn_tensor *tensor) {
  return tensor->elements * attn_dtype_bytes(tensor->dtype);
}
