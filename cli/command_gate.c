/* attnbench gate --selftest: what the gate is worth with the noise that a machine was seen to have. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/compare_power.h"
#include "cli/output.h"

enum { SUITES = 4000, TRIALS = 400, KINDS = 2 };

static struct status save(const char *path, bool as_json, const struct compare_power *power,
                          const struct journal_data *evidence) {
  struct output output;
  struct status status = output_open(path, &output);
  if (status_failed(&status)) return status;
  status = as_json ? compare_power_write_json(power, KINDS, evidence, output.stream)
                   : compare_power_write_text(power, KINDS, output.stream);
  if (!status_failed(&status)) return output_commit(&output);
  output_abandon(&output);
  return status;
}

/* The text too, unless the JSON has taken stdout. */
static struct status save_all(const struct options *options, const struct compare_power *power,
                              const struct journal_data *evidence) {
  struct status status = status_ok();
  if (options->json != NULL) status = save(options->json, true, power, evidence);
  if (status_failed(&status) || (options->json != NULL && strcmp(options->json, "-") == 0)) return status;
  return save("-", false, power, evidence);
}

/* As pairs, which `ab` measures, and as two samples, which --baseline compares. */
static struct status selftest(const struct options *options, const char *path, const struct journal_data *evidence) {
  struct compare_power power[KINDS] = {{.rows = NULL}};
  struct compare_power_settings settings = {
      .rounds = options->rounds_value, .suites = SUITES, .seed = options->seed_value};
  struct status status = command_gate_settings(options, evidence, &settings.compare);
  for (size_t i = 0; i < KINDS && !status_failed(&status); ++i) {
    settings.compare.paired = i == 0;
    settings.trials = i == 0 ? TRIALS : 0;
    status = compare_power_measure(path, evidence, &settings, &power[i]);
  }
  if (!status_failed(&status)) status = save_all(options, power, evidence);
  for (size_t i = 0; i < KINDS; ++i) compare_power_free(&power[i]);
  return status;
}

/* ---- measuring ----------------------------------------------------------------------------------------------- */

/* A run of many rounds, as short as those of `ab`. What it leaves is its journal. */
static struct status measure(const struct options *options, int argc, char **argv, const char *journal,
                             enum exit_code *exit_code) {
  struct options run = *options;
  run.verb = VERB_RUN;
  run.journal = journal;
  run.json = "/dev/null";
  run.rounds_value = options->processes_value;
  run.quick = true;
  run.reference = "none";
  return command_run(&run, argc, argv, exit_code);
}

static struct status judge(const struct options *options, const char *path, enum exit_code *exit_code) {
  struct journal_data evidence;
  struct status status = command_load_evidence(path, &evidence);
  if (status_failed(&status)) return status;
  status = selftest(options, path, &evidence);
  *exit_code = EXIT_CODE_OK;
  journal_free(&evidence);
  return status;
}

/* Rates over cells that went wrong or were interrupted would be rates of something else. */
static struct status measure_and_judge(const struct options *options, int argc, char **argv,
                                       enum exit_code *exit_code) {
  char path[512];
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/attnbench-gate-%ld.journal", folder != NULL ? folder : "/tmp", (long)getpid());
  const char *journal = options->journal != NULL ? options->journal : path;
  struct status status = measure(options, argc, argv, journal, exit_code);
  if (!status_failed(&status) && *exit_code == EXIT_CODE_OK) status = judge(options, journal, exit_code);
  if (*exit_code != EXIT_CODE_OK) {
    fprintf(stderr, "attnbench: the measurement ended with exit code %d; see attnbench report %s\n", (int)*exit_code,
            journal);
  } else if (options->journal == NULL && !status_failed(&status)) {
    unlink(path);
  }
  return status;
}

struct status command_gate(const struct options *options, int argc, char **argv, enum exit_code *exit_code) {
  const struct status status = command_probe_outputs(options);
  if (status_failed(&status)) return status;
  return options->from != NULL ? judge(options, options->from, exit_code)
                               : measure_and_judge(options, argc, argv, exit_code);
}
