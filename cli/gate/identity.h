/* Checks whether two reports can be compared, and whether a report can be a baseline. */
#pragma once

#include "cli/gate/compare.h"

/* Fills compare->difference, ->difference_count and ->comparable. */
void identity_compare(struct compare *);

/* Adds a difference; with a fatal one the reports are not comparable. */
void identity_add_difference(struct compare *, const char *key, bool fatal, const char *base, const char *now);

/* Checks that this report can be the base of `--baseline`. STATUS_NOT_COMPARABLE when its run is unfinished, was
 * built from a tree with uncommitted changes, ran under a profiler, or has fewer than COMPARE_BASELINE_MIN processes.
 * The message begins with `path` and says how to make a usable one. */
struct status identity_check_baseline(const char *path, const struct journal_data *);
