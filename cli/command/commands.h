/* The verbs of the command line, and what they share. Each verb returns the failure that stopped it; without one,
 * *outcome is the exit code that its result asks for. */
#pragma once

#include "cli/gate/compare.h"
#include "cli/options/options.h"
#include "cli/report/report.h"

/* Fills the description of a run that the journal's header holds. */

/* The words of a command line as they were given. */
struct invocation {
  int argc;
  char **argv;
};

void describe_run(const struct options *, const struct invocation *, const struct sweep *, uint64_t cell_count,
                  struct run_info *out);
/* Writes the command line with the quotes that a POSIX shell needs; " ..." replaces the words that do not fit. */
void describe_run_command(const struct invocation *, char *out, size_t size);

/* The outcome of a verb that was not stopped by a failure: its exit code, and the reason for any code but 0 in one
 * line. */

struct outcome {
  enum exit_code code;
  char why[FAILURES_TEXT_MAX]; /* empty when code is 0 */
};

/* The outcome that the cells of the report ask for. */
void outcome_of_report(const struct report *, struct outcome *out);
/* The outcome of a comparison. `code` is its exit code, or the worse one that cells of the new report ask for. */
void outcome_of_compare(const struct compare *, enum exit_code code, struct outcome *out);

/* Prints one line to the stream: the reason, and which of the outputs that the options name have the details. The
 * text of `failure`, if a failure stopped the verb, comes first. Prints nothing for exit code 0 without a failure. */
void outcome_print(const struct outcome *, const struct status *failure, const struct options *, FILE *);

struct status verb_run(const struct options *, const struct invocation *, struct outcome *outcome);
/* `run --profile`: launches for a profiler in one process, without timing. */
struct status verb_profile(const struct options *, const struct invocation *, struct outcome *outcome);
struct status verb_plan(const struct options *, const struct invocation *, struct outcome *outcome);
/* The verbs `report` and `diagnose`. */
struct status verb_report(const struct options *, struct outcome *outcome);
struct status verb_merge(const struct options *, struct outcome *outcome);
struct status verb_selftest(const struct options *, struct outcome *outcome);
struct status verb_ab(const struct options *, const struct invocation *, struct outcome *outcome);
struct status verb_compare(const struct options *, struct outcome *outcome);
struct status verb_history(const struct options *, struct outcome *outcome);
struct status verb_gate(const struct options *, const struct invocation *, struct outcome *outcome);
struct status verb_tune(const struct options *, const struct invocation *, struct outcome *outcome);
struct status verb_list(const struct options *);
/* Describes what the word on the command line names, on stdout. */
struct status verb_describe(const struct options *);
/* Writes the input tensors of every launch of the cases' checks to stdout (inputs_write). */
struct status verb_inputs(const struct options *);

/* The sweep that a command line names: a file, a shipped sweep, or shapes. */

/* Copies a sweep that comes on stdin into memory and replaces its path in the options by one that child processes can
 * open too, for verbs that start attnbench several times. Call it once, before the verb. */
struct status sweep_source_keep(struct options *);
/* Reads the sweep. On success the caller frees with sweep_free. */
struct status sweep_source_load(const struct options *, struct sweep *out);

/* The settings of a comparison, from the command line and from the sweep. */

/* Fills the gate's settings. The command line overrides the sweep of the base. The sweep of the new report has no
 * influence, so that it cannot choose how much slower the new report may be. .paired is false. STATUS_USAGE when a
 * glob of the command line matches no cell of `now`, unless --only picked the cells. */
struct status gate_options_settings(const struct options *, const struct journal_data *base,
                                    const struct journal_data *now, struct compare_settings *out);
/* The same check of the globs against the cells to be measured, at least one, before any of them is measured. */
struct status gate_options_check(const struct options *, const struct cells *);

/* The output files of a command. It checks that they can be written before it starts, and writes them at its end. */

/* Checks that every output can be written, and that no two outputs are the same file. */
struct status outputs_probe(const struct options *);
/* Whether the text report is printed on stdout. It is not with --quiet, when an output goes to stdout, and when
 * stdout is closed and there are other outputs. */
bool outputs_is_text_wanted(const struct options *);
/* Writes every report that the options name, and the text report on stdout. *outcome is what the rows ask for. When
 * one report cannot be written, the others are written nevertheless, and the first failure is returned. */
struct status outputs_write(const struct options *, const struct journal_data *, struct outcome *outcome);
/* Writes the same without the text report on stdout. */
struct status outputs_write_files(const struct options *, const struct journal_data *, struct outcome *outcome);
/* Whether the options name any report. */
bool outputs_is_report_wanted(const struct options *);
/* Writes the comparison to every output that the options name, and as text on stdout. */
struct status outputs_write_compare(const struct options *, const struct compare *);
