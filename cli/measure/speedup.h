/* How many times faster than a reference variant a row is, measured in turns with it on the same tensors:
 *
 *   reference, variant, reference, variant, ..., reference
 *
 * Each batch of the variant is held against the mean of the reference's batches before and after it, so that a clock
 * that drifts, up or down, drifts out of the ratio. Where the ratio itself drifts, the rounds are taken anew. The
 * row's ratio is the median over the last rounds, its interval comes from their order statistics. */
#ifndef ATTNBENCH_CLI_MEASURE_SPEEDUP_H
#define ATTNBENCH_CLI_MEASURE_SPEEDUP_H

#include "cli/record/record.h"

/* The reference as it stands bound in the problem's parked slot. Zeroed: not yet tried for the open problem. */
struct speedup_reference {
  bool tried;
  char problem[SPEEDUP_REASON_MAX]; /* why there is none; empty when it can be measured against */
  uint32_t hot_launches;
  double estimate_us;
};

/* Binds the variant `spec` in the parked slot, checks its output and gets it ready for timing. That the reference
 * does not take this shape, or is wrong, stands in out->problem and is no failure; a failure is the device's. */
struct status speedup_prepare(struct device *, struct problem *, const struct attn_case *, const char *spec,
                              struct speedup_reference *out);

/* The modes that are asked for, for the bound variant against the parked reference, which must have no problem.
 * hot_launches and estimate_us are the variant's, from problem_time_prepare. */
struct status speedup_measure(struct device *, struct problem *, const struct speedup_reference *,
                              uint32_t hot_launches, double estimate_us, const bool modes[TIME_MODE_COUNT],
                              struct speedup_record *out);

/* Writes why there is no speed-up. Succeeds. */
struct status speedup_none(struct speedup_record *, const char *why);

enum { SPEEDUP_ROUNDS_MAX = 15 };

/* Pure: whether the first half of the rounds has the ratio of the second, but for `relative`. Two rounds or more. */
bool speedup_is_steady(const double *reference_us, const double *variant_us, uint32_t rounds, double relative);

/* Pure: the record of `rounds` batches of the variant and the rounds + 1 of the reference around them. rounds >= 1.
 * overhead_us is in every one of these times and no kernel's own (event_overhead_in): it is taken off where enough of
 * the shortest time remains. */
struct ratio_record speedup_of_batches(const double *reference_us, const double *variant_us, uint32_t rounds,
                                       double overhead_us);

#endif
