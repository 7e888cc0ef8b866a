/* The mask: which keys a query row sees. The oracles, the CPU kernels, the scalar kernels and the counts of work all
 * use these functions. Valid C, C++ and CUDA.
 *
 * A mask is a window, aligned bottom-right: query row i has the key position i + Skv - Sq, so that the last row has
 * the position of the last key. A row at position p sees the keys p - left to p + right, both included; -1 means no
 * bound on that side. Without bounds the mask is full; a causal mask is right = 0. A row whose window lies outside of
 * the keys sees none. (FlashAttention's window_size means the same; cuDNN's left bound excludes its end.)
 */
#ifndef ATTNBENCH_KERNELS_PROBLEM_MASK_H
#define ATTNBENCH_KERNELS_PROBLEM_MASK_H

#include <stdint.h>

#include "kernels/host_device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attn_mask {
  uint32_t Sq, Skv;
  int32_t left, right;
};

/* Keys [first, end); empty where they are equal. */
struct attn_keys {
  uint32_t first, end;
};

static inline ATTN_HD uint32_t attn_mask_clamp(int64_t key, uint32_t Skv) {
  return key <= 0 ? 0 : key >= (int64_t)Skv ? Skv : (uint32_t)key;
}

/* The keys that row `row` sees. */
static inline ATTN_HD struct attn_keys attn_mask_row(const struct attn_mask *mask, uint32_t row) {
  const int64_t position = (int64_t)row + (int64_t)mask->Skv - (int64_t)mask->Sq;
  struct attn_keys keys;
  keys.first = mask->left < 0 ? 0 : attn_mask_clamp(position - mask->left, mask->Skv);
  keys.end = mask->right < 0 ? mask->Skv : attn_mask_clamp(position + mask->right + 1, mask->Skv);
  return keys;
}

/* The keys that at least one of `rows` neighbouring rows sees, rows >= 1. Windows of neighbours overlap or touch. */
static inline ATTN_HD struct attn_keys attn_mask_rows(const struct attn_mask *mask, uint32_t row, uint32_t rows) {
  const struct attn_keys first = attn_mask_row(mask, row), last = attn_mask_row(mask, row + rows - 1);
  struct attn_keys keys;
  keys.first = first.first;
  keys.end = last.end;
  return keys;
}

static inline ATTN_HD uint32_t attn_keys_count(struct attn_keys keys) { return keys.end - keys.first; }

/* Pairs of a query row and a key that it sees, over all rows of one head. */
uint64_t attn_mask_pairs(const struct attn_mask *);
/* Rows that see at least one key. */
uint32_t attn_mask_seeing_rows(const struct attn_mask *);
/* The number of keys of the row that sees the most. */
uint32_t attn_mask_most(const struct attn_mask *);

#ifdef __cplusplus
}
#endif
#endif
