/* The tensors that a problem has, and where their elements lie. */
#include "kernels/problem/tensor.h"

static const struct {
  const char *name;
  bool output;
} roles[ATTN_ROLE_COUNT] = {
#define ROLE_ROW(role, member, type, output, rows) [ATTN_##role] = {#member, output},
    ATTN_TENSOR_MAP(ROLE_ROW)
#undef ROLE_ROW
};

const char *attn_role_name(enum attn_role role) { return roles[role].name; }
bool attn_role_is_output(enum attn_role role) { return roles[role].output; }

/* One past the last element. */
static uint64_t elements_of(const struct attn_view *v) {
  return attn_view_token(v, v->batch - 1, v->heads - 1, v->tokens - 1) + v->columns;
}

bool attn_tensor_of(const struct attn_problem *p, enum attn_role role, struct attn_tensor *out) {
  struct attn_tensor tensor = {.role = role,
                               .dtype = attn_dtype_of(p, role),
                               .output = roles[role].output,
                               .view = attn_view_of(p, role),
                               .memory = attn_is_packed(p, role) ? ATTN_Q : role};
  switch (role) {
    case ATTN_V: tensor.is_alias = p->v_in_k; break;
    case ATTN_Q:
    case ATTN_K:
    case ATTN_O: break;
    case ATTN_LSE:
      if (!p->lse) return false;
      break;
    case ATTN_SINK:
      if (!p->sink) return false;
      break;
    case ATTN_CU_SEQLENS_Q:
    case ATTN_CU_SEQLENS_K:
      if (!attn_is_ragged(p)) return false;
      tensor.is_whole = true;
      break;
    case ATTN_Q_SCALE:
    case ATTN_K_SCALE:
    case ATTN_V_SCALE:
      if (!attn_is_scaled(p, attn_scaled_role(role))) return false;
      break;
    case ATTN_PAGE_TABLE:
      if (!attn_is_paged(p)) return false;
      tensor.is_whole = true;
      break;
    case ATTN_BLOCK_COUNTS:
    case ATTN_BLOCK_INDICES:
      if (!attn_is_sparse(p)) return false;
      tensor.is_whole = true;
      break;
  }
  tensor.elements = elements_of(&tensor.view);
  if (attn_is_packed(p, role)) {
    tensor.offset = role * tensor.view.heads * (uint64_t)tensor.view.columns;
    tensor.elements = role == tensor.memory ? tensor.view.batch * tensor.view.batch_stride : 0;
  }
  if (tensor.is_alias) {
    tensor.memory = ATTN_K;
    tensor.elements = 0;
  }
  *out = tensor;
  return true;
}

uint64_t attn_tensor_bytes(const struct attn_tensor *tensor) {
  return tensor->elements * attn_dtype_bytes(tensor->dtype);
}
