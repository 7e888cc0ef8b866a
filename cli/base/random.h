/* Numbers by chance that a seed repeats: SplitMix64 (Steele, Lea, Flood 2014). */
#ifndef ATTNBENCH_CLI_BASE_RANDOM_H
#define ATTNBENCH_CLI_BASE_RANDOM_H

#include <stdint.h>

/* The next of the sequence; *state begins as the seed. */
uint64_t random_next(uint64_t *state);
/* The same from 0 to n - 1; the bias of n / 2^64 is nothing. */
uint32_t random_below(uint64_t *state, uint32_t n);

#endif
