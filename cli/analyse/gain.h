/* A model of the time that a change would save, from waves, blocks per SM and launches. scripts/proof/check_advice.py
 * compares its promises with measurements. Pure. */
#pragma once

#include "cli/analyse/metrics.h"

/* The part of a row's time, in microseconds, that no change of its blocks shortens: launch, first load, last store.
 */
double gain_fixed_us(enum time_mode, uint32_t passes);
/* Microseconds that one more pass of the plan adds, with its reads through L2. */
double gain_pass_us(void);

/* The time of one of `blocks` blocks that share an SM, in units of its time alone there. */
double gain_shared(uint32_t blocks);
/* The time of `blocks` equal blocks, in units of the time of one block alone on its SM. Blocks that share an SM slow
 * each other down, and waves run one after another. */
double gain_blocks(const struct device_info *, uint64_t blocks, uint32_t resident_blocks);
/* The time of a block with 1 / `parts` of the query rows, relative to now; it still loads all of K and V. */
double gain_fewer_rows(double parts);
/* The speedup of a full SM that holds `ratio` times as many blocks. */
double gain_residency(double ratio);
/* The speedup when one resource gets `ratio` times faster and its share of the time is not known. */
double gain_faster_part(double ratio);
