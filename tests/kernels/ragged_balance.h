/* How evenly q tiles of a ragged batch load the blocks of wgmma_general and wgmma_paged, for unit_ragged_balance.c.
 */
#ifndef ATTNBENCH_TESTS_KERNELS_RAGGED_BALANCE_H
#define ATTNBENCH_TESTS_KERNELS_RAGGED_BALANCE_H

#include <stdint.h>

#include "kernels/problem/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The time of the busiest of `blocks` blocks over the mean, with q tiles of `rows` queries of `tile_heads` heads and
 * tiles of `keys` keys. */
double ragged_uneven(const struct attn_problem *, uint32_t rows, uint32_t keys, uint32_t tile_heads, uint32_t blocks);

#ifdef __cplusplus
}
#endif

#endif
