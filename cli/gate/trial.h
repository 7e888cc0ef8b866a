/* One row in a gate that is drawn from measured processes: what the comparison would say of it, by the rule of
 * judge.h and as confirm.h measures again, without building reports. Pure; unit_compare_power holds every verdict
 * against the comparison itself. */
#ifndef ATTNBENCH_CLI_GATE_TRIAL_H
#define ATTNBENCH_CLI_GATE_TRIAL_H

#include "cli/gate/draws.h"
#include "cli/gate/judge.h"

/* One case x variant x mode, with what every process measured of it, in logarithms (judge_logs). */
struct trial_row {
  const double *us[DRAWS_LOOKS], *mhz[DRAWS_LOOKS]; /* by process; of a row the same for each measurement */
  uint32_t processes;
  double threshold; /* asked for */
  double floor_us, overhead_us, physical_us;
  bool dram_bound;
  bool is_unfit;       /* all its times prove nothing */
  uint64_t protecting; /* processes, one bit each, in which the device protected itself */
  /* From here on by trial_prepare. */
  bool is_plain;        /* neither floor nor limits of plausible times can matter, at any slowdown up to the most */
  bool has_clocks;      /* of some processes at least */
  bool may_lose_clocks; /* of some, but not of all */
  struct judge_limits limits; /* of a plain row */
};
/* Fills the rest, for slowdowns up to this one (0.2 = 20 %). */
void trial_prepare(double most_slowdown, struct trial_row *);

/* A gate: who is compared with whom, the new side slower by `shift` (a logarithm). */
struct trial {
  const struct draws *draws;
  bool paired;
  uint32_t rounds;
  uint32_t family; /* of two samples: the rows of the whole table */
  double shift;
};

/* What became of a row so far. */
struct trial_state {
  enum compare_verdict verdict, first;
  uint32_t looks;
  unsigned fresh; /* measurements after the first that count, one bit each, the first's would be 1 */
};

/* What is known of a row in one draw, without any shift; for verdicts at many. By measurements, one bit each. */
struct trial_cache {
  uint32_t estimated, sorted[2]; /* sets of measurements that are known, one bit each */
  struct judge_estimates estimates[1u << DRAWS_LOOKS];
  struct rank_sorted time[1u << DRAWS_LOOKS], cycles[1u << DRAWS_LOOKS];
};
void trial_forget(struct trial_cache *);

/* The verdict over the measurements in `looks`, one bit each. The cache is of this row and draw. */
enum compare_verdict trial_verdict(const struct trial *, const struct trial_row *, unsigned looks, uint32_t family,
                                   struct trial_cache *);
/* The verdict of the first measurement. */
void trial_start(const struct trial *, const struct trial_row *, uint32_t family, struct trial_cache *,
                 struct trial_state *out);
bool trial_wants(const struct trial_state *);
/* Measurement number `look`, the first one after the first being 1. */
void trial_look(const struct trial *, const struct trial_row *, unsigned look, uint32_t family, struct trial_cache *,
                struct trial_state *);

#endif
