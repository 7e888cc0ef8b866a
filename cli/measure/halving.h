/* Finds the fastest of several candidates by successive halving. Pure: the caller takes the measurements.
 *
 * Candidate 0 is the default. A round measures the default and every candidate that is not yet eliminated once, and
 * compares each candidate with the default of the same round. After a round the slower half of the candidates is
 * eliminated, until HALVING_FEW are left, the default included. After HALVING_SEARCH rounds or more the fastest of
 * these is chosen.
 * HALVING_FINAL rounds of the chosen candidate and the default follow. Only these rounds determine the gain, since
 * the earlier ones, by which the candidate was chosen, are biased in its favour. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/stats.h"

enum {
  HALVING_FEW = 8,
  HALVING_SEARCH = 3,
  HALVING_FINAL = 6, /* the fewest values whose minimum and maximum bound the median with 95 % confidence */
  HALVING_ROUNDS_MAX = 24,
};

struct halving_candidate {
  double us[HALVING_ROUNDS_MAX]; /* by round; NAN: not measured in it */
  uint32_t rounds;               /* number of rounds that measured it */
  bool is_out;                   /* eliminated: slower, failed, or never tried */
  bool has_failed;
};

struct halving {
  struct halving_candidate *candidates;
  size_t count;
  uint32_t round;       /* the current round, from 0 */
  uint32_t final_round; /* the first final round; UINT32_MAX during the search */
  size_t best;          /* the chosen candidate, once the search has ended; 0: the default */
};

/* False when out of memory. count: 1 to 2^16, the default included. */
bool halving_start(struct halving *, size_t count);
void halving_free(struct halving *);

/* The candidate at place `turn` of this round, from 0 to count - 1. The default comes first; the others follow in a
 * pseudo-random order, which is reversed from round to round. A round that is cut short is therefore a fair sample,
 * and a drift of the machine favours no candidate. */
size_t halving_turn(const struct halving *, size_t turn);
/* Whether this round measures the candidate. */
bool halving_wants(const struct halving *, size_t candidate);
/* Notes the time of the candidate in this round; NAN when it was wrong, crashed or does not take the case. */
void halving_note(struct halving *, size_t candidate, double us);
/* The fastest candidate so far that is not eliminated; of equally fast ones the first. */
size_t halving_fastest(const struct halving *);
/* Ends the round. `stops`: there is no time for another search round, so the best of those measured is chosen. */
void halving_end_round(struct halving *, bool stops);

bool halving_is_searching(const struct halving *);
bool halving_is_over(const struct halving *);
/* The most measurements that `count` candidates take, the final rounds included. */
size_t halving_expected(size_t count);

struct halving_result {
  size_t tried, failed;
  double best_us, default_us; /* medians over the final rounds, or over all without any; NAN without times */
  struct stats gain;          /* time of the default / time of the best, over the final rounds; n = 0: none */
};
void halving_result(const struct halving *, struct halving_result *out);

enum halving_verdict {
  HALVING_better,
  HALVING_no_better,    /* than the default */
  HALVING_worse,        /* slower than the default after all, or failed when it was measured again */
  HALVING_default_best, /* the default is the fastest */
  HALVING_no_default,   /* the default is not right for this case */
  HALVING_not_taken,    /* the variant does not take this case */
  HALVING_none,         /* no candidate is right for this case */
  HALVING_unfinished,   /* stopped before the final rounds were complete */
  HALVING_VERDICT_COUNT
};
/* any_failed: a candidate was wrong, crashed or hung. A candidate that the variant does not take is no failure. */
enum halving_verdict halving_verdict(const struct halving *, const struct halving_result *, bool any_failed);
