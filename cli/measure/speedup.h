/* How many times faster than a reference variant a row is, measured in turns with it on the same tensors:
 *
 *   reference, variant, reference, variant, ..., reference
 *
 * Each batch of the variant is held against the mean of the reference's batches before and after it, so that a clock
 * that drifts, up or down, drifts out of the ratio. Where the ratio itself drifts, the rounds are taken anew. The
 * row's ratio is the median over the last rounds, its interval comes from their order statistics.
 *
 * Where one takes SPEEDUP_FAR times as long as the other, or more, nobody asks for half a percent: the row's own
 * samples are held against a few of the reference that are taken after them. */
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
 * hot_launches and estimate_us are the variant's, from problem_time_prepare; own[] are its samples so far. */
struct status speedup_measure(struct device *, struct problem *, const struct speedup_reference *,
                              uint32_t hot_launches, double estimate_us, const bool modes[TIME_MODE_COUNT],
                              const struct time_record own[TIME_MODE_COUNT], struct speedup_record *out);

/* Writes why there is no speed-up. Succeeds. */
struct status speedup_none(struct speedup_record *, const char *why);

enum { SPEEDUP_ROUNDS_MAX = 15, SPEEDUP_FAR = 8 };

/* Pure: how far the ratio of the second half of the rounds is from that of the first, relative to it, beyond what
 * their scatter from round to round explains; 0: it stays where it is. Four rounds or more, else NAN. */
double speedup_drift(const double *reference_us, const double *variant_us, uint32_t rounds);

/* Pure: the record of `rounds` batches of the variant and the rounds + 1 of the reference around them. rounds >= 1.
 * overhead_us is in every one of these times and no kernel's own (event_overhead_in): it is taken off where enough of
 * the shortest time remains. */
struct ratio_record speedup_of_batches(const double *reference_us, const double *variant_us, uint32_t rounds,
                                       double overhead_us);

/* Pure: the record of so many samples of the reference and the row's own, which were taken before them: its interval
 * is as wide as those of both medians allow. */
struct ratio_record speedup_of_apart(const double *reference_us, uint32_t count, const struct time_record *own,
                                     double overhead_us);

#endif
