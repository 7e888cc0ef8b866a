/* The name of a case, the same in every file, table and message: "B1.H8.Hkv8.Sq512.Skv512.D64.f16.full", and ".lse"
 * behind it where the log-sum-exp is an output. */
#ifndef ATTNBENCH_CLI_SWEEP_CASE_KEY_H
#define ATTNBENCH_CLI_SWEEP_CASE_KEY_H

#include "kernels/variant.h"

enum { CASE_KEY_MAX = 96 };

/* Writes the case key into out. */
void case_key(const struct attn_shape *, char out[CASE_KEY_MAX]);

/* The reverse, for keys that are typed too: H may stand for Hkv as well, S for Sq and Skv, the parts may come in any
 * order, and without a dtype or mask it is f16 and full. False when it is no such key. */
bool case_key_read(const char *text, struct attn_shape *out);

/* f16, bf16, f32 by name; false: none of them. */
bool case_key_read_dtype(const char *name, enum attn_dtype *out);

#endif
