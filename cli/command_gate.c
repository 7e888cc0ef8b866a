/* attnbench gate --selftest: what the gate is worth with the noise that a machine was seen to have. */
#include <string.h>

#include "cli/commands.h"
#include "cli/compare_power.h"
#include "cli/output.h"

enum { SUITES = 4000, TRIALS = 400, KINDS = 2 };

static struct status save(const char *path, bool as_json, const struct compare_power *power,
                          const struct journal_data *evidence) {
  struct output output;
  const struct status status = output_open(path, &output);
  if (status_failed(&status)) return status;
  return output_end(&output, as_json ? compare_power_write_json(power, KINDS, evidence, output.stream)
                                     : compare_power_write_text(power, KINDS, output.stream));
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
static struct status selftest(const struct options *options, const struct journal_data *evidence) {
  struct compare_power power[KINDS] = {{.rows = NULL}};
  struct compare_power_settings settings = {
      .rounds = options->rounds_value, .suites = SUITES, .seed = options->seed_value};
  struct status status = command_gate_settings(options, evidence, &settings.compare);
  for (size_t i = 0; i < KINDS && !status_failed(&status); ++i) {
    settings.compare.paired = i == 0;
    settings.trials = i == 0 ? TRIALS : 0;
    status =
        compare_power_measure(options->from != NULL ? options->from : options->sweep, evidence, &settings, &power[i]);
  }
  if (!status_failed(&status)) status = save_all(options, power, evidence);
  for (size_t i = 0; i < KINDS; ++i) compare_power_free(&power[i]);
  return status;
}

/* Rates over cells that went wrong or missing would be rates of something else. */
static struct status check_cells(const struct journal_data *evidence, enum exit_code *exit_code) {
  struct report report;
  const struct status status = report_build(evidence, &report);
  if (status_failed(&status)) return status;
  *exit_code = report.exit_code;
  report_free(&report);
  if (*exit_code != EXIT_CODE_OK) {
    fprintf(stderr, "attnbench: cells are wrong, failed or missing (exit code %d), so there are no rates\n",
            (int)*exit_code);
  }
  return status;
}

struct status command_gate(const struct options *options, int argc, char **argv, enum exit_code *exit_code) {
  struct journal_data evidence;
  struct status status = command_probe_outputs(options);
  if (status_failed(&status)) return status;
  status = options->from != NULL ? command_load_evidence(options->from, &evidence)
                                 : command_measure_processes(options, argc, argv, &evidence, exit_code);
  if (status_failed(&status) || *exit_code != EXIT_CODE_OK) return status;
  status = check_cells(&evidence, exit_code);
  if (!status_failed(&status) && *exit_code == EXIT_CODE_OK) status = selftest(options, &evidence);
  journal_free(&evidence);
  return status;
}
