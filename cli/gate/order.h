/* In which order the two programs of a pair run. A fixed order falls into step with whatever disturbs the machine in
 * turns: under a load of every fourth process, candidate-base-base-candidate missed half of the 3 % slowdowns. */
#ifndef ATTNBENCH_CLI_GATE_ORDER_H
#define ATTNBENCH_CLI_GATE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* Which of `rounds` pairs the candidate begins: half of them (of an odd number, half rounded up or down), drawn by
 * `seed` and the number of the measurement. The same seed gives the same order. */
void order_draw(uint64_t seed, uint32_t measurement, uint32_t rounds, bool *candidate_first);

/* A seed that nobody can foresee; never 0. */
uint64_t order_seed(void);

#endif
