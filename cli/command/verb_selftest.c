/* run --selftest: whether the timer is right on this device. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/output.h"
#include "cli/command/commands.h"
#include "cli/selftest/selftest.h"

/* auto: a GPU when there is one. A GPU that is there but does not open is an error, never a reason for the CPU. */
static struct status measure(const struct options *options, char **line) {
  if (strcmp(options->device, "auto") != 0) return supervise_selftest(options->device, options->timeout.value, line);
  const struct status status = supervise_selftest("cuda", options->timeout.value, line);
  return status.code == STATUS_NO_GPU ? supervise_selftest("cpu", options->timeout.value, line) : status;
}

static struct status save(const struct selftest_report *report, const char *path,
                          struct status (*write)(const struct selftest_report *, FILE *)) {
  struct output output;
  const struct status status = output_open(path, &output);
  return status_failed(&status) ? status : output_end(&output, write(report, output.stream));
}

static struct status judge_and_write(const struct options *options, const struct selftest_result *result,
                                     enum exit_code *exit_code) {
  struct selftest_judgement judgement;
  const struct selftest_report report = {result, &judgement};
  struct status status = status_ok();
  selftest_judge(result, &judgement);
  if (options->json != NULL) status = save(&report, options->json, selftest_print_json);
  if (!status_failed(&status) && (options->json == NULL || strcmp(options->json, "-") != 0)) {
    status = save(&report, "-", selftest_print_text);
  }
  *exit_code = judgement.exit_code;
  return status;
}

struct status verb_selftest(const struct options *options, enum exit_code *exit_code) {
  char *line = NULL;
  struct selftest_result result;
  struct status status = command_probe_outputs(options);
  if (!status_failed(&status)) status = measure(options, &line);
  if (!status_failed(&status)) status = selftest_from_line(line, strlen(line), &result);
  free(line);
  return status_failed(&status) ? status : judge_and_write(options, &result, exit_code);
}
