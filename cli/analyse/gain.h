/* What a change would save: a model of time from waves, blocks on an SM and launches, for promises that measurements
 * can be held against (scripts/proof/check_advice.py). Pure. */
#ifndef ATTNBENCH_CLI_ANALYSE_GAIN_H
#define ATTNBENCH_CLI_ANALYSE_GAIN_H

#include "cli/analyse/metrics.h"

/* The part of a row's time that no change of its blocks shortens: launch, first load, last store. */
double gain_fixed_us(enum time_mode, uint32_t passes);
/* A pass more in the plan, with the trip of what it reads through L2. */
double gain_pass_us(void);

/* How long `blocks` equal blocks take, in units of one block alone on its SM: blocks that share an SM slow each
 * other, waves follow each other. */
double gain_blocks(const struct device_info *, uint64_t blocks, uint32_t resident_blocks);
/* A block with 1 / `parts` of the query rows; K and V are loaded in full all the same. */
double gain_fewer_rows(double parts);
/* How much faster a full SM works with `ratio` times the blocks on it. */
double gain_residency(double ratio);
/* One resource gets `ratio` times faster, and how much of the time was its own is not known. */
double gain_faster_part(double ratio);

#endif
