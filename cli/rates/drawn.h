/* Gates whose sides are resampled from measured processes. Each drawn gate is judged by the code of cli/gate: its
 * rows hold the drawn processes of the evidence, and a row that the gate would measure again gets newly drawn
 * processes. Pure. */
#pragma once

#include "cli/rates/draws.h"
#include "cli/rates/population.h"

struct drawn {
  const struct population *population;
  size_t first;                                             /* row of the population that is the gate's first */
  size_t slow_first, slow_count;                            /* rows of the population that are slowed down */
  struct compare_drawn base[DRAWS_LOOKS], now[DRAWS_LOOKS]; /* of the gate judged last; now: of the slowed rows */
  struct compare_drawn still[DRAWS_LOOKS];                  /* the new side of its other rows */
  struct compare_drawn *first_base, *first_now; /* of each row, in the first measurement: as far as it took part */
  struct compare gate;                          /* the result of that gate */
  struct compare again;                         /* its latest repeated measurement */
  uint32_t pairs;                               /* that it took at first */
  double pairs_of_row;                          /* that its rows took of these, in the mean */
  uint64_t judged;                              /* rows judged so far, over all gates and measurements */
};

/* Prepares to judge gates of at most `most_rows` rows of the population with these settings. The population must
 * outlive *out, and *out must not be copied or moved. Fails only for lack of memory; free with drawn_close. */
struct status drawn_open(const struct population *, const struct compare_settings *, size_t most_rows,
                         struct drawn *out);
void drawn_close(struct drawn *);

/* The gates that follow are of `count` rows of the population, from row `first` on. */
void drawn_select(size_t first, size_t count, struct drawn *);

/* Of these, only `count` rows from row `first` of the population on are slowed down; without it all are. */
void drawn_slow(size_t first, size_t count, struct drawn *);

/* Judges, in drawn->gate, a gate whose new side is slower by `slowdown` (0.02: 2 %). Its rows are those selected, in
 * the order of the population. Fails only for lack of memory. */
struct status drawn_judge(const struct draws *, double slowdown, struct drawn *);

/* Whether the gate judged last failed, for a row or for all cases together. */
bool drawn_failed(const struct drawn *);
/* Whether it did not fail and leaves a row, or all cases together, undecided. */
bool drawn_undecided(const struct drawn *);
