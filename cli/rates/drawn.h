/* Gates that are drawn from measured processes. Both sides of a drawn gate consist of processes that were drawn, and
 * the code of cli/gate judges it. Where the gate would measure a row again, new processes are drawn for that row.
 * Pure. */
#pragma once

#include "cli/gate/compare.h"

/* Draws the measured processes that a resampled gate compares. Each side gets `rounds` processes, and no process is
 * on both sides. A process is drawn with all its cells, so that effects common to its cells are kept. A pair consists
 * of two processes that ran one after the other, in random order, as in `attnbench ab`. The second measurement uses
 * processes that the first did not use when there are enough; otherwise it draws from all again, as every later
 * measurement does. Of two samples only the new side is drawn again. Pure: the same seed gives the same draws. */

/* The first measurement and those that may follow it. */
enum { DRAWS_LOOKS = 1 + COMPARE_LOOKS_MAX, DRAWS_ROUNDS_MAX = PROCESSES_MAX / 2 };

/* The processes to draw from, and the state of the random numbers. 2 x rounds <= processes <= PROCESSES_MAX. */
struct draws_source {
  bool paired;
  uint32_t processes, rounds;
  uint64_t random;
};

/* Indices of processes, by measurement and observation. */
struct draws {
  uint32_t rounds;
  uint8_t base[DRAWS_LOOKS][DRAWS_ROUNDS_MAX], now[DRAWS_LOOKS][DRAWS_ROUNDS_MAX];
};

void draws_next(struct draws_source *, struct draws *out);
/* Whether the second measurement uses processes that the first did not use. */
bool draws_leave_over(const struct draws_source *);

/* The rows from which gates are drawn: every timed cell and mode of a report of several processes, in the order of
 * case, variant and mode. */

struct population {
  const struct journal_data *data;
  uint32_t processes;
  uint32_t family;          /* rows of a comparison of two such reports, timed or not */
  struct compare_row *rows; /* of the report compared with itself, not judged; .base summarises all processes */
  size_t row_count;
  struct compare_process *measured; /* of the rows, `processes` each */
};

/* STATUS_NOT_COMPARABLE when the report has fewer than 2 x rounds processes, cells with unequal numbers of processes,
 * a process without a time, or no times. The message begins with `path`. The report must outlive *out; free with
 * population_close, also on failure. */
struct status population_open(const char *path, const struct journal_data *, const struct compare_settings *,
                              uint32_t rounds, struct population *out);
void population_close(struct population *);

struct drawn {
  const struct population *population;
  size_t first;                  /* the gate's first row, as an index into the population */
  size_t slow_first, slow_count; /* the rows that are slowed down, likewise */
  /* Processes of the gate that was judged last, by measurement: the base side, the new side of rows that are slowed
   * down, and the new side of the other rows. */
  struct compare_drawn base[DRAWS_LOOKS], now[DRAWS_LOOKS], still[DRAWS_LOOKS];
  struct compare_drawn *first_base,
      *first_now;       /* of each row: the pairs of the first measurement in which it took part */
  struct compare gate;  /* the result of that gate */
  struct compare again; /* the result of its last repeated measurement */
  uint32_t pairs;       /* pairs of its first measurement */
  double pairs_of_row;  /* how many of these a row took part in, on average */
  uint64_t judged;      /* rows judged so far, over all gates and measurements */
};

/* Prepares to judge gates of at most `most_rows` rows of the population with these settings. The population must
 * outlive *out, and *out must not be copied or moved. Fails only for lack of memory; free with drawn_close, also on
 * failure. */
struct status drawn_open(const struct population *, const struct compare_settings *, size_t most_rows,
                         struct drawn *out);
void drawn_close(struct drawn *);

/* Selects the rows of the next gates: `count` rows of the population from row `first` on. */
void drawn_select(size_t first, size_t count, struct drawn *);

/* Selects the rows that are slowed down: `count` rows of the population from row `first` on. Otherwise all are. */
void drawn_slow(size_t first, size_t count, struct drawn *);

/* Judges, in drawn->gate, a gate whose new side is slower by `slowdown` (0.02: 2 %). Its rows are those selected, in
 * the order of the population. Fails only for lack of memory. */
struct status drawn_judge(const struct draws *, double slowdown, struct drawn *);

/* Whether the gate judged last failed, for a row or for all cases together. */
bool drawn_failed(const struct drawn *);
/* Whether it did not fail and leaves a row, or all cases together, undecided. */
bool drawn_undecided(const struct drawn *);
