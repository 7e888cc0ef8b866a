/* The time that a device can keep. A card that has just got work runs at its highest clock until its power limit, its
 * temperature and its regulation have caught up, which takes seconds; a row's launches back to back until then, and
 * the median of what follows, are its steady time.
 *
 * Launches are taken in windows of window_s. The time is steady when it has no trend in STEADY_WINDOWS windows in a
 * row (steady_is_reached); those windows are the measurement. When that has not happened after most_s, the last
 * windows are the measurement, and time_record.settled is false.
 *
 * Power and energy are those of these windows, host gaps between them included. Where the driver counts energy,
 * energy_j is what its counter grew by, and power_w is energy_j / elapsed_s; elsewhere power_w is the mean of the
 * driver's readings, one per window. */
#pragma once

#include "cli/record/record.h"

enum { STEADY_WINDOWS = 5, STEADY_WINDOW_SAMPLES = 800 };
_Static_assert(STEADY_WINDOWS *STEADY_WINDOW_SAMPLES <= TIME_SAMPLES_MAX, "a record holds all samples");

struct steady_settings {
  double window_s, relative, most_s;
  double block_s; /* of one side's turn beside its reference (steady_block) */
};

struct steady_settings steady_defaults(enum device_kind);

enum { STEADY_RANGE = 4 };

/* The mean times of windows in a row. True when the first two and the last two agree within `relative` in the mean,
 * and all of them within STEADY_RANGE times that: a power limit is held by steps of the clock of 1 % to and fro,
 * which are no trend. Pure. */
bool steady_is_reached(const double mean_us[STEADY_WINDOWS], double relative);

/* Fills *out. hot_launches and estimate_us come from bench_time_prepare. Device failures come back as they are. */
struct status steady_measure(struct device *, struct bench *, const struct steady_settings *, uint32_t hot_launches,
                             double estimate_us, bool keeps_samples, struct time_record *out);

/* Launches for `seconds`, and gives the median and the SM clock of the second half: in the first one, the device
 * comes from the clock that other launches left. sample_us is about the time of one sample (measure_sample_us). */
struct status steady_block(struct bench *, double seconds, double sample_us, double *median_us, double *clock_mhz);
