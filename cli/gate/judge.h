/* The verdict of one row, from the observations of both sides. For the files of the comparison, not for other stages.
 */
#ifndef ATTNBENCH_CLI_GATE_JUDGE_H
#define ATTNBENCH_CLI_GATE_JUDGE_H

#include "cli/gate/compare.h"
#include "cli/gate/rank.h"

/* Observations of both sides, one per process: microseconds, and the SM clock, NAN when unknown. */
struct compare_evidence {
  struct compare_observations {
    uint32_t count;
    double us[RANK_MAX], mhz[RANK_MAX];
    double overhead_us;        /* in every time and no kernel's own: ratios are of what remains */
    uint64_t throttle_reasons; /* union over the processes */
    bool is_unsettled;         /* a process's warm-up reached no steady latency */
    bool is_single;            /* a process's median is of one sample */
  } base, now;
};

/* Was this mode of the record timed? False for NULL. */
bool judge_is_timed(const struct record *, enum time_mode);
/* What the record holds of the mode, behind what is there already. */
void judge_observe(const struct record *, enum time_mode, struct compare_observations *);
/* Both sides of a row, nothing else, the row's constant to be taken off. */
void judge_observe_row(const struct compare_row *, double overhead_us, struct compare_evidence *);
/* One more process. */
void judge_observe_one(double us, double mhz, struct compare_observations *);
/* Why these times can prove nothing (a sentence without its end); NULL when they can. */
const char *judge_unfit(const struct compare_settings *, const struct compare_evidence *);

/* Sides, estimates, verdict and reason of a row that is timed on both sides. row->threshold is the one asked for and
 * is raised here where the floor asks for more; row->physical_us and ->dram_bound are read. */
void judge_timed(const struct compare_settings *, const struct compare_evidence *, struct compare_row *);
/* The verdict of a row that is not timed on both sides. */
void judge_untimed(struct compare_row *);

#endif
