/* The verdict of one row, from the observations of both sides. For the files of the comparison, not for other stages.
 */
#ifndef ATTNBENCH_CLI_GATE_JUDGE_H
#define ATTNBENCH_CLI_GATE_JUDGE_H

#include "cli/gate/compare.h"
#include "cli/gate/rank.h"
#include "cli/gate/student.h"

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
/* Median, spread and clock of one side. */
void judge_summary(const struct compare_observations *, struct compare_side *out);
/* Why these times can prove nothing (a sentence without its end); NULL when they can. */
const char *judge_unfit(const struct compare_settings *, const struct compare_evidence *);

/* ---- the rule itself, on logarithms ---------------------------------------------------------------------------- */

/* What is compared between the sides. */
enum judge_quantity { JUDGE_TIME, JUDGE_CLOCK, JUDGE_CYCLES, JUDGE_QUANTITIES };

/* Logarithms of one side's observations: of the time without the constant, and of the clock; NAN when not known. */
struct judge_logs {
  uint32_t count;
  double us[RANK_MAX], mhz[RANK_MAX];
};

/* Everything that a verdict is made of. */
struct judge_estimates {
  struct rank_interval of[JUDGE_QUANTITIES]; /* NAN, which no comparison holds for, where clocks are not known */
  size_t fewest;                             /* processes of the smaller side, or pairs, behind the time */
  struct student_score score;                /* how sure the mean of the times is */
};
struct judge_estimates judge_estimate(bool paired, const struct judge_logs *base, const struct judge_logs *now);

/* What a row's estimates are held against. */
struct judge_limits {
  double line, bound, threshold; /* logarithms */
  bool dram_bound;
  bool is_implausible;  /* a time of it is none */
  bool hides_slowdowns; /* the floor does, and not what was asked for: nothing can be told */
};
struct judge_limits judge_limits(double threshold);
/* The threshold whose line lies at the floor, for times around this one without their constant. */
double judge_floor_threshold(double floor_us, double around_us);
/* Would the floor let slowdowns pass that nobody means to let pass? */
bool judge_hides_slowdowns(double floor_threshold, double asked_threshold);
/* Is the shortest of the times no time? The medians are those of both sides. */
bool judge_is_implausible(double least_us, double physical_us, double base_median_us, double now_median_us);

/* `family`: of how many rows one may look slow by chance; 0: do not ask. */
enum compare_verdict judge_verdict(bool paired, uint32_t family, const struct judge_limits *,
                                   const struct judge_estimates *);
/* Times that are not fit (judge_unfit) prove neither of the two that pass. */
enum compare_verdict judge_verdict_unfit(enum compare_verdict);
/* A bit of these among a process's throttle reasons makes its times unfit. */
extern const uint64_t judge_protecting;

/* Sides, estimates, verdict and reason of a row that is timed on both sides. row->threshold is the one asked for and
 * is raised here where the floor asks for more; row->physical_us and ->dram_bound are read. */
void judge_timed(const struct compare_settings *, const struct compare_evidence *, struct compare_row *);
/* The verdict of a row that is not timed on both sides. */
void judge_untimed(struct compare_row *);

#endif
