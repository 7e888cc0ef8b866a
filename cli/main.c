/* attnbench: verbs to commands to exit code, and the only place that prints an error. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/version.h"
#include "cli/worker.h"

static struct status run_verb(const struct options *options, int argc, char **argv, enum exit_code *exit_code) {
  switch (options->verb) {
    case VERB_RUN: return command_run(options, argc, argv, exit_code);
    case VERB_PLAN: return command_plan(options, argc, argv, exit_code);
    case VERB_AB: return command_ab(options, argc, argv, exit_code);
    case VERB_LIST: return command_list(options, stdout);
    case VERB_REPORT: return command_report(options, exit_code);
    case VERB_DIAGNOSE: return command_diagnose(options, exit_code);
    case VERB_COMPARE: return command_compare(options, exit_code);
    case VERB_GATE: return command_gate(options, argc, argv, exit_code);
    case VERB_WORKER: return worker_main(options->device, options->load, options->load_count);
    case VERB_DESCRIBE: return worker_describe(options->load, options->load_count);
    case VERB_COUNT: break;
  }
  return status_make(STATUS_INTERNAL, "no such verb");
}

int main(int argc, char **argv) {
  struct options options;
  enum exit_code exit_code = EXIT_CODE_OK;
  struct status status = options_parse(argc, argv, &options);
  if (!status_failed(&status) && options.help) {
    options_help(stdout);
    return EXIT_CODE_OK;
  }
  if (!status_failed(&status) && options.version) {
    printf("attnbench %s (commit %s), CUDA %s, cJSON %s\n", version_string(), version_git_commit(),
           device_build_cuda(), version_cjson());
    return EXIT_CODE_OK;
  }
  if (!status_failed(&status)) status = run_verb(&options, argc, argv, &exit_code);
  if (!status_failed(&status)) return exit_code;
  /* A worker reports its failures through its pipe. */
  if (options.verb < VERB_WORKER) fprintf(stderr, "attnbench: %s\n", status.text);
  return status_exit_code(status.code);
}
