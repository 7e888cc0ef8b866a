/* What the files of the comparison share: the evidence of one row, and its verdict. Not for other stages. */
#ifndef ATTNBENCH_CLI_COMPARE_PARTS_H
#define ATTNBENCH_CLI_COMPARE_PARTS_H

#include "cli/compare.h"
#include "cli/compare_rank.h"

/* Observations of both sides, one per process: microseconds, and the SM clock, NAN when unknown. */
struct compare_evidence {
  struct compare_observations {
    uint32_t count;
    double us[RANK_MAX], mhz[RANK_MAX];
  } base, now;
};

/* Was this mode of the record timed? False for NULL. */
bool compare_is_timed(const struct record *, enum time_mode);
/* What the record holds of the mode, behind what is there already. */
void compare_observe(const struct record *, enum time_mode, struct compare_observations *);

/* Sides, estimates, verdict and reason of a row that is timed on both sides. row->threshold is the one asked for and
 * is raised here where the floor asks for more. */
void compare_judge(const struct compare_settings *, const struct compare_evidence *, struct compare_row *);
/* The verdict of a row that is not timed on both sides. */
void compare_judge_untimed(struct compare_row *);

/* Fills difference and comparable. */
void compare_identity(struct compare *);

#endif
