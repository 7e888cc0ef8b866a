/* The order of the two programs within each pair. It is random, since a fixed order can coincide with a periodic
 * disturbance: with other load during every fourth process, the order candidate-base-base-candidate missed half of
 * the 3 % slowdowns. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Draws in which of `rounds` pairs the candidate runs first: in half of them, rounded up or down at random. The order
 * depends only on the arguments; `measurement` is the number of the measurement, 0 for the first. */
void order_draw(uint64_t seed, uint32_t measurement, uint32_t rounds, bool *candidate_first);

/* The same for a measurement that may end after `first` pairs, or after any `step` more: the candidate runs first in
 * half of the first pairs, and in half of each step. */
void order_draw_steps(uint64_t seed, uint32_t measurement, uint32_t rounds, uint32_t first, uint32_t step,
                      bool *candidate_first);

/* An unpredictable seed; never 0. */
uint64_t order_seed(void);
