/* Takes the samples of the hot or the cold mode: warms up until the latency has settled, then samples until the
 * confidence interval of the median is narrow enough or the time budget is spent. */
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
/* The same with a smaller time budget (--quick), for measurements that many processes repeat. */
struct measure_settings measure_quick(enum device_kind);

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
