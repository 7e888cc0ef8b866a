/* Finds the fastest of several candidates in rounds of measurements, by successive halving. Pure: who measures is
 * somewhere else.
 *
 * The first candidate is the default. A round measures every candidate that is still in play once, in turns with the
 * default, so that each is held against the default of its own round. After a round the slower half leaves, until
 * FEW are left; when these have been measured SEARCH times the fastest of them is chosen. FINAL rounds of the chosen
 * one and the default follow, and they alone say how much faster it is: the rounds that it was chosen by flatter it.
 */
#ifndef ATTNBENCH_CLI_MEASURE_HALVING_H
#define ATTNBENCH_CLI_MEASURE_HALVING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/stats.h"

enum {
  HALVING_FEW = 8,
  HALVING_SEARCH = 3,
  HALVING_FINAL = 6, /* the fewest whose range is a 95 % interval of the median */
  HALVING_ROUNDS_MAX = 24,
};

struct halving_candidate {
  double us[HALVING_ROUNDS_MAX]; /* by round; NAN: not measured in it */
  uint32_t rounds;               /* that measured it */
  bool is_out;                   /* slower, failed, or never tried */
  bool has_failed;
};

struct halving {
  struct halving_candidate *candidates;
  size_t count;
  uint32_t round;       /* that is being measured */
  uint32_t final_round; /* the first of the final ones; UINT32_MAX while it is searched */
  size_t best;          /* once it is chosen; 0: the default */
};

/* False when out of memory. count: 1 to 2^16, the default included. */
bool halving_start(struct halving *, size_t count);
void halving_free(struct halving *);

/* The candidate that is measured as number `turn` of this round, from 0 to count - 1: the default first, the others
 * in an order that looks random and is turned round from round to round, so that the first ones are a fair sample,
 * and a drift of the machine favours nobody. */
size_t halving_turn(const struct halving *, size_t turn);
/* Is it to be measured in this round? */
bool halving_wants(const struct halving *, size_t candidate);
/* What this round measured of it; NAN when it was wrong, crashed or does not take the shape. */
void halving_note(struct halving *, size_t candidate, double us);
/* The candidate in play that is the fastest so far; of equals the earliest, so the default. */
size_t halving_fastest(const struct halving *);
/* Ends the round. stops: there is no time for another one of the search, so choose among those that were measured. */
void halving_end_round(struct halving *, bool stops);

bool halving_is_searching(const struct halving *);
bool halving_is_over(const struct halving *);
/* Measurements that the search will take at most from here on. */
size_t halving_expected(size_t count);

struct halving_result {
  size_t tried, failed;
  double best_us, default_us; /* medians over the rounds that count; NAN when there is none */
  struct stats gain;          /* time of the default over that of the best, by final round; n = 0: none */
};
void halving_result(const struct halving *, struct halving_result *out);

#endif
