/* attnbench inputs: what a case's tensors hold, on stdout. */
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/base/owned.h"
#include "cli/command/commands.h"
#include "cli/command/sweep_source.h"
#include "cli/measure/inputs.h"

static struct status write_cases(const struct options *options, const struct sweep *sweep, FILE *out) {
  for (size_t i = 0; i < sweep->case_count; ++i) TRY(inputs_write(&sweep->cases[i].shape, options->seed.value, out));
  return status_ok();
}

struct status verb_inputs(const struct options *options) {
  OWNED(sweep_free) struct sweep sweep = {.case_count = 0};
  if (isatty(STDOUT_FILENO))
    return status_make(
        STATUS_USAGE,
        "attnbench inputs writes raw numbers, which a terminal cannot show; send them to a file or a pipe");
  TRY(sweep_source_load(options, &sweep));
  OUTPUT_TRY("-", out, write_cases(options, &sweep, out));
  return status_ok();
}
