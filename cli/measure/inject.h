/* Injects a slowdown of known size into chosen cells, as the positive control of everything that should detect
 * slowdowns. It changes times only: the output is checked before and after as always, and the record of the cell says
 * what was injected. */
#pragma once

#include "cli/record/record.h"

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
