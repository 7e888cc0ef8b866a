/* One measuring run, from the sweep to the complete journal, and its parts: the journal's place, what is continued,
 * the order of the cells, their rounds, and the progress shown. Used by the verbs that measure. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/command/commands.h"
#include "cli/measure/supervise.h"
#include "kernels/gpu_models.h"

/* The path of a run's journal: the one that the user names, else a file beside the first output file, else a file
 * with a random name in the temporary folder. */

struct journal_file {
  char path[PATH_MAX + 16]; /* a path that is cut here is too long for the system to open */
  bool is_kept;             /* the user named it, or it moved (journal_path) */
  bool is_beside;           /* named after an output file */
};

/* The path of a journal beside the first file of --json, --csv or --gbench; false when there is none. */
bool journal_file_beside(const struct options *, char *out, size_t size);
struct journal_file journal_file_choose(const struct options *);
/* Closes the journal. One that had to move is kept where it is now. */
void journal_file_close(struct journal_file *, struct journal *);
/* Removes the journal, but for three cases. If the outputs could not be written (`written`), it stays and stderr says
 * where it is. If the run can be resumed (it was stopped after it had measured something), a journal that the user
 * named or that lies beside an output stays, and stderr says how to resume. One that the user named stays always. */
void journal_file_drop(const struct journal_file *, const struct status *written, bool is_resumable);

/* Continuing a run from its journal (--resume): is it the same run, and what of it is done? */

/* Fills what a journal keeps of this run so that it can be continued. `reference` is the spec text, "" for none. */
struct status resume_describe(const struct options *, const struct selection *, const char *reference,
                              struct run_setup *out);

/* Is `now` (run, device and policy are looked at) the run that began in `earlier`? STATUS_NOT_COMPARABLE says what
 * differs; with is_anyway it is written to `differs` ("device, seed"; "" when nothing does) instead, unless the rows
 * could not stand in one report. */
struct status resume_check(const char *path, const struct journal_data *earlier, const struct journal_data *now,
                           bool is_anyway, char differs[RECORD_DIFFERS_MAX]);

/* What is done of a cell: how many rounds measured it, and whether it was right and timed in all of them, so that
 * another round can add to it. A cell that was left out, or whose worker was killed from outside, counts as not
 * measured. */
struct resume_cell {
  bool is_known; /* the journal has it */
  uint32_t done;
  bool is_timed;
  char card[RECORD_CARD_MAX]; /* that measured it, of a run with --devices */
};
struct status resume_mark(const struct journal_data *earlier, const struct cells *, struct resume_cell *out);

/* How many cells the journal and this run have together. */
uint64_t resume_count(const struct journal_data *earlier, const struct cells *, const struct resume_cell *);
/* STATUS_INPUT when that many are more than the journal's run set out to measure, though the run is the same. */
struct status resume_check_count(const char *path, const struct journal_data *earlier, uint64_t count);
/* The seconds that the run took so far. Of a part that was killed it is the time that its cells took. */
double resume_spent_s(const struct journal_data *earlier);

/* The order in which a run measures its cells, and the cells that its time budget leaves out. */

/* Puts the cells in the order of --order. With --time-budget and without --order the cells with least work come
 * first. */
struct status schedule_order(const struct options *, struct cells *);
/* The name of that order: "seeded", "shortest", or "" for the order of the sweep. */
const char *schedule_order_name(const struct options *);

/* How long the cells took so far. */
struct schedule {
  double sum_s, longest_s; /* over the first measurements of all cells */
  size_t variant_count;
  struct schedule_variant {
    const char *name;
    double flops, wall_s, launch_us; /* of the variant's last cell; launch_us is 0 where it was not timed */
  } variant[SWEEP_VARIANTS_MAX];
};

/* Notes how long the first measurement of a cell, and one of its launches, took. The cell must outlive the schedule.
 */
void schedule_learn(struct schedule *, const struct cell *, double wall_s, const struct record *);
/* Estimates the seconds that a cell will take. If the cell has more FLOPs than the variant's last cell, the time of
 * 100 launches is scaled by the ratio of FLOPs and the rest of the time is kept; the sum is at most the whole time
 * scaled by that ratio. If the last cell was not timed, its whole time is scaled. For a variant without a measured
 * cell the estimate is the longest time of any cell so far. */
double schedule_predict(const struct schedule *, const struct cell *);
/* Whether the left_s seconds that are left of the budget suffice for the first round of this cell and for the other
 * rounds - 1 rounds of this cell and of all cells before it. */
bool schedule_has_room(const struct schedule *, const struct cell *, uint64_t rounds, double left_s);
/* Makes the record of a cell that the time budget leaves out. */
void schedule_leave_out(const struct schedule *, const struct options *, const struct cell *, struct record *);

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

/* ---- for the code that schedules the cells (take.c) ------------------------------------------------------- */

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

/* Measures all rounds of the cells of a run. */

/* Measures the cells of a run that run_begin started in options->rounds rounds, ends the journal and reads it into
 * *out. *measured is the failure that stopped the measuring, if any, STATUS_INTERRUPTED for a signal; the journal
 * then holds all measurements before it. */
struct status take_rounds(struct run *, struct journal_data *out, struct status *measured);

/* Measures the cells in `only` again, in as many fresh processes as the run has rounds. The measurements go to a
 * journal of their own, named as the run's with ".again" and `number` behind. It is kept when the run's journal is
 * kept. */
struct status take_again(struct run *, uint32_t number, const char *const *only, size_t only_count,
                         struct journal_data *out);

/* Measures the sweep in options->processes fresh processes, as `ab` does. The journal is removed unless --journal
 * names it. The caller frees *out. */
struct status take_processes(const struct options *, const struct invocation *, struct journal_data *out);

/* Plans cells for a GPU model without measuring them. */

/* The GPU model that --gpu names; STATUS_USAGE when attnbench does not know it. */
struct status planned_gpu(const char *name, const struct gpu_model **out);
/* Makes the record of a planned cell. `worker`, on any device, plans variants from shared objects, whose code does
 * not run in this process; NULL when no object was loaded. */
struct status planned_cell(const struct cell *, const struct gpu_model *, struct supervisor *worker,
                           struct record *out);

/* Shows the progress of a measurement on stderr. On a terminal it is one line that is overwritten: cell, count,
 * expected time left. In a log it is a new line every few percent, at least every half minute, and none for a run of
 * a few seconds. */

enum progress_form { PROGRESS_NONE, PROGRESS_TERMINAL, PROGRESS_LOG };

struct progress {
  enum progress_form form;
  size_t total, done;
  double start_s;
  size_t told;   /* `done` at the last line of a log */
  double told_s; /* time of that line */
};

struct progress progress_start(size_t total, bool is_quiet);
/* Shows that a cell begins. */
void progress_cell(struct progress *, const char *case_key, const char *variant);
void progress_end(struct progress *);

/* Whether a log gets a line before the next cell, at the time now_s. */
bool progress_is_due(const struct progress *, double now_s);
/* Writes a duration: "45 s", "12 min", "3.5 h". */
enum { PROGRESS_TIME_MAX = 32 };
void progress_time(double seconds, char out[PROGRESS_TIME_MAX]);
