/* Gates whose sides are resampled from measured processes. Each drawn gate is judged by the code of cli/gate: its
 * rows hold the drawn processes of the evidence, and a row that the gate would measure again gets newly drawn
 * processes. Pure.
 */
#pragma once

#include "cli/rates/draws.h"
#include "cli/rates/population.h"

struct drawn {
  const struct population *population;
  size_t first;                                             /* row of the population that is the gate's first */
  struct compare_drawn base[DRAWS_LOOKS], now[DRAWS_LOOKS]; /* of the gate judged last */
  struct compare gate;                                      /* the result of that gate */
  struct compare again;                                     /* its latest repeated measurement */
  uint32_t pairs;                                           /* that it took at first */
  uint64_t judged;                                          /* rows judged so far, over all gates and measurements */
};

/* Prepares to judge gates of at most `most_rows` rows of the population with these settings. The population must
 * outlive *out, and *out must not be copied or moved. Fails only for lack of memory; free with drawn_close. */
struct status drawn_open(const struct population *, const struct compare_settings *, size_t most_rows,
                         struct drawn *out);
void drawn_close(struct drawn *);

/* The gates that follow are of `count` rows of the population, from row `first` on. */
void drawn_select(size_t first, size_t count, struct drawn *);

/* Judges, in drawn->gate, a gate whose new side is slower by `slowdown` (0.02: 2 %). Its rows are those selected, in
 * the order of the population. Fails only for lack of memory. */
struct status drawn_judge(const struct draws *, double slowdown, struct drawn *);

/* Whether the gate judged last failed, for a row or for all cases together. */
bool drawn_failed(const struct drawn *);
/* Whether it did not fail and leaves a row, or all cases together, undecided. */
bool drawn_undecided(const struct drawn *);
