/* The sequences of a problem: how long each is, and where it begins among the tokens of all. All of it is computed
 * from the problem, so that no code here needs a table of lengths; the measured kernels read the offsets from tensors
 * (tensor.h). Valid C, C++ and CUDA. */
#ifndef ATTNBENCH_KERNELS_PROBLEM_SEQUENCE_H
#define ATTNBENCH_KERNELS_PROBLEM_SEQUENCE_H

#include "kernels/problem/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the rows of a tensor are: one for each query head and query, KV head and key, query head, beginning of a
 * sequence and the end of the last one, scale (attn_scale_row), page of a sequence, or query head and block of
 * queries. */
enum attn_rows {
  ATTN_ROWS_QUERIES,
  ATTN_ROWS_KEYS,
  ATTN_ROWS_HEADS,
  ATTN_ROWS_OFFSETS,
  ATTN_ROWS_SCALES,
  ATTN_ROWS_PAGES,
  ATTN_ROWS_BLOCKS
};

/* Are the sequences packed behind one another, whatever their lengths? */
static inline ATTN_HD bool attn_is_ragged(const struct attn_problem *p) {
  return p->batch.groups > 0 || p->batch.drawn != 0;
}

/* A number from 1 to `most`, by the upper bits of `random`. */
static inline ATTN_HD uint32_t attn_drawn_length(uint32_t random, uint32_t most) {
  return 1 + (uint32_t)((uint64_t)random * most >> 32);
}

/* 32 well-mixed bits for sequence b (Wellons' lowbias32). */
static inline ATTN_HD uint32_t attn_drawn_bits(uint32_t seed, uint32_t b) {
  uint32_t x = seed * 0x9e3779b9u + b + 1;
  x = (x ^ x >> 16) * 0x21f0aaadu;
  x = (x ^ x >> 15) * 0x735a2d97u;
  return x ^ x >> 15;
}

/* Neighbouring sequences of equal lengths: all of them, the groups of a list, or each one that is drawn. */
static inline ATTN_HD uint32_t attn_group_count(const struct attn_problem *p) {
  return p->batch.drawn != 0 ? p->B : p->batch.groups > 0 ? p->batch.groups : 1;
}

static inline ATTN_HD struct attn_group attn_group_of(const struct attn_problem *p, uint32_t index) {
  struct attn_group group = {p->B, p->Sq, p->Skv};
  if (p->batch.groups > 0) group = p->batch.group[index];
  if (p->batch.drawn != 0) {
    const uint32_t random = attn_drawn_bits(p->batch.seed, index);
    group.count = 1;
    group.Sq = attn_drawn_length(random, p->Sq);
    group.Skv = attn_drawn_length(random, p->Skv);
  }
  return group;
}

/* Queries, or keys, of all sequences. */
static inline ATTN_HD uint64_t attn_tokens(const struct attn_problem *p, enum attn_rows rows) {
  uint64_t tokens = 0;
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    const struct attn_group group = attn_group_of(p, i);
    tokens += (uint64_t)group.count * (rows == ATTN_ROWS_KEYS ? group.Skv : group.Sq);
  }
  return tokens;
}

/* One sequence. In a ragged batch q_first and k_first are the queries and keys of the sequences before it. Otherwise
 * tensors have a dimension for the batch, and both are 0. */
struct attn_sequence {
  uint32_t b, Sq, Skv, q_first, k_first;
};

/* The sequence `count` places after one of the same group; its last one gives where the next group begins. */
static inline ATTN_HD struct attn_sequence attn_sequence_behind(struct attn_sequence sequence, uint32_t count) {
  sequence.b += count;
  sequence.q_first += count * sequence.Sq;
  sequence.k_first += count * sequence.Skv;
  return sequence;
}

/* Sequence b. For b = B, q_first and k_first are where the last one ends. */
static inline ATTN_HD struct attn_sequence attn_sequence_of(const struct attn_problem *p, uint32_t b) {
  struct attn_sequence sequence = {b, p->Sq, p->Skv, 0, 0};
  if (!attn_is_ragged(p)) return sequence;
  sequence.b = 0;
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    const struct attn_group group = attn_group_of(p, i);
    sequence.Sq = group.Sq;
    sequence.Skv = group.Skv;
    if (b - sequence.b < group.count) return attn_sequence_behind(sequence, b - sequence.b);
    sequence = attn_sequence_behind(sequence, group.count);
  }
  return sequence;
}

/* The sequence of a ragged batch that contains query (or key) `token`, counted over all sequences. */
static inline ATTN_HD struct attn_sequence attn_sequence_with(const struct attn_problem *p, enum attn_rows rows,
                                                              uint32_t token) {
  struct attn_sequence sequence = {0, 0, 0, 0, 0};
  for (uint32_t i = 0; i < attn_group_count(p); ++i) {
    const struct attn_group group = attn_group_of(p, i);
    const uint32_t length = rows == ATTN_ROWS_KEYS ? group.Skv : group.Sq;
    const uint32_t left = token - (rows == ATTN_ROWS_KEYS ? sequence.k_first : sequence.q_first);
    sequence.Sq = group.Sq;
    sequence.Skv = group.Skv;
    if (left < (uint64_t)group.count * length) return attn_sequence_behind(sequence, left / length);
    sequence = attn_sequence_behind(sequence, group.count);
  }
  return sequence;
}

static inline ATTN_HD struct attn_mask attn_mask_of_sequence(const struct attn_problem *p,
                                                             const struct attn_sequence *sequence) {
  struct attn_mask mask = attn_mask_of(p);
  mask.Sq = sequence->Sq;
  mask.Skv = sequence->Skv;
  return mask;
}

#ifdef __cplusplus
}
#endif
#endif
