/* Times a cell in a worker. The samples of the hot or the cold mode: warms up until the latency has settled, then
 * samples until the confidence interval of the median is narrow enough or the time budget is spent. Further below:
 * the steady mode, the speed-up over a reference, binding, and slowdowns that are put in. */
#pragma once

#include "cli/base/owned.h"
#include "cli/record/record.h"

struct measure_settings {
  struct stats_rule rule;
  double settle_min_s, settle_max_s; /* limits of the warm-up's duration */
  double settle_window_s;            /* approximate duration of one window of samples */
  double settle_relative;            /* settled: medians of two successive windows differ by less */
  bool keeps_samples;                /* time_record.samples_us is filled */
};

struct measure_settings measure_defaults(enum device_kind);
/* Settings of --quick, for measurements that many processes repeat: a smaller time budget than measure_defaults, the
 * smallest for hot times of a GPU, and a narrower interval to reach. */
struct measure_settings measure_quick(enum device_kind, enum time_mode);

/* Fills *out. hot_launches and estimate_us come from bench_time_prepare. Device failures come back as they are. */
struct status measure_mode(struct device *, struct bench *, enum time_mode, const struct measure_settings *,
                           uint32_t hot_launches, double estimate_us, struct time_record *out);

/* How many samples to take before the stopping rule is evaluated again. With slow launches it is no more than the
 * rule needs. cost_us is the approximate time of one sample; `taken` samples exist already. */
uint32_t measure_batch(const struct stats_rule *, double cost_us, uint32_t taken);

/* Copies samples to memory that lives as long as the records of the process; STATUS_MEMORY without it. */
struct status measure_keep_samples(const double *us, uint32_t count, struct numbers *out);

/* Whether the medians of the first and second half of the samples, in the order they were taken, differ by less than
 * `relative`. Samples that are steady and have a narrow interval count as settled even when the warm-up did not
 * settle. */
bool measure_is_steady(const double *us, uint32_t n, double relative);

/* Measures hot launches on inputs whose maxima grow (pattern_grows): *ratio is their time over that of `hot`, which
 * was taken on random ones. NAN where D is too short for such inputs. The bench then holds the random inputs again,
 * and outputs of others. cost_us is the time of a sample. */
struct status measure_growing(struct bench *, const struct attn_problem *, const struct time_record *hot,
                              double cost_us, double *ratio);
/* The ratio of n such times, taken at this clock (NAN: not known): of the medians, in cycles. Where a clock is not
 * known, as on a CPU, whose processors others use too, it is that of the least times. Pure. */
double measure_growing_ratio(const double *us, uint32_t n, double clock_mhz, const struct time_record *hot);

/* Writes the median cold time of each pass, in microseconds, to pass_us[0..pass_count). */
struct status measure_passes(struct bench *, uint32_t pass_count, double estimate_us, double *pass_us);

/* Makes the rest of the enclosing block a range of this name in a profiler's timeline. */
#define MEASURE_RANGE(on, name) \
  OWNED(measure_range_end)      \
  __attribute__((unused)) struct device *const measure_range = measure_range_begin((on), (name))
struct device *measure_range_begin(struct device *, const char *name);
void measure_range_end(struct device *const *);

/* Turns a text into the name of a range: replaces ':' and ',', which have a meaning in the filters of profilers, by
 * '.'. scripts/lib/profiler.py does the same. */
void measure_range_name(char *text);

/* About how long one sample of a mode occupies the device, in microseconds. A hot or steady sample is a graph of
 * launches; a cold sample is one launch with the flush and the blocking kernel before it. */
double measure_sample_us(enum time_mode, uint32_t hot_launches, double estimate_us);

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

/* The reference as it is bound in the inactive binding of the bench (bench_swap). Zeroed: not tried yet for this
 * bench. */
struct speedup_reference {
  bool tried;
  char obstacle[SPEEDUP_REASON_MAX]; /* why there is no reference; "" when there is one */
  char library[SPEEDUP_LIBRARY_MAX]; /* behind it, with its version; "" where it has none */
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

/* Launches of less are compared without their memsets too (record_kernels_alone). */
#define SPEEDUP_SHORT_US 30.0

/* Binds planned cells: makes them ready to be launched in a process that owns the device. */

/* True when the variant needs a vendor's library that cannot be loaded; the record is then `skipped` with the reason.
 */
bool bind_library_missing(const struct variant_spec *, struct record *);

/* Binds record->plan in the bench, and fills in the resources of its passes as the runtime reports them, or the
 * launches of a vendor's library. */
struct status bind_cell(struct device *, struct bench *, const struct variant_spec *, struct record *);

/* Sets the record's status after a bind: `skipped` for STATUS_UNSUPPORTED, `error` for other failures, unchanged
 * without a failure. Returns the failure, but success for STATUS_UNSUPPORTED. */
struct status bind_settle(const struct status *, struct record *);

/* Injects a slowdown of known size into chosen cells, as the positive control of everything that should detect
 * slowdowns. It changes times only: the output is checked before and after as always, and the record of the cell says
 * what was injected. */

/* Cells whose "KEY/VARIANT" matches the glob (fnmatch; * also matches / and .) take `percent` longer. */
struct inject_rule {
  char glob[CELL_GLOB_MAX]; /* empty: nothing is injected */
  double percent;
};

/* Reads "GLOB:PERCENT". The last colon is the separator, since the glob may have one before the tunables of a
 * variant. `text` NULL gives an empty rule. STATUS_USAGE says what is wrong. */
struct status inject_parse(const char *text, struct inject_rule *out);

/* The percentage for this cell; 0 when the rule is not for it. */
double inject_percent(const struct inject_rule *, const char *key, const char *variant);

/* Sets the delay (bench_delay) with which launches of the bound variant take `percent` percent longer, for each mode
 * that is timed. It times launches with and without the delay in turns, and on a GPU corrects the delay until the
 * ratio is right. Call bench_time_prepare before and again afterwards. estimate_us is the time of one launch in
 * microseconds. A failure other than STATUS_DEVICE says that the cell is too short for so small a slowdown, or that
 * its times vary too much. */
struct status inject_calibrate(struct device *, struct bench *, const bool modes[TIME_MODE_COUNT], double percent,
                               double estimate_us, struct injected_record *out);

/* The next delay to try when a delay of delay_us > 0 added added_us to the time and wanted_us was to be added.
 * least_added_us is what the shortest delay adds. All are microseconds. Pure. */
double inject_next_delay(double delay_us, double added_us, double least_added_us, double wanted_us);

/* The parameters of timing and checking as JSON, for other tools that time or check in the same way. */

/* Adds "timing": {"cuda": {...}, "cpu": {...}} and "check": the bounds of each dtype (results/check.md). */
void policy_add(cJSON *object);
