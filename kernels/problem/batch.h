/* A ragged batch: sequences of different lengths, packed without padding, as inference servers batch them.
 *
 * Its text is in the notation of serving benchmarks: groups joined by "_", each a count, "q" and the queries of a
 * sequence, "s" and its keys. "2q2k_4q512s4k" is 2 sequences of 2048 queries and 2048 keys, and 4 of 512 queries over
 * 4096 keys. A count of 1 and keys as many as queries are left out; a "k" after a length multiplies it by 1024. Or
 * the lengths are random: "ragged:7" is B sequences of 1 to Sq queries and 1 to Skv keys, by the seed 7. sequence.h
 * computes them. Valid C, C++ and CUDA. */
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
  ATTN_DRAWN_MAX = 1024,     /* sequences of a batch of random lengths */
  ATTN_BATCH_TEXT_MAX = 184, /* of the longest text, with its end */
};
#define ATTN_TOKENS_MAX INT32_MAX /* of all sequences together: offsets are int32 */

struct attn_group {
  uint32_t count, Sq, Skv; /* sequences; queries and keys of each, which may be 0 */
};

/* Zeroed: "uniform", all sequences have Sq queries and Skv keys, and tensors have a dimension for the batch. */
struct attn_batch {
  uint32_t groups; /* listed in group[]; 0 where none is */
  uint32_t drawn;  /* 1: the lengths are random, by `seed` */
  uint32_t seed;
  struct attn_group group[ATTN_GROUPS_MAX]; /* neighbours differ; those after the last one are zeros */
};

/* What a list adds up to: its sequences, and the longest lengths. */
struct attn_group attn_batch_extent(const struct attn_batch *);

/* Reads a batch at the beginning of `text`; equal neighbours become one group. Returns the text after it, or NULL
 * where there is none or a number is beyond 999999999. Checks no other limit. */
const char *attn_batch_read(const char *text, struct attn_batch *out);
void attn_batch_write(const struct attn_batch *, char out[ATTN_BATCH_TEXT_MAX]);
bool attn_batch_same(const struct attn_batch *, const struct attn_batch *);

#ifdef __cplusplus
}
#endif
#endif
