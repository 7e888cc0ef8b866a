/* The tensors of a problem, as a table. Code that allocates, fills, poisons, guards, compares, writes or counts
 * tensors loops over the roles, so that a new tensor is one more row here. Valid C, C++ and CUDA. */
#ifndef ATTNBENCH_KERNELS_PROBLEM_TENSOR_H
#define ATTNBENCH_KERNELS_PROBLEM_TENSOR_H

#include "kernels/problem/blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(ROLE, name and member of struct attn_buffers, element type of the pointer, whether it is an output, its rows). A
 * new tensor is added at the end, since the random inputs and the interface to loaded objects depend on a role's
 * number. */
#define ATTN_TENSOR_MAP(X)                                     \
  X(Q, q, const void, false, QUERIES)                          \
  X(K, k, const void, false, KEYS)                             \
  X(V, v, const void, false, KEYS)                             \
  X(O, o, void, true, QUERIES)                                 \
  X(LSE, lse, float, true, QUERIES)                            \
  X(SINK, sink, const float, false, HEADS)                     \
  X(CU_SEQLENS_Q, cu_seqlens_q, const int32_t, false, OFFSETS) \
  X(CU_SEQLENS_K, cu_seqlens_k, const int32_t, false, OFFSETS) \
  X(Q_SCALE, q_scale, const float, false, SCALES)              \
  X(K_SCALE, k_scale, const float, false, SCALES)              \
  X(V_SCALE, v_scale, const float, false, SCALES)              \
  X(PAGE_TABLE, page_table, const int32_t, false, PAGES)       \
  X(BLOCK_COUNTS, block_counts, const int32_t, false, BLOCKS)  \
  X(BLOCK_INDICES, block_indices, const int32_t, false, BLOCKS)

enum attn_role {
#define ATTN_ROLE_ENUM(role, ...) ATTN_##role,
  ATTN_TENSOR_MAP(ATTN_ROLE_ENUM)
#undef ATTN_ROLE_ENUM
};

enum {
#define ATTN_ROLE_COUNT_ONE(...) +1
  ATTN_ROLE_COUNT = 0 ATTN_TENSOR_MAP(ATTN_ROLE_COUNT_ONE)
#undef ATTN_ROLE_COUNT_ONE
};

static inline ATTN_HD enum attn_rows attn_role_rows(enum attn_role role) {
  switch (role) {
#define ATTN_ROWS_OF_ROLE(role, member, type, output, rows) \
  case ATTN_##role: return ATTN_ROWS_##rows;
    ATTN_TENSOR_MAP(ATTN_ROWS_OF_ROLE)
#undef ATTN_ROWS_OF_ROLE
  }
  return ATTN_ROWS_QUERIES;
}

/* The columns of a tensor: elements of one row. The problem must have the tensor. */
static inline ATTN_HD uint32_t attn_columns(const struct attn_problem *p, enum attn_role role) {
  switch (role) {
    case ATTN_Q:
    case ATTN_K: return p->D;
    case ATTN_V:
    case ATTN_O: return p->Dv;
    case ATTN_BLOCK_INDICES: return attn_blocks_most(p);
    case ATTN_LSE:
    case ATTN_SINK:
    case ATTN_CU_SEQLENS_Q:
    case ATTN_CU_SEQLENS_K:
    case ATTN_Q_SCALE:
    case ATTN_K_SCALE:
    case ATTN_V_SCALE:
    case ATTN_PAGE_TABLE:
    case ATTN_BLOCK_COUNTS: break;
  }
  return 1;
}

/* The element type of a tensor; ATTN_F32 for whole numbers too, whose 4 bytes then hold an int32_t. */
static inline ATTN_HD enum attn_dtype attn_dtype_of(const struct attn_problem *p, enum attn_role role) {
  switch (role) {
    case ATTN_Q: return p->dtype;
    case ATTN_K:
    case ATTN_V: return attn_kv_dtype(p);
    case ATTN_O: return attn_out_dtype(p);
    case ATTN_LSE:
    case ATTN_SINK:
    case ATTN_CU_SEQLENS_Q:
    case ATTN_CU_SEQLENS_K:
    case ATTN_PAGE_TABLE:
    case ATTN_Q_SCALE:
    case ATTN_K_SCALE:
    case ATTN_V_SCALE:
    case ATTN_BLOCK_COUNTS:
    case ATTN_BLOCK_INDICES: break;
  }
  return ATTN_F32;
}

/* ---- scales ---------------------------------------------------------------------------------------------------- */

/* Whether the elements of Q, K or V are to be multiplied by scales, which are a tensor of their own. */
static inline ATTN_HD bool attn_is_scaled(const struct attn_problem *p, enum attn_role role) {
  return (role == ATTN_Q || role == ATTN_K || role == ATTN_V) && attn_dtype_is_scaled(attn_dtype_of(p, role));
}

