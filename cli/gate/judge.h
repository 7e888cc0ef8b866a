/* The verdict of one row, from the observations of both sides. Used by cli/gate only. */
#pragma once

#include "cli/gate/compare.h"
#include "cli/gate/rank.h"

/* One process of one side. Ratios are taken on logarithms, where slower and faster are mirror images. */
struct compare_process {
  double us, mhz;         /* mhz: the SM clock; NAN when unknown */
  double log_us, log_mhz; /* of the time without the overhead, and of the clock; NAN when there is none */
  uint64_t throttle_reasons;
};

/* Observations of both sides, one per process. */
struct compare_evidence {
  struct compare_observations {
    uint32_t count, times, clocks; /* of the processes, how many have a time, and a clock */
    double least_us, most_us;      /* of the times */
    uint64_t throttle_reasons;     /* union over the processes */
    struct compare_process process[RANK_MAX];
  } base, now;
  bool is_unsettled, is_single; /* of a row */
};

/* Was this mode of the record timed? False for NULL. */
bool judge_is_timed(const struct record *, enum time_mode);
/* A process of these times; overhead_us is the part of the time that belongs to no kernel. */
struct compare_process judge_process(double us, double mhz, uint64_t throttle_reasons, double overhead_us);
/* Collects the observations of one side, or of both sides of a row. */
void judge_observe(const struct compare_side *, enum time_mode, double overhead_us, struct compare_observations *);
void judge_observe_row(const struct compare_row *, double overhead_us, struct compare_evidence *);
/* Removes all observations; adds a process to a side; adds those of another measurement. */
void judge_clear(struct compare_evidence *);
void judge_add(struct compare_process, struct compare_observations *);
void judge_append(const struct compare_evidence *from, bool with_base, struct compare_evidence *to);
/* Leaves only so many processes of each side, the first ones. */
void judge_keep(uint32_t most, struct compare_evidence *);
/* Fills the median, spread and clock of one side. */
void judge_summary(const struct compare_observations *, struct compare_side *out);
/* Why these times are not fit for a verdict, as a sentence without a full stop; NULL when they are. */
const char *judge_unfit(const struct compare_settings *, const struct compare_evidence *);

/* The threshold whose decision line is a difference of floor_us, for times of about around_us without overhead. */
double judge_floor_threshold(double floor_us, double around_us);
/* What estimates are held against with this threshold. */
struct compare_limits judge_limits(double threshold);

/* Whether these are fewer pairs than were planned, so that the rule for few pairs applies. */
bool judge_has_few(const struct compare_settings *, const struct compare_evidence *);
/* How much processes of the row differ within each side. */
struct compare_noise judge_noise(const struct compare_settings *, const struct compare_evidence *,
                                 const struct compare_row *);

/* Fills the verdict of a row that is timed on both sides, and unless settings->only_verdicts its sides, estimates and
 * reason. */
void judge_timed(const struct compare_settings *, const struct compare_evidence *, struct compare_row *);
/* Fills the verdict and reason of a row that is not timed on both sides. */
void judge_untimed(struct compare_row *);
