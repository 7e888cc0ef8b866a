/* The verbs. Each returns what failed, and in *outcome what its result asks for when nothing did. */
#ifndef ATTNBENCH_CLI_COMMAND_COMMANDS_H
#define ATTNBENCH_CLI_COMMAND_COMMANDS_H

#include "cli/command/describe_run.h"
#include "cli/command/outcome.h"
#include "cli/options/options.h"
#include "cli/record/journal.h"

struct status verb_run(const struct options *, const struct invocation *, struct outcome *outcome);
/* run with --profile: one process, launches for a profiler, no times. */
struct status verb_profile(const struct options *, const struct invocation *, struct outcome *outcome);
struct status verb_plan(const struct options *, const struct invocation *, struct outcome *outcome);
struct status verb_report(const struct options *, struct outcome *outcome);
/* report with --counters. */
struct status verb_counters(const struct options *, struct outcome *outcome);
struct status verb_merge(const struct options *, struct outcome *outcome);
struct status verb_diagnose(const struct options *, struct outcome *outcome);
struct status verb_selftest(const struct options *, struct outcome *outcome);
struct status verb_ab(const struct options *, const struct invocation *, struct outcome *outcome);
struct status verb_compare(const struct options *, struct outcome *outcome);
struct status verb_gate(const struct options *, const struct invocation *, struct outcome *outcome);
struct status verb_tune(const struct options *, const struct invocation *, struct outcome *outcome);
struct status verb_list(const struct options *, FILE *out);
/* What the word on the command line names, on stdout. */
struct status verb_describe(const struct options *);
/* Q, K and V of every launch of the cases' checks, on stdout. */
struct status verb_inputs(const struct options *);

#endif
