/* What Q, K and V hold, for programs that compute attention without being loaded. */
#ifndef ATTNBENCH_CLI_MEASURE_INPUTS_H
#define ATTNBENCH_CLI_MEASURE_INPUTS_H

#include <stdio.h>

#include "kernels/variant.h"

/* Q, K and V of every launch that a check of this shape makes (kernels/pattern.h), the random one first: dense
 * numbers of the shape's dtype in the machine's byte order, nothing between them. */
struct status inputs_write(const struct attn_shape *, uint64_t seed, FILE *);

#endif
