/* Decides whether a cell's output is right, and whether its time is plausible. The bounds depend on the dtype, and on
 * the variant where its arithmetic units round sums in another way than fp32.
 *
 * What is checked. A cell is launched with the inputs of every launch of kernels/pattern.h: with random inputs, and
 * with two different adversarial inputs (up to 13 where there are few query rows). Before each launch O, LSE and the
 * workspace are poisoned; after it O, LSE, the redzones and the inputs are compared. During timing every sample
 * starts with O stale or poisoned. After a sample the output of its last launch is compared, on a GPU all rows of it
 * (bench_witness). After each mode all of O is compared. After all timing, the launch with random inputs is checked
 * once more.
 *
 * The bounds and why they are what they are: results/check.md. */
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

/* The record's status after its checks: `ok`; `wrong` or `implausible` (plausible_judge) with the reason. */
void check_settle(struct record *, const struct device_info *);

/* Writes one sentence that says what is wrong, for the row's reason; "" when the check found nothing wrong. */
void check_explain(const struct check_record *, const struct attn_problem *, char out[RECORD_REASON_MAX]);
