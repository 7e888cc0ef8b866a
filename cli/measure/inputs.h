/* Writes the values of the input tensors, for programs outside attnbench that compute attention on the same inputs.
 */
#pragma once

#include <stdio.h>

#include "kernels/variant.h"

/* Writes the input tensors of every launch of a check of this problem (kernels/pattern.h), launch 0 first. The
 * tensors of a launch come in the order of enum attn_role (problem/tensor.h), and their rows in the order of the row
 * numbers. Elements have the dtype of their tensor and the machine's byte order; there is no padding. */
struct status inputs_write(const struct attn_problem *, uint64_t seed, FILE *);
