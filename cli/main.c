/* attnbench: verbs to commands to exit code, and the only place that prints an error. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/base/signals.h"
#include "cli/command/commands.h"
#include "cli/measure/worker.h"

static struct status print_generated(const struct options *options) {
  OUTPUT_TRY("-", out, generate_text(options->reports.item[0], out));
  return status_ok();
}

static struct status print_words(const struct options_list *words) {
  OUTPUT_TRY("-", out, (generate_words(words->item, words->count, out), status_ok()));
  return status_ok();
}

static struct status run_verb(const struct options *options, const struct invocation *invocation,
                              struct outcome *outcome) {
  switch (options->verb) {
    case VERB_RUN:
      return options->profile.value > 0 ? verb_profile(options, invocation, outcome)
                                        : verb_run(options, invocation, outcome);
    case VERB_PLAN: return verb_plan(options, invocation, outcome);
    case VERB_AB: return verb_ab(options, invocation, outcome);
    case VERB_LIST: return verb_list(options);
    case VERB_REPORT:
    case VERB_DIAGNOSE: return verb_report(options, outcome);
    case VERB_MERGE: return verb_merge(options, outcome);
    case VERB_SELFTEST: return verb_selftest(options, outcome);
    case VERB_COMPARE: return verb_compare(options, outcome);
    case VERB_HISTORY: return verb_history(options, outcome);
    case VERB_GATE: return verb_gate(options, invocation, outcome);
    case VERB_WORKER: return worker_main(options->device, options->load.item, options->load.count);
    case VERB_TUNE: return verb_tune(options, invocation, outcome);
    case VERB_DESCRIBE: return verb_describe(options);
    case VERB_GENERATE: return print_generated(options);
    case VERB_COMPLETE: return print_words(&options->reports);
    case VERB_INPUTS: return verb_inputs(options);
    case VERB_OBJECT: return worker_describe(options->load.item, options->load.count);
    case VERB_MEASURE_SELF: return worker_selftest(options->device);
    case VERB_COUNT: break;
  }
  return status_make(STATUS_INTERNAL, "no such verb");
}

/* --help or --version. */
static struct status print_about(const struct options *options) {
  struct output output;
  TRY(output_open("-", &output));
  if (options->help && options->verb_named) {
    options_help_verb(output.stream, options->verb);
  } else if (options->short_help) {
    options_help_short(output.stream);
  } else if (options->help) {
    options_help(output.stream);
  } else {
    fprintf(output.stream, "attnbench %s (commit %s), CUDA %s, cJSON %s\n", version_string(), version_git_commit(),
            device_build_cuda(), version_cjson());
  }
  return output_commit(&output);
}

/* The number of a closed stream would go to the next file that is opened, and what prints to the stream would go into
 * that file. What stands in for it is open in the wrong direction: its use fails as that of a closed one does. */
static void fill_standard_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    const bool closed = fcntl(fd, F_GETFD) < 0;
    if (closed && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return;
  }
}

/* They take long and start processes; the others may die of a signal. */
static bool measures(enum verb verb) {
  return verb == VERB_RUN || verb == VERB_AB || verb == VERB_TUNE || verb == VERB_GATE || verb == VERB_SELFTEST;
}

/* A signal counts whenever it comes: also while the device opens, and while the last file is written. */
static struct status run_watched(const struct options *options, const struct invocation *invocation,
                                 struct outcome *outcome) {
  if (!measures(options->verb)) return run_verb(options, invocation, outcome);
  signals_watch();
  TRY(run_verb(options, invocation, outcome));
  return signals_check();
}

int main(int argc, char **argv) {
  const struct invocation invocation = {argc, argv};
  struct options options;
  struct outcome outcome = {.code = EXIT_CODE_OK};
  fill_standard_streams();
  /* Also for verbs that watch no signals: a file that may not grow is an output that cannot be written. */
  signal(SIGXFSZ, SIG_IGN);
  struct status status = options_parse(argc, argv, &options);
  const bool about = options.help || options.version;
  if (!status_failed(&status) && !about) status = sweep_source_keep(&options);
  if (!status_failed(&status)) status = about ? print_about(&options) : run_watched(&options, &invocation, &outcome);
  /* A worker reports its failures through its pipe. */
  if (options.verb < VERB_WORKER) outcome_print(&outcome, &status, &options, stderr);
  return status_failed(&status) ? signals_exit_code(&status) : outcome.code;
}
