/* One measuring run, from the sweep to the complete journal: what the verb `run` does and what the gate builds on. */
#ifndef ATTNBENCH_CLI_COMMAND_RUN_H
#define ATTNBENCH_CLI_COMMAND_RUN_H

#include "cli/command/describe_run.h"
#include "cli/command/journal_file.h"
#include "cli/command/resume.h"
#include "cli/command/schedule.h"
#include "cli/measure/fleet.h"
#include "cli/measure/inject.h"
#include "cli/measure/supervise.h"
#include "cli/sweep/cells.h"
#include "kernels/gpu_models.h"

struct run {
  const struct options *options;
  const struct invocation *invocation;
  struct sweep sweep;
  struct cells cells;
  struct selection selection;       /* all cells of the run, of which `cells` may be a shard */
  struct supervisor *supervisor;    /* of the device; NULL where there is a fleet */
  struct fleet *fleet;              /* of the cards of --devices, else NULL */
  const struct gpu_model *planned;  /* the GPU that planned rows are for */
  char reference[VARIANT_SPEC_MAX]; /* what rows are timed against; empty: nothing */
  bool modes[TIME_MODE_COUNT];
  struct resume_cell *cell; /* per cell: what is done of it */
  struct schedule schedule;
  double budget_end_s;         /* of --time-budget, as clock_now_s has it; NAN: none */
  const struct cell *sentinel; /* NULL: not chosen yet, or none */
  uint64_t since_sentinel;     /* cells measured since it was */
  bool is_fresh;               /* the worker has not measured anything yet */
  struct inject_rule inject;
  struct journal *journal;     /* NULL: there is nothing to add to it */
  struct journal_data earlier; /* what the journal held when this run continued it */
  struct journal_file file;    /* where the journal is */
  double start_s;
  /* Unless NULL: replaces the selected cells before the journal begins, for whoever measures cells of their own. */
  struct status (*choose)(struct run *, void *context);
  void *context;
};

/* Reads what the options name: GPU, objects, sweep. On success the caller ends with run_close; options and invocation
 * must outlive the run. */
struct status run_prepare(const struct options *, const struct invocation *, struct run *out);
/* Opens the device, selects the cells and starts the journal. */
struct status run_open(struct run *);
void run_close(struct run *);

/* Measures the run's cells in options->rounds rounds into its journal, ends the journal and reads it back. What is in
 * the journal is kept whatever happens. *measured says what stopped the measuring, if anything did;
 * STATUS_INTERRUPTED when it was a signal. */
struct status run_take(struct run *, struct journal_data *out, struct status *measured);

/* For whoever hands out the cells: what is asked of a worker; is the cell still to be measured in this round; is its
 * record complete without measuring it, since no time of --time-budget is left for it; into the journal with it. */
struct cell_request run_request(const struct run *, const struct cell *, bool again);
bool run_is_pending(const struct run *, size_t index, uint32_t round);
bool run_leaves_out(const struct run *, const struct schedule *, const struct cell *, struct record *out);
struct status run_settle(struct run *, size_t index, uint32_t round, const struct record *);
/* Of a device that protects itself: how long it is to rest after this cell (--cool-down), seconds. */
double run_rest_s(const struct run *, const struct record *);
/* Is the cell only planned, because its variant does not run on this run's device? */
bool run_is_elsewhere(const struct run *, const struct cell *);

/* The steps of run_take, for whoever decides what is measured next: from here on a fresh process measures; one cell
 * of run->cells, by its index, in one of its rounds, which follow each other; the end of the journal. */
struct status run_fresh(struct run *);
struct status run_cell(struct run *, size_t index, uint32_t round, struct record *out);
struct status run_end(struct run *, bool is_complete, struct journal_data *out);

/* The cells that `only` names, measured once more by as many fresh processes, into a journal of its own beside the
 * run's (".again1" after its name, ".again2" the next time; kept when that one is). */
struct status run_take_again(struct run *, uint32_t number, const char *const *only, size_t only_count,
                             struct journal_data *out);

/* The sweep, measured as `ab` measures it by options->processes fresh processes. The journal goes unless --journal
 * names it. The caller frees *out. */
struct status run_processes(const struct options *, const struct invocation *, struct journal_data *out);

#endif
