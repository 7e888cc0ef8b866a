/* --selftest: whether the timer is right on this device. */
#include <inttypes.h>
#include <string.h>

#include "cli/base/output.h"
#include "cli/command/commands.h"
#include "cli/measure/selftest.h"
#include "cli/measure/supervise.h"

/* auto: a GPU when there is one. A GPU that is there but does not open is an error, never a reason for the CPU. */
static struct status measure(const struct options *options, char **line) {
  if (strcmp(options->device, "auto") != 0) return supervise_selftest(options->device, options->timeout.value, line);
  const struct status status = supervise_selftest("cuda", options->timeout.value, line);
  return status.code == STATUS_NO_GPU ? supervise_selftest("cpu", options->timeout.value, line) : status;
}

static void set_outcome(const struct selftest_judgement *judgement, struct outcome *out) {
  const struct selftest_line *first = judgement->line;
  out->code = judgement->exit_code;
  if (judgement->exit_code == EXIT_CODE_OK) return;
  while (first->verdict != SELFTEST_FAIL) ++first;
  snprintf(out->why, sizeof out->why,
           "%" PRIu64 " of %zu lines of the timer's self-test failed, first: %s: %g%s%s is outside %g to %g",
           judgement->verdict_count[SELFTEST_FAIL], judgement->line_count, first->name, first->value,
           first->unit[0] != '\0' ? " " : "", first->unit, first->low, first->high);
}

static struct status judge_and_write(const struct options *options, const struct selftest_result *result,
                                     struct outcome *outcome) {
  struct selftest_judgement judgement;
  const struct selftest_report report = {result, &judgement};
  selftest_judge(result, &judgement);
  set_outcome(&judgement, outcome);
  if (options->json != NULL) OUTPUT_TRY(options->json, out, selftest_print_json(&report, out));
  if (outputs_is_text_wanted(options)) OUTPUT_TRY("-", out, selftest_print_text(&report, out));
  return status_ok();
}

struct status verb_selftest(const struct options *options, struct outcome *outcome) {
  OWNED(owned_free) char *line = NULL;
  struct selftest_result result = {.facts = {.spin_count = 0}};
  TRY(outputs_probe(options));
  TRY(measure(options, &line));
  TRY(fields_from_line("self-test", line, strlen(line), selftest_fields, &result));
  return judge_and_write(options, &result, outcome);
}
