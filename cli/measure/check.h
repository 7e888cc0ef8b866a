/* Decides whether a cell's output is right, and whether its time is plausible. The bounds depend on the dtype and
 * on the variant only where its units add differently.
 *
 * What is checked. A cell is launched with the inputs of every launch of kernels/pattern.h: with random inputs, and
 * two times (for few query rows: up to 13 times) with adversarial inputs. Before each launch O, LSE and the workspace
 * are poisoned; after it O, LSE, the redzones and the inputs are compared. During timing every sample starts with O
 * stale or poisoned, and its last launch is compared after it, on a GPU in all rows (bench_witness). After each mode
 * all of O is compared. After all timing, the launch with random inputs is checked once more.
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
 * Tensor cores truncate. A step of a sum over keys (16 keys on compute capability 9.0, 8 before) cuts the exact
 * products and the sum that it holds, A, at a place that depends on the largest of them, adds them exactly, and cuts
 * the result to fp32: two bits beyond fp32 and 16 products on 9.0, one and 8 before (tests/gpu/accumulation.cu
 * measures it). What is cut off is below 1 ulp of A at the end and below 1/4 or 1/2 for each product, half of that on
 * average, and always towards 0. An ulp is at most 2^-23 |A|, so where all terms have one sign a step takes 2^-24 (1
 * + 16/4) |A| on average: hence 5. Where they cancel, what the products lose cancels too, and the end takes at most
 * 2^-24 |A| on average; 1.5 leaves room for instructions that take 8 keys in a step of 16. What matters is the sum
 * held, not that of |p_j v_j|: of a V without a mean it is never much more than w, however long the row is, and of
 * one with a mean it is nearly all of o. So with t = 2^-24 keys / (keys in a step) the bounds grow by
 *
 * - row: 1.5 t w + 5 t max(0, |o| - w (1 + 4 / sqrt(D)))
 * - element: 1.5 t 4 w / sqrt(D) + 5 t max(0, |o_d| - 4 w / sqrt(D))
 * - output: the same as the row, in its squares
 *
 * since sums of random signs rarely exceed what is subtracted. A dropped tile of 64 keys is off by w sqrt(64 / keys),
 * a sum in f16 by 2^-12 w sqrt(keys / 16): both stay beyond the bounds up to 1048576 keys
 * (tests/measure/unit_long.c), as they would not if t multiplied sum_j p_j |v_j|. It counts for kernels that declare
 * tensor cores, and for 16-bit types also for a library's and for loaded ones on a GPU, which may use them unseen;
 * not where sums are rounded (bench_tolerance).
 *
 * e4m3. What is checked is the arithmetic on the numbers and scales as they are given. A right kernel rounds the
 * weights P to e4m3 (u = 2^-4), scaled by 2^8 so that the largest of a row, which is exp(0) = 1 at the maximum that
 * was subtracted, is exact; and O to its own type, whose roundoff is then the u of U. So only weights below the
 * largest are off. With r the part of the sum of weights that is not at the largest score, and w' the w of these keys
 * alone,
 *
 * - row: |e| <= U (w + 2 |o|) + W (w' + 2 r |o|) + F + A sqrt(D), and the element and the output accordingly
 *
 * but that an element may be off by as much as its row where the problem asks for outliers: those of V are in a few
 * columns, and so are the errors of their weights.
 *
 * W = 2^-4 + 2 * 2^-13 sqrt(D / 32) (S + Q): a score is a sum of 14 bits where tensor cores make it, and its error is
 * one of the weight relative to the largest. F = 2^-18 p sqrt(keys * sum_j |v_j|^2), p the largest weight: what is
 * subnormal in e4m3 is off by 2^-10 of 2^8, and all of it to one side where the weights are equal. A kernel that
 * leaves out 2^8 loses 256 times as much, and all weights below 2^-10 of the largest. W without r would hide that, as
 * the largest weight of such a row is most of o.
 *
 * On tensor cores such a sum has 14 bits: of 32 products each is cut to the units u = 2^-13 of the largest, on
 * average by half of one, and so is the result: up to 17 u of |o| where they have one sign, 2 u of w where they
 * cancel. It has to be added to one of 24 bits after 512 keys at the latest, so that t is 16 steps however long the
 * row is: t is 2^-13 * 16, with 17 and 2 in the place of 5 and 1.5, 3.3 % of a V with a mean. Without that a row of
 * 131072 equal weights loses what is below a unit of the sum that it holds, a quarter or more of o
 * (tests/measure/unit_long.c). LSE grows by 2^-13 (17 S + 2 Q) D / 32 on tensor cores; its sum is made of P before P
 * is rounded. A row that sees a NaN is NaN.
 *
 * Beside a sink the largest weight is off too, as the sink's is not. With z the sink's part of the sum and d what the
 * scores of a row lose alike, o moves by d z |o|: what is subtracted from all scores cancels but for the sink. So U
 * of e4m3 grows by d z / 2, since |o| counts twice, with the d by which LSE may move (below); a key whose score is
 * that of its sink is off by 3 % on compute capability 9.0. Where the keys' scores are sums of fp32 U has room for
 * it.
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
 * keys.
 *
 * Where sums are cut, a score is one: of its D products, in D / (keys in a step) steps. It loses up to 5 * 2^-24 S in
 * each where they have one sign, 1.5 * 2^-24 Q where they cancel, and LSE moves with it. So its bound grows by 2^-24
 * (5 S + 1.5 Q) D / (keys in a step): at D = 64 by less than the rest of it, from D = 512 on by more. No term grows
 * with the keys: P that tensor cores add up is rounded P, and the sum of P is to be made in fp32. */
#pragma once

#include "cli/record/record.h"

/* Poisons O and the workspace, launches once on random inputs, compares with the oracle, checks redzones and inputs.
 * *out must be zeroed before the first check of a cell; later calls keep the worse result. out->right is false once
 * any check failed. */
struct status check_output(struct bench *, struct check_record *out);

/* Does the same for the launches with adversarial inputs, up to the first that is wrong. Afterwards the bench holds
 * the random inputs again. */
struct status check_hard(struct bench *, const struct attn_problem *, struct check_record *out);

/* Checks the outputs of timing: the counts of bench_witness and, with `whole`, all of O. There must be no other
 * launch between the timing and this call. */
struct status check_timed(struct bench *, bool whole, struct check_record *out);

/* The probability that so many timed samples show a mistake that one launch in CHECK_RACE_LAUNCHES makes in one row,
 * where a sample's last launch is compared in this part of the rows. Pure. */
double check_race_found(uint64_t samples, double rows_ratio);

/* The record's status after its checks: `ok`; `wrong` or `implausible` (plausible_judge) with the reason. */
void check_settle(struct record *, const struct device_info *);

/* Writes one sentence that says what is wrong, for the row's reason; "" when the check found nothing wrong. */
void check_explain(const struct check_record *, const struct attn_problem *, char out[RECORD_REASON_MAX]);
