/* One measuring run, from the sweep to the complete journal. Used by the verbs that measure. */
#pragma once

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
  struct selection selection;      /* all cells of the run; `cells` are these or a shard of them */
  struct supervisor *supervisor;   /* of the device; NULL with --devices */
  struct fleet *fleet;             /* of the cards of --devices, else NULL */
  const struct gpu_model *planned; /* the GPU model of planned rows */
  struct variant_spec reference;   /* the variant that rows are timed against; none when its text is empty */
  bool modes[TIME_MODE_COUNT];
  struct resume_cell *cell; /* by index in `cells`: which rounds are measured already */
  struct schedule schedule;
  double budget_end_s;         /* when --time-budget ends, on the clock of clock_now_s; NAN: no budget */
  const struct cell *sentinel; /* NULL: not chosen yet, or none */
  uint64_t since_sentinel;     /* number of cells measured after the last measurement of the sentinel */
  bool is_fresh;               /* the worker has not measured anything yet */
  struct inject_rule inject;
  struct journal *journal;     /* NULL: nothing is written to it */
  struct journal_data earlier; /* with --resume: the contents of the journal when this run continued it */
  struct journal_file file;    /* where the journal is */
  double start_s;
};

/* ---- from options to an open journal ----------------------------------------------------------------------- */

/* Reads the GPU model, the shared objects and the sweep that the options name. The caller ends with run_close, also
 * after a failure; options and invocation must outlive the run. */
struct status run_prepare(const struct options *, const struct invocation *, struct run *out);
/* Opens the device and selects the cells. */
struct status run_open(struct run *);
/* Starts the journal. Before this the caller may replace run->cells. */
struct status run_begin(struct run *);
/* The last step of run_begin: creates the journal of the run's cells, or opens the one that it continues. */
struct status run_open_journal(struct run *);
void run_close(struct run *);

/* ---- measuring ---------------------------------------------------------------------------------------------- */

/* Starts a fresh process, which measures the cells that follow. */
struct status run_fresh(struct run *);
/* Measures a cell, run->cells.items[index], and writes it to the journal. The rounds of a cell are counted from 0 and
 * must come in order. */
struct status run_cell(struct run *, size_t index, uint32_t round, struct record *out);
/* Ends the journal and reads it back. */
struct status run_end(struct run *, bool is_complete, struct journal_data *out);

/* ---- for the code that schedules the cells (take.h) ------------------------------------------------------- */

/* Whether the cell still has to be measured in this round. */
bool run_is_pending(const struct run *, size_t index, uint32_t round);
/* Whether any cell has. */
bool run_has_pending(const struct run *, uint32_t round);
/* The most measurements that are left over all rounds. */
size_t run_count_pending(const struct run *);
/* Whether the cell is only planned, since its variant does not run on the run's kind of device. */
bool run_is_elsewhere(const struct run *, const struct cell *);
/* True when --time-budget has no time left for the cell. *out is then its complete record. */
bool run_leaves_out(const struct run *, const struct schedule *, const struct cell *, struct record *out);
/* The request that measures the cell in a worker. again: it is a later round. */
struct cell_request run_request(const struct run *, const struct cell *, bool again);
/* Writes the record of a cell in a round to the journal. */
struct status run_settle(struct run *, size_t index, uint32_t round, const struct record *);
/* How many seconds (--cool-down) the device pauses after this record; 0 unless the device throttled to protect
 * itself. */
double run_rest_s(const struct run *, const struct record *);
