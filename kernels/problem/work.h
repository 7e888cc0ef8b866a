/* The work of a problem, by the same convention for every kernel: the FLOPs of both matrix products over the pairs of
 * query and key that the mask leaves, and the bytes of its tensors, each element once. Masked parts of tiles that a
 * kernel computes are not counted. */
#ifndef ATTNBENCH_KERNELS_PROBLEM_WORK_H
#define ATTNBENCH_KERNELS_PROBLEM_WORK_H

#include "kernels/problem/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pairs of a query row and a key that it sees, in all query heads of all sequences. */
uint64_t work_pairs(const struct attn_problem *);

/* The same without a mask: pairs of a query row and a key of its sequence. */
uint64_t work_unmasked_pairs(const struct attn_problem *);

/* Keys that at least one row sees, in all KV heads of all sequences; those that sequences share count once. */
uint64_t work_seen_keys(const struct attn_problem *);

/* The most keys that the rows of a block of queries, or without blocks a row, see in the longest sequence. */
uint32_t work_most_keys(const struct attn_problem *);

/* Bytes of one row of a tensor; 0 where the problem has none, or its elements are those of another. */
double work_row_bytes(const struct attn_problem *, enum attn_role);

/* 2 * (columns of Q + columns of V) for each pair: a multiplication and an addition each. The softmax
 * is not counted. */
double work_flops(const struct attn_problem *);

/* All rows of Q, the keys and values that some row sees, with their entries of the page table or of lists of blocks,
 * and every output, once each. */
double work_bytes(const struct attn_problem *);

/* work_bytes without the rows of Q that see no key, which no kernel has to read. */
double work_least_bytes(const struct attn_problem *);

#ifdef __cplusplus
}
#endif
#endif
