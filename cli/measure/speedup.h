/* The speed-up of a row over a reference variant, measured in alternating batches on the same tensors:
 *
 *   reference, variant, reference, variant, ..., reference
 *
 * Each batch of the variant is compared with the mean of the reference's batches before and after it, which cancels a
 * steady drift of the clock. When the ratio itself drifts, the rounds are measured again. The row's ratio is the
 * median over the last rounds, and its interval comes from their order statistics.
 *
 * So both sides run at one clock, which neither may keep alone. Steady batches last a second and more (steady_block),
 * and each side comes to its own clock.
 *
 * When one of the two takes SPEEDUP_FAR times as long as the other or more, less precision is enough: the samples
 * that the row has already are compared with a few samples of the reference, taken after them. */
#pragma once

#include "cli/record/record.h"

/* The reference as it is bound in the inactive binding of the bench (bench_swap). Zeroed: not tried yet for this
 * bench. */
struct speedup_reference {
  bool tried;
  char obstacle[SPEEDUP_REASON_MAX]; /* why there is no reference; "" when there is one */
  uint32_t hot_launches;
  double estimate_us;
  double memset_us; /* of a short launch (bench_sample_memsets); NAN: not known, or none */
};

/* Binds the reference variant in the inactive binding, checks its output and prepares its timing. When the reference
 * does not take this shape or is wrong, out->obstacle says so and the call succeeds. Failures are those of the
 * device. */
struct status speedup_prepare(struct device *, struct bench *, const struct attn_case *, const struct variant_spec *,
                              struct speedup_reference *out);

/* Measures the ratio of the active binding to the reference, which must have no obstacle, for each mode in modes[].
 * hot_launches and estimate_us are the variant's, from bench_time_prepare; own[] are its samples so far. */
struct status speedup_measure(struct device *, struct bench *, const struct speedup_reference *,
                              uint32_t hot_launches, double estimate_us, const bool modes[TIME_MODE_COUNT],
                              const struct time_record own[TIME_MODE_COUNT], struct speedup_record *out);

/* Notes in the record why there is no speed-up. Always succeeds. */
struct status speedup_none(struct speedup_record *, const char *why);

enum { SPEEDUP_ROUNDS_MAX = 15, SPEEDUP_FAR = 8 };

/* The drift of the ratio: the relative difference between the ratios of the second and the first half of the rounds,
 * as far as it exceeds their scatter from round to round; 0: no drift. NAN for fewer than four rounds. Pure. */
double speedup_drift(const double *reference_us, const double *variant_us, uint32_t rounds);

/* The record of `rounds` >= 1 batches of the variant and the rounds + 1 batches of the reference around them.
 * overhead_us is the part of every time that belongs to no kernel (event_overhead_in). As much of it is subtracted as
 * the shortest time allows (event_overhead_most). Pure. */
struct ratio_record speedup_of_batches(const double *reference_us, const double *variant_us, uint32_t rounds,
                                       double overhead_us);

/* The record of `count` samples of the reference and the row's own samples, which were taken before. Its interval is
 * the widest that the intervals of the two medians allow. Pure. */
struct ratio_record speedup_of_apart(const double *reference_us, uint32_t count, const struct time_record *own,
                                     double overhead_us);

/* Launches of less are compared without their memsets too (ratio_record.kernels_alone). */
#define SPEEDUP_SHORT_US 30.0

/* The ratio without the memsets of the two launches, whose times may be NAN: none. own_us is the time of the row with
 * its memsets. 0 when there are none, or when they would leave no time for a kernel. Pure. */
double speedup_kernels_alone(double ratio, double own_us, double reference_memset_us, double memset_us);