/* The scales of Q, K or V, and back. */
static inline ATTN_HD enum attn_role attn_scale_role(enum attn_role scaled) {
  return scaled == ATTN_Q ? ATTN_Q_SCALE : scaled == ATTN_K ? ATTN_K_SCALE : ATTN_V_SCALE;
}
static inline ATTN_HD enum attn_role attn_scaled_role(enum attn_role scale) {
  return scale == ATTN_Q_SCALE ? ATTN_Q : scale == ATTN_K_SCALE ? ATTN_K : ATTN_V;
}

/* How many scales a KV head of a sequence has for Q, K or V. */
static inline ATTN_HD uint32_t attn_scale_blocks(const struct attn_problem *p, enum attn_role scaled) {
  return scaled != ATTN_Q && p->scales == ATTN_SCALES_BLOCK ? (p->Skv - 1) / ATTN_SCALE_KEYS + 1 : 1;
}

/* The scale of a row of Q, K or V: its index in [B][Hkv][blocks]; 0 where a tensor has one. */
static inline ATTN_HD uint64_t attn_scale_row(const struct attn_problem *p, enum attn_role scaled,
                                              const struct attn_place *place) {
  const enum attn_rows rows = scaled == ATTN_Q ? ATTN_ROWS_QUERIES : ATTN_ROWS_KEYS;
  const uint32_t blocks = attn_scale_blocks(p, scaled);
  if (p->scales == ATTN_SCALES_TENSOR) return 0;
  return attn_kv_head_of(p, rows, place) * blocks + (blocks > 1 ? place->token / ATTN_SCALE_KEYS : 0);
}

/* ---- views ----------------------------------------------------------------------------------------------------- */

/* Where the elements of a tensor lie: element (b, h, token, d) at b * batch_stride + h * head_stride +
 * token * token_stride + d. Extents and strides count elements; neighbouring columns are neighbours in memory.
 * Tensors of a ragged batch have one batch, in which all sequences lie behind one another: token t of a sequence is
 * its first one plus t (attn_sequence). In a cache of pages each page is a batch of so many tokens: attn_view_key
 * finds a token of a sequence. */
struct attn_view {
  uint32_t batch, heads, tokens, columns;
  uint64_t batch_stride, head_stride, token_stride;
};

/* Is this a part of the one tensor that holds Q, K and V, in this order? */
static inline ATTN_HD bool attn_is_packed(const struct attn_problem *p, enum attn_role role) {
  return p->layout == ATTN_QKV && (role == ATTN_Q || role == ATTN_K || role == ATTN_V);
}

/* Scales are [B][Hkv][blocks] in every layout and batch, or one. */
static inline ATTN_HD struct attn_view attn_scale_view(const struct attn_problem *p, enum attn_role role) {
  const bool is_one = p->scales == ATTN_SCALES_TENSOR;
  struct attn_view view;
  view.batch = is_one ? 1 : p->B;
  view.heads = is_one ? 1 : p->Hkv;
  view.tokens = is_one ? 1 : attn_scale_blocks(p, attn_scaled_role(role));
  view.columns = 1;
  view.token_stride = 1;
  view.head_stride = view.tokens;
  view.batch_stride = view.heads * view.head_stride;
  return view;
}

/* K or V in pages. */
static inline ATTN_HD struct attn_view attn_view_of_pages(const struct attn_problem *p, enum attn_role role) {
  const bool is_by_head = p->layout == ATTN_HND;
  struct attn_view view;
  view.batch = (uint32_t)attn_pages_of(p).all;
  view.heads = p->Hkv;
  view.tokens = p->page;
  view.columns = attn_columns(p, role);
  const uint32_t stride = attn_columns(p, p->v_in_k ? ATTN_K : role);
  view.token_stride = is_by_head ? stride : (uint64_t)stride * view.heads;
  view.head_stride = is_by_head ? (uint64_t)stride * view.tokens : stride;
  view.batch_stride = (uint64_t)stride * view.heads * view.tokens;
  return view;
}

/* The page table: [B][pages of the longest sequence]. */
static inline ATTN_HD struct attn_view attn_view_of_table(const struct attn_problem *p) {
  const uint32_t pages = attn_pages_for(p->Skv, p->page);
  struct attn_view view = {p->B, 1, pages, 1, pages, pages, 1};
  return view;
}

