/* What a mask leaves of all pairs of queries and keys, in closed form. */
#include "kernels/problem/mask.h"

/* The sum over all rows of their position + `shift`, cut to [0, Skv]. */
static uint64_t sum_of_positions(const struct attn_mask *mask, int64_t shift) {
  const int64_t rows = mask->Sq, keys = mask->Skv, start = keys - rows + shift;
  /* Rows before `zero` are cut to 0, rows from `full` on to Skv; between them the position grows by 1. */
  const int64_t zero = start >= 0 ? 0 : -start >= rows ? rows : -start;
  const int64_t full = start >= keys ? 0 : keys - start >= rows ? rows : keys - start;
  const uint64_t count = full > zero ? (uint64_t)(full - zero) : 0;
  const uint64_t first = count > 0 ? (uint64_t)(start + zero) : 0;
  return count * first + (count > 0 ? count * (count - 1) / 2 : 0) + (uint64_t)(rows - full) * mask->Skv;
}

uint64_t attn_mask_pairs(const struct attn_mask *mask) {
  const uint64_t all = (uint64_t)mask->Sq * mask->Skv;
  const uint64_t ends = mask->right < 0 ? all : sum_of_positions(mask, (int64_t)mask->right + 1);
  return ends - (mask->left < 0 ? 0 : sum_of_positions(mask, -(int64_t)mask->left));
}

/* Only the first rows see no key, where Sq > Skv, and there those whose window ends before the first key. */
uint32_t attn_mask_seeing_rows(const struct attn_mask *mask) {
  const int64_t blind = (int64_t)mask->Sq - mask->Skv - mask->right;
  if (mask->Skv == 0) return 0;
  if (mask->right < 0 || blind <= 0) return mask->Sq;
  return blind >= mask->Sq ? 0 : mask->Sq - (uint32_t)blind;
}

/* A row's keys grow in number while its window starts before the first key, and shrink once it ends behind the last.
 */
uint32_t attn_mask_most(const struct attn_mask *mask) {
  if (mask->Sq == 0) return 0;
  const int64_t whole = (int64_t)mask->left - ((int64_t)mask->Skv - (int64_t)mask->Sq);
  const uint32_t last = mask->Sq - 1, row = mask->left < 0 || whole > last ? last : whole < 0 ? 0 : (uint32_t)whole;
  return attn_keys_count(attn_mask_row(mask, row));
}
