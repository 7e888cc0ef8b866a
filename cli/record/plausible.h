/* Impossible times: shorter than the device needs for the problem, or reached only because launches skip work. */
#pragma once

#include "cli/record/journal.h"

/* True when hot launches whose inputs change (check.changed_us) take so much longer than the hot median that launches
 * on unchanged inputs must have skipped work. Other load on the machine can cause this by chance, so measure again
 * before using it. */
bool plausible_skips_work(const struct record *, const struct device_info *);

/* Gives an `ok` record whose time is impossible the status `implausible`, and writes the reason. */
void plausible_judge(struct record *, const struct device_info *);

/* The same for every record of a file, since the program that wrote it may not have judged it, or somebody may have
 * changed it. */
void plausible_judge_all(struct journal_data *);
