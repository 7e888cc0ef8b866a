/* Is an output right? The tolerance belongs here, per dtype, never to a variant.
 *
 * Every element: |o - ref| <= relative * (sum_j p_j |v_jd| + |ref|) + absolute, with ref from the fp64 oracle. With u
 * the unit roundoff of the dtype (2^-11 f16, 2^-8 bf16), rounding P to the dtype moves an element by at most u * sum
 * p|v| and rounding O by at most u * |ref|; `relative` is twice that, which leaves room for fp32 accumulation. f32
 * has no such rounding: its bound covers D-term dot products and Skv-term sums in fp32, and is too tight for TF32
 * products. Whole output: ||o - ref|| / ||ref|| <= frobenius, which sees many small errors (a dropped tile of a long
 * row) that no single element shows. A correct kernel lands near 0.6 u. */
#ifndef ATTNBENCH_CLI_MEASURE_CHECK_H
#define ATTNBENCH_CLI_MEASURE_CHECK_H

#include "cli/record/record.h"

struct tolerance check_tolerance(enum attn_dtype);

/* Poisons O and the workspace, launches once, compares with the oracle, checks redzones and inputs. *out must be
 * zeroed before the first check of a cell; later calls keep the worse result. out->right is false once any check
 * failed. */
struct status check_output(struct problem *, const struct attn_shape *, struct check_record *out);

/* The record's status after its checks: `ok`, or `wrong` with the reason. */
void check_settle(struct record *);

/* One sentence on what is wrong, for the row's reason. Empty when the check was right. */
void check_explain(const struct check_record *, const struct attn_shape *, char out[RECORD_REASON_MAX]);

#endif
