/* Takes the samples of one mode: warm up until the latency has settled, then sample until the interval of the median
 * is narrow enough or the time is spent. */
#ifndef ATTNBENCH_CLI_MEASURE_MEASURE_H
#define ATTNBENCH_CLI_MEASURE_MEASURE_H

#include "cli/record/record.h"

struct measure_settings {
  struct stats_rule rule;
  double settle_min_s, settle_max_s; /* warm-up lasts at least and at most this long, whatever it sees */
  double settle_window_s;            /* what one window of samples takes, about */
  double settle_relative;            /* settled: medians of two successive windows differ by less */
  bool keeps_samples;                /* time_record.samples_us is filled */
};

struct measure_settings measure_defaults(enum device_kind);
/* The same with a smaller budget, for measurements that many processes repeat: --quick. */
struct measure_settings measure_quick(enum device_kind);

/* Fills *out. hot_launches and estimate_us come from problem_time_prepare. Device failures come back as they are. */
struct status measure_mode(struct device *, struct problem *, enum time_mode, const struct measure_settings *,
                           uint32_t hot_launches, double estimate_us, struct time_record *out);

/* How many samples come before the next look at the rule: a slow launch takes no more than the rule needs. cost_us is
 * about what one of them takes. */
uint32_t measure_batch(const struct stats_rule *, double cost_us, uint32_t taken);

/* Samples in the order they were taken: does their median stay where it was, within `relative`? Then they have
 * settled, whatever the warm-up saw, if their interval is narrow. */
bool measure_is_steady(const double *us, uint32_t n, double relative);

/* Median cold time of each pass alone into pass_us[0..pass_count). */
struct status measure_passes(struct problem *, uint32_t pass_count, double estimate_us, double *pass_us);

/* Turns a text into the name of a range: profilers' filters give ':' and ',' a meaning of their own, so '.' stands
 * for them. scripts/lib/profiler.py does the same. */
void measure_range_name(char *text);

/* About how long one sample of a mode occupies the device, microseconds: hot a graph of launches, cold a launch with
 * what stands around it. */
double measure_sample_us(enum time_mode, uint32_t hot_launches, double estimate_us);

#endif
