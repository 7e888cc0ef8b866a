/* The name of a case, the same in every file, table and message: "B1.H8.Hkv8.Sq512.Skv512.D64.f16.full". */
#ifndef ATTNBENCH_CLI_SWEEP_CASE_KEY_H
#define ATTNBENCH_CLI_SWEEP_CASE_KEY_H

#include "kernels/variant.h"

enum { CASE_KEY_MAX = 96 };

/* Writes the case key into out. */
void case_key(const struct attn_shape *, char out[CASE_KEY_MAX]);

#endif
