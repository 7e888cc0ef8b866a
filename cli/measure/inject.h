/* A slowdown of known size, made on purpose: the positive control of everything that is to find slowdowns. Only times
 * are touched: the output is checked before and after as always, and the row says what was done to it. */
#ifndef ATTNBENCH_CLI_MEASURE_INJECT_H
#define ATTNBENCH_CLI_MEASURE_INJECT_H

#include "cli/record/record.h"

/* Cells whose "KEY/VARIANT" matches the glob (fnmatch; * also matches / and .) take `percent` longer. */
struct inject_rule {
  char glob[CELL_GLOB_MAX]; /* empty: nothing is injected */
  double percent;
};

/* "GLOB:PERCENT"; the last colon parts them, since a variant's tunables have one too. NULL: no rule. STATUS_USAGE
 * says what is wrong. */
struct status inject_parse(const char *text, struct inject_rule *out);

/* The percentage for this cell; 0 when the rule is not for it. */
double inject_percent(const struct inject_rule *, const char *key, const char *variant);

/* Gives the bound variant's launches a delay, per mode that is timed, with which they take percent / 100 longer than
 * without: the two are timed in turns, and on a GPU the delay is corrected until the ratio is right. Call after
 * problem_time_prepare, and call that again afterwards. Microseconds of one launch: estimate_us. A failure that is
 * not the device's says that the cell is too short for so small a slowdown, or that its times vary too much. */
struct status inject_calibrate(struct device *, struct problem *, const bool modes[TIME_MODE_COUNT], double percent,
                               double estimate_us, struct injected_record *out);

/* Pure: the next delay to try when delay_us added added_us, of which any delay adds least_added_us, and wanted_us was
 * meant. delay_us > 0. */
double inject_next_delay(double delay_us, double added_us, double least_added_us, double wanted_us);

#endif
