/* One measuring run, from open worker to complete journal: what the verb `run` does, and what the gate builds on. */
#ifndef ATTNBENCH_CLI_COMMAND_VERB_RUN_H
#define ATTNBENCH_CLI_COMMAND_VERB_RUN_H

#include "cli/command/commands.h"
#include "cli/measure/inject.h"

struct run {
  const struct options *options;
  int argc;
  char **argv;
  const struct sweep *sweep;
  struct cells cells;
  struct supervisor *supervisor;
  const struct gpu_model *planned;  /* the GPU that planned rows are for */
  char reference[VARIANT_SPEC_MAX]; /* what rows are timed against; empty: nothing */
  bool modes[TIME_MODE_COUNT];
  bool *timed; /* per cell: right and timed in every round so far, so that another round can add to it */
  struct inject_rule inject;
  struct journal *journal;
  struct command_journal file; /* where the journal is */
  double start_s;
};

/* Measures the run's cells in options->rounds.value rounds into its journal, which must be open, ends the journal and
 * reads it back. What is in the journal is kept whatever happens. *measured says what stopped the measuring, if
 * anything did; a signal also does (signals_received). */
struct status run_take(struct run *, struct journal_data *out, struct status *measured);

/* The cells that `only` names, measured once more by as many fresh processes, into a journal of its own beside the
 * run's (".confirm" after its name, kept when that one is). */
struct status run_take_again(struct run *, const char *const *only, size_t only_count, struct journal_data *out);

/* The gate over a finished run: compares `now` with the baseline, measures suspects again, writes the comparison. */
struct status command_baseline(struct run *, const struct journal_data *base, const struct journal_data *now,
                               enum exit_code *exit_code);

#endif
