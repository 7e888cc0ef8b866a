/* The verbs. Each returns what failed, and in *exit_code what its result asks for when nothing did. */
#ifndef ATTNBENCH_CLI_COMMAND_COMMANDS_H
#define ATTNBENCH_CLI_COMMAND_COMMANDS_H

#include <limits.h>

#include "cli/gate/compare.h"
#include "cli/measure/supervise.h"
#include "cli/options/options.h"
#include "cli/report/report.h"
#include "cli/sweep/cells.h"
#include "kernels/gpu_models.h"

struct status verb_run(const struct options *, int argc, char **argv, enum exit_code *exit_code);
/* run with --profile: one process, launches for a profiler, no times. */
struct status verb_profile(const struct options *, int argc, char **argv, enum exit_code *exit_code);
struct status verb_plan(const struct options *, int argc, char **argv, enum exit_code *exit_code);
struct status verb_report(const struct options *, enum exit_code *exit_code);
/* report with --counters. */
struct status verb_counters(const struct options *, enum exit_code *exit_code);
struct status verb_diagnose(const struct options *, enum exit_code *exit_code);
struct status verb_selftest(const struct options *, enum exit_code *exit_code);
struct status verb_ab(const struct options *, int argc, char **argv, enum exit_code *exit_code);
struct status verb_compare(const struct options *, enum exit_code *exit_code);
struct status verb_gate(const struct options *, int argc, char **argv, enum exit_code *exit_code);
struct status verb_list(const struct options *, FILE *out);

/* Shared: what a journal's header says of this invocation. */
void command_describe_run(const struct options *, int argc, char **argv, const struct sweep *, uint64_t cell_count,
                          struct run_info *out);
/* Shared: the measured facts of a JSON report or of a table of times; the caller frees with journal_free. */
struct status command_load_facts(const char *path, struct journal_data *out);
/* Shared: every output that was asked for, or the table on stdout. */
struct status command_write_outputs(const struct options *, const struct journal_data *, enum exit_code *exit_code);
/* Shared: where a run's journal is: named by the user, else beside the first output file, else in the temporary
 * folder. */
struct command_journal {
  char path[PATH_MAX + 16]; /* one that was cut is still too long for a file, and so names none */
  bool kept;                /* named by the user */
};
struct command_journal command_choose_journal(const struct options *);
/* Shared: reports from the journal as it stands on disk, complete or not. */
struct status command_report_journal(const struct options *, const struct command_journal *,
                                     enum exit_code *exit_code);
/* Shared: removes a journal that nobody named, once everything made from it is safely written. */
void command_drop_journal(const struct command_journal *, const struct status *written);
/* Shared: the command line, in a form that a POSIX shell reads back; cut to what fits. */
void command_quote(int argc, char **argv, char *out, size_t size);
/* Shared: a JSON report, or a journal. The caller frees with journal_free. */
struct status command_load_evidence(const char *path, struct journal_data *out);
/* Shared: the sweep, measured as `ab` measures it by options->processes.value fresh processes. The journal goes
 * unless --journal names it. The caller frees *out, which is nothing when *exit_code says that a signal ended it. */
struct status command_measure_processes(const struct options *, int argc, char **argv, struct journal_data *out,
                                        enum exit_code *exit_code);
/* Shared: the gate's settings, from the command line over those of the sweep that `now` measured; .paired is false.
 * STATUS_USAGE when a glob of the command line matches no cell of `now`, unless --only picked the cells. */
struct status command_gate_settings(const struct options *, const struct journal_data *now,
                                    struct compare_settings *out);
/* Shared: the same of the globs, before cells are measured, of which there is at least one. */
struct status command_check_thresholds(const struct options *, const struct cells *);
/* Shared: the comparison to every output that was asked for , and as text on stdout unless one
 * of them goes there. */
struct status command_write_compare(const struct options *, const struct compare *);
/* Shared: 130 or 143. */
enum exit_code command_signal_exit_code(int signal_number);
/* Shared: when a signal is what failed, that is an exit code and no failure. False, and nothing changes: it is not.
 */
bool command_end_of_signal(struct status *, enum exit_code *exit_code);
/* Shared: can every output be written? */
struct status command_probe_outputs(const struct options *);
/* Shared: a cell that is only planned, for a GPU that is not here. worker: of whatever device, for loaded variants,
 * whose code does not run in this process; NULL when nothing was loaded. */
struct status command_plan_cell(const struct cell *, const struct gpu_model *, struct supervisor *worker,
                                struct record *out);
/* Shared: the GPU model of --gpu, or the default for planned rows. */
struct status command_gpu_model(const char *name, const struct gpu_model **out);

#endif
