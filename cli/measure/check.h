/* Is an output right, and can its time be? The bounds belong here, per dtype, never to a variant.
 *
 * What is checked. A cell is launched on every launch of kernels/pattern.h: on random inputs, and on two launches
 * (for few query rows: up to 13) of inputs that are hard on attention kernels. Each time O and the workspace are
 * poisoned before, and O, the redzones and the inputs looked at after. During timing every sample starts with O stale
 * or poisoned and ends with a look at a part of O; after each mode the whole of O is compared as the timing left it.
 * After all timing, the random launch is checked once more.
 *
 * The bounds. A right kernel of a 16-bit dtype rounds P to the dtype, and rounds O; all else is fp32. With u the unit
 * roundoff of the dtype (2^-11 f16, 2^-8 bf16), one query row's error is then
 *     e = sum_j d_j p_j v_j + r o,   |d_j| <= u, |r| <= u.
 * The d_j of unlike P are independent, so their sum is at most u sqrt(sum_j p_j^2 |v_j|^2) = u w (0.41 u w is usual;
 * a row with one or two keys reaches u w). Those of equal P are equal, and give up to u |o| together. Hence row: |e|
 * <= U (w + 2 |o|) + A sqrt(D) element:  |e_d| <= U (4 w / sqrt(D) + 2 |o_d|) + A output:   ||e|| <= 0.75 sqrt(sum
 * over rows of U^2 (w^2 + |o|^2)), on random inputs alone, where errors average A is the dtype's smallest number
 * (2^-126 for bf16 and f32). U is u plus what fp32 costs: 2^-24 (8 + 2 sqrt(keys) + 2 sqrt(D) (1 + S)), with S the
 * row's largest |score|: the sums have that many terms, and an error of the score is a relative error of P. For f32 u
 * is 2^-24. So TF32 products, P or partial sums kept in 16 bits longer than once, scores kept in 16 bits, and an
 * exponential that is off by more than about u are wrong; P rounded to the dtype and 16-bit partial outputs are not.
 * Q may not be rounded again after the softmax scale: with scores of 60 that alone is an error of 3 % in P.
 *
 * LSE is the logarithm of the sum of P before P is rounded, so a right kernel has it in fp32 whatever the dtype: a
 * relative error of the sum is an absolute one of its logarithm, an error of the maximum that was subtracted cancels,
 * and the maximum plus the logarithm, times ln 2, is rounded up to three times. Hence |error| <= 2^-24 (8 + 2
 * sqrt(keys) + 2 sqrt(D) (Q + S) + 3 |LSE|), 1.1e-5 at 1024 keys and D = 64: U without the dtype's u, and with the
 * root mean square Q of the row's elements of Q in the place of 1. The terms of a score, of which those of K have the
 * size 1, may be much larger than their sum; P of a row with few keys does not show that, and LSE does. A sum of
 * rounded P, or exponentials that are off by 2^-14, are right in O and wrong here. Minus infinity for a row without
 * keys. */
#ifndef ATTNBENCH_CLI_MEASURE_CHECK_H
#define ATTNBENCH_CLI_MEASURE_CHECK_H

#include "cli/record/record.h"

struct tolerance check_tolerance(enum attn_dtype);

/* Poisons O and the workspace, launches once on random inputs, compares with the oracle, checks redzones and inputs.
 * *out must be zeroed before the first check of a cell; later calls keep the worse result. out->right is false once
 * any check failed. */
struct status check_output(struct problem *, const struct attn_shape *, struct check_record *out);

/* The same on the launches of hard inputs, up to the first one that is wrong. Leaves random inputs behind. */
struct status check_hard(struct problem *, const struct attn_shape *, struct check_record *out);

/* What timing left: the samples' witness and, with `whole`, all of O. The problem must not have launched since. */
struct status check_timed(struct problem *, const struct attn_shape *, bool whole, struct check_record *out);

/* True when hot launches whose inputs change take so much longer than the hot median that launches on unchanged
 * inputs must have skipped work. A busy machine can look like that once: measure again before believing it. */
bool check_skips_work(const struct record *, const struct device_info *, double changed_us);

/* The record's status after its checks: `ok`; `wrong` or `implausible` with the reason. changed_us is from
 * problem_sample_changed. */
void check_settle(struct record *, const struct device_info *, double changed_us);

/* One sentence on what is wrong, for the row's reason. Empty when the check was right. */
void check_explain(const struct check_record *, const struct attn_shape *, char out[RECORD_REASON_MAX]);

#endif
