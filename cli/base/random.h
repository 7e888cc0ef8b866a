/* Pseudo-random numbers from a seed: SplitMix64 (Steele, Lea, Flood 2014). */
#pragma once

#include <stdint.h>

/* The next number of the sequence; *state is the seed at first. */
uint64_t random_next(uint64_t *state);
/* The next number from 0 to n - 1; its bias of n / 2^64 is negligible. */
uint32_t random_below(uint64_t *state, uint32_t n);
