/* A ragged batch: sequences of unlike lengths, packed behind one another, as servers batch them.
 *
 * It is written as benchmarks of servers write it: groups joined by "_", each a count, "q" and the queries of a
 * sequence, "s" and its keys. "2q2k_4q512s4k" is 2 sequences of 2048 queries and 2048 keys, and 4 of 512 queries over
 * 4096 keys. A count of 1 and keys as many as queries are left out; a "k" behind a length is a factor of 1024. Or it
 * is drawn: "ragged:7" is B sequences of 1 to Sq queries and 1 to Skv keys, by the seed 7. sequence.h has the
 * lengths. Valid C, C++ and CUDA. */
#ifndef ATTNBENCH_KERNELS_PROBLEM_BATCH_H
#define ATTNBENCH_KERNELS_PROBLEM_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/host_device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  ATTN_GROUPS_MAX = 8,
  ATTN_DRAWN_MAX = 1024,     /* sequences of a batch that is drawn */
  ATTN_BATCH_TEXT_MAX = 184, /* of the longest text, with its end */
};
#define ATTN_TOKENS_MAX INT32_MAX /* of all sequences together: offsets are int32 */

struct attn_group {
  uint32_t count, Sq, Skv; /* sequences; queries and keys of each, which may be 0 */
};

/* Zeroed: "uniform", all sequences have Sq queries and Skv keys, and tensors have a dimension for the batch. */
struct attn_batch {
  uint32_t groups; /* listed in group[]; 0 where none is */
  uint32_t drawn;  /* 1: by `seed` */
  uint32_t seed;
  struct attn_group group[ATTN_GROUPS_MAX]; /* neighbours are unlike; those behind the last one are zeros */
};

/* What a list adds up to: its sequences, and the longest lengths. */
struct attn_group attn_batch_extent(const struct attn_batch *);

/* Reads a batch at the beginning of `text`; like neighbours become one group. Returns the text behind it, or NULL
 * where there is none or a number is beyond 999999999. Checks no other limit. */
const char *attn_batch_read(const char *text, struct attn_batch *out);
void attn_batch_write(const struct attn_batch *, char out[ATTN_BATCH_TEXT_MAX]);
bool attn_batch_same(const struct attn_batch *, const struct attn_batch *);

#ifdef __cplusplus
}
#endif
#endif