static inline ATTN_HD struct attn_view attn_view_of(const struct attn_problem *p, enum attn_role role) {
  const enum attn_rows rows = attn_role_rows(role);
  if (rows == ATTN_ROWS_PAGES) return attn_view_of_table(p);
  if (rows == ATTN_ROWS_KEYS && attn_is_paged(p)) return attn_view_of_pages(p, role);
  const bool has_tokens = rows == ATTN_ROWS_QUERIES || rows == ATTN_ROWS_KEYS, is_ragged = attn_is_ragged(p);
  const bool is_by_head = p->layout == ATTN_BHSD || p->layout == ATTN_HND;
  const bool is_by_token = has_tokens && role != ATTN_LSE && (is_ragged || !is_by_head);
  const uint32_t stride = attn_columns(p, role == ATTN_V && p->v_in_k ? ATTN_K : role);
  const bool has_blocks = rows == ATTN_ROWS_BLOCKS;
  struct attn_view view;
  if (rows == ATTN_ROWS_SCALES) return attn_scale_view(p, role);
  view.batch = (has_tokens && !is_ragged) || has_blocks ? p->B : 1;
  view.heads = rows == ATTN_ROWS_KEYS ? p->Hkv : rows == ATTN_ROWS_OFFSETS ? 1 : p->Hq;
  view.tokens = rows == ATTN_ROWS_OFFSETS ? p->B + 1 : !has_tokens ? 1 : rows == ATTN_ROWS_KEYS ? p->Skv : p->Sq;
  if (has_tokens && is_ragged) view.tokens = (uint32_t)attn_tokens(p, rows);
  if (has_blocks) view.tokens = attn_blocks_in(p, p->Sq);
  view.columns = attn_columns(p, role);
  view.token_stride = stride;
  view.head_stride = view.tokens * view.token_stride;
  view.batch_stride = view.heads * view.head_stride;
  if (!is_by_token) return view;
  view.head_stride = stride;
  view.token_stride = (attn_is_packed(p, role) ? 3 : 1) * view.heads * view.head_stride;
  view.batch_stride = view.tokens * view.token_stride;
  return view;
}

static inline ATTN_HD uint64_t attn_view_token(const struct attn_view *v, uint32_t b, uint32_t h, uint32_t token) {
  return b * v->batch_stride + h * v->head_stride + token * v->token_stride;
}

/* Key `token` of a sequence, as a kernel finds it: in the page that `pages`, the sequence's row of the page table,
 * has for it, or, where that is NULL, in batch b. */
static inline ATTN_HD uint64_t attn_view_key(const struct attn_view *v, const int32_t *pages, uint32_t b, uint32_t h,
                                             uint32_t token) {
  if (pages == NULL) return attn_view_token(v, b, h, token);
  return attn_view_token(v, (uint32_t)pages[token / v->tokens], h, token % v->tokens);
}

/* The number of rows, which are numbered as in [batch][heads][tokens] (attn_place). */
static inline ATTN_HD uint64_t attn_view_rows(const struct attn_view *v) {
  return (uint64_t)v->batch * v->heads * v->tokens;
}

/* The first element of a row. */
static inline ATTN_HD uint64_t attn_view_row(const struct attn_view *v, uint64_t row) {
  const uint64_t head = row / v->tokens;
  return attn_view_token(v, (uint32_t)(head / v->heads), (uint32_t)(head % v->heads), (uint32_t)(row % v->tokens));
}

/* Tensors may be packed into one piece of memory, which then belongs to one of them. */
struct attn_tensor {
  enum attn_role role;
  enum attn_dtype dtype; /* attn_dtype_of */
  bool is_whole;         /* its elements are whole numbers */
  bool output;
  bool is_alias;         /* its elements are those of another tensor, whose memory it lies in: V, where it is in K */
  struct attn_view view; /* from its own first element on */
  enum attn_role memory; /* whose memory it lies in */
  uint64_t offset;       /* of its first element in that memory */
  uint64_t elements;     /* of its own memory, with all that is packed into it; 0: it lies in another's */
};

/* False where the problem has no such tensor; *out is then not written. */
bool attn_tensor_of(const struct attn_problem *, enum attn_role, struct attn_tensor *out);

bool attn_role_is_output(enum attn_role);
const char *attn_role_name(enum attn_role); /* "q" */

/* Whether it is to be filled with inputs. */
static inline ATTN_HD bool attn_is_input(const struct attn_tensor *tensor) {
  return !tensor->output && !tensor->is_alias;
}

/* The size of its own memory. */
uint64_t attn_tensor_bytes(const struct attn_tensor *);

/* The KV head, by its index in [B][Hkv], of a row of Q, O or LSE, by its number. */
static inline ATTN_HD uint64_t attn_kv_head_of_row(const struct attn_problem *p, uint64_t row) {
  const struct attn_place place = attn_place_of(p, ATTN_ROWS_QUERIES, row);
  return attn_kv_head_of(p, ATTN_ROWS_QUERIES, &place);
}

#ifdef __cplusplus
}
#endif
#endif
