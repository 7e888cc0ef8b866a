/* Block-sparse attention: which blocks of keys a block of queries sees, as a rule of a few numbers.
 *
 * Its text begins with the block, in queries and in keys alike, and goes on with parts that "+" joins. "128:0.25" is
 * a quarter of the blocks that the mask leaves, at random. "128:sliding=3+global=1+random=2" is a fixed pattern, as
 * Longformer and BigBird have it: the blocks less than 3 away from the diagonal one, the first block for all queries
 * and all blocks for the first queries, and 2 more at random. "+seed=7" draws other blocks. blocks.h computes the
 * lists. Valid C, C++ and CUDA. */
#ifndef ATTNBENCH_KERNELS_PROBLEM_SPARSE_H
#define ATTNBENCH_KERNELS_PROBLEM_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/host_device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  ATTN_BLOCK_MIN = 16,
  ATTN_BLOCK_MAX = 65536,
  ATTN_BLOCKS_GIVEN_MAX = 65536, /* of `sliding`, `global` and `random` */
  ATTN_SPARSE_SEED_MAX = 999999999,
  ATTN_SPARSE_TEXT_MAX = 96, /* of the longest text, with its end */
};

/* Zeroed: "dense", every key. */
struct attn_sparse {
  uint32_t block;   /* queries of a block of queries, and keys of a block of keys; 0: there are no blocks */
  uint32_t density; /* thousandths of the blocks that the mask leaves, 1 to 1000; 0: a pattern of the next three */
  uint32_t sliding; /* blocks less than so many away from the diagonal one; at least 1 */
  uint32_t global;  /* the first blocks of keys, seen by all; their queries see all blocks */
  uint32_t random;  /* further blocks, at random */
  uint32_t seed;    /* of what is random */
};

/* What a text or JSON calls the members that are not `block` and `density`. */
#define ATTN_SPARSE_PARTS(X) X(sliding) X(global) X(random) X(seed)

/* Reads a rule at the beginning of `text`. Returns the text after it, or NULL where there is none within the limits
 * above. */
const char *attn_sparse_read(const char *text, struct attn_sparse *out);
void attn_sparse_write(const struct attn_sparse *, char out[ATTN_SPARSE_TEXT_MAX]);
bool attn_sparse_same(const struct attn_sparse *, const struct attn_sparse *);
/* Within the limits above, or zeroed. */
bool attn_sparse_is_sound(const struct attn_sparse *);

#ifdef __cplusplus
}
#endif
#endif
