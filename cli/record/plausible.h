/* Times that cannot be: shorter than the device needs for the problem, or possible only because launches skip work.
 */
#pragma once

#include "cli/record/journal.h"

/* True when hot launches whose inputs change (check.changed_us) take so much longer than the hot median that launches
 * on unchanged inputs must have skipped work. Other load on the machine can cause this by chance, so measure again
 * before using it. */
bool plausible_skips_work(const struct record *, const struct device_info *);

/* Makes an `ok` record with a time that cannot be `implausible`, and says why in its reason. */
void plausible_judge(struct record *, const struct device_info *);

/* The same for every record of a file: what wrote it may not have looked, or the file was changed since. */
void plausible_judge_all(struct journal_data *);
