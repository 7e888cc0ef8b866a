/* The verbs of the command line. Each returns the failure that stopped it; without one, *outcome is the exit code
 * that its result asks for. */
#pragma once

#include "cli/command/describe_run.h"
#include "cli/command/outcome.h"
#include "cli/options/options.h"
#include "cli/record/journal.h"

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
