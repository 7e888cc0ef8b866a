/* One whole gate drawn from measured processes: all rows, all cases together, and what is measured again. Rows that
 * no draw can bring near the line are known to be `same` and cost nothing. Pure. */
#ifndef ATTNBENCH_CLI_GATE_DRAWN_H
#define ATTNBENCH_CLI_GATE_DRAWN_H

#include "cli/gate/trial.h"

/* A row that some draw may bring to the line, and what became of it in the last gate. */
struct drawn_row {
  size_t row;   /* its place among all */
  uint64_t far; /* of a plain row, pairs of neighbours that differ by as much as the line; else all bits */
  struct trial_state state;
};

struct drawn {
  const struct trial_row *rows;
  size_t count;
  bool paired;
  uint32_t rounds, processes;
  uint32_t family; /* of two samples */
  double shift;    /* of the new side, a logarithm */
  struct drawn_row *active;
  enum compare_verdict *verdicts; /* of the active rows, while the means are taken */
  size_t active_count;
  bool has_suite;
  struct trial_row suite; /* all cases together, by the means below */
  struct trial_state suite_state;
  size_t suite_rows, dram_bound;
  struct trial_cache cache;                                 /* of the row that is looked at */
  uint64_t judged;                                          /* rows so far, over all gates */
  double total_us[PROCESSES_MAX], total_mhz[PROCESSES_MAX]; /* over all rows */
  double mean_us[DRAWS_LOOKS][PROCESSES_MAX], mean_mhz[DRAWS_LOOKS][PROCESSES_MAX];
};

/* `rows` are prepared and must outlive *out, which must not move; the family is that of two samples. Fails only for
 * lack of memory; free with drawn_close. */
struct status drawn_open(const struct draws_source *, const struct trial_row *rows, size_t count, uint32_t family,
                         double threshold, double shift, struct drawn *out);
void drawn_close(struct drawn *);

/* Judges these processes: the states of active rows and of the suite; every other row is `same`. */
void drawn_run(const struct draws *, struct drawn *);
/* Only whether the gate fails, which is known before all is judged that could be; the states are those of then. */
bool drawn_fails(const struct draws *, struct drawn *);
/* Of the last gate: did it fail for the suite or a row; or not decide? */
bool drawn_failed(const struct drawn *);
bool drawn_undecided(const struct drawn *);

#endif
