/* Decides whether a cell's output is right, and whether its time is plausible. The bounds depend on the dtype and
 * never on the variant.
 *
 * What is checked. A cell is launched with the inputs of every launch of kernels/pattern.h: with random inputs, and
 * two times (for few query rows: up to 13 times) with adversarial inputs. Before each launch O, LSE and the workspace
 * are poisoned; after it O, LSE, the redzones and the inputs are compared. During timing every sample starts with O
 * stale or poisoned, and a part of O is compared after it. After each mode all of O is compared. After all timing,
 * the launch with random inputs is checked once more.
 *
 * The bounds. A right kernel of a 16-bit dtype rounds P to the dtype, and rounds O; all else is fp32. With u the unit
 * roundoff of the dtype (2^-11 f16, 2^-8 bf16), one query row's error is then
 *     e = sum_j d_j p_j v_j + r o,   |d_j| <= u, |r| <= u.
 * The d_j of unlike P are independent, so their sum is at most u sqrt(sum_j p_j^2 |v_j|^2) = u w (0.41 u w is usual;
 * a row with one or two keys reaches u w). Those of equal P are equal, and give up to u |o| together. Hence
 *
 * - row: |e| <= U (w + 2 |o|) + A sqrt(D)
 * - element: |e_d| <= U (4 w / sqrt(D) + 2 |o_d|) + A
 * - output: ||e|| <= 0.75 sqrt(sum over rows of U^2 (w^2 + |o|^2)), on random inputs alone, where errors average
 *
 * A is the dtype's smallest number (2^-126 for bf16 and f32). U is u plus what fp32 costs: 2^-24 (8 + 2 sqrt(keys) +
 * 2 sqrt(D) (1 + S)), with S the row's largest |score|: the sums have that many terms, and an error of the score is a
 * relative error of P. For f32 u is 2^-24. So TF32 products, P or partial sums kept in 16 bits longer than once,
 * scores kept in 16 bits, and an exponential that is off by more than about u are wrong; P rounded to the dtype and
 * 16-bit partial outputs are not. Q may not be rounded again after the softmax scale: with scores of 60 that alone is
 * an error of 3 % in P.
 *
 * A soft cap adds S times the error of a hyperbolic tangent to U (2^-11 for 16-bit types, whose kernels use
 * tanh.approx.f32). A sink adds A sqrt(keys * sum_j |v_j|^2) to the bound of a row: beside a large one every weight
 * may be rounded to 0. A then grows by 2^-126 sqrt(keys), as sums of such products may be flushed to 0.
 *
 * LSE is the logarithm of the sum of P before P is rounded, so a right kernel has it in fp32 whatever the dtype: a
 * relative error of the sum is an absolute one of its logarithm, an error of the maximum that was subtracted cancels,
 * and the maximum plus the logarithm, times ln 2, is rounded up to three times. Hence |error| <= 2^-24 (8 + 2
 * sqrt(keys) + 2 sqrt(D) (Q + S) + 3 |LSE|), 1.1e-5 at 1024 keys and D = 64: U without the dtype's u, and with the
 * root mean square Q of the row's elements of Q in the place of 1. The terms of a score, of which those of K have the
 * size 1, may be much larger than their sum; P of a row with few keys does not show that, and LSE does. A sum of
 * rounded P, or exponentials that are off by 2^-14, are right in O and wrong here. Minus infinity for a row without
 * keys. */
#pragma once

#include "cli/record/record.h"

/* Poisons O and the workspace, launches once on random inputs, compares with the oracle, checks redzones and inputs.
 * *out must be zeroed before the first check of a cell; later calls keep the worse result. out->right is false once
 * any check failed. */
struct status check_output(struct bench *, const struct attn_problem *, struct check_record *out);

/* Does the same for the launches with adversarial inputs, up to the first that is wrong. Afterwards the bench holds
 * the random inputs again. */
struct status check_hard(struct bench *, const struct attn_problem *, struct check_record *out);

/* Checks the outputs of timing: the counts of bench_witness and, with `whole`, all of O. There must be no other
 * launch between the timing and this call. */
struct status check_timed(struct bench *, const struct attn_problem *, bool whole, struct check_record *out);

/* The record's status after its checks: `ok`; `wrong` or `implausible` (plausible.h) with the reason. */
void check_settle(struct record *, const struct device_info *);

/* Writes one sentence that says what is wrong, for the row's reason; "" when the check found nothing wrong. */
void check_explain(const struct check_record *, const struct attn_problem *, char out[RECORD_REASON_MAX]);
