/* attnbench inputs: what a case's tensors hold, on stdout. */
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/command/commands.h"
#include "cli/command/sweep_source.h"
#include "cli/measure/inputs.h"

static struct status write_cases(const struct options *options, const struct sweep *sweep) {
  struct output output;
  struct status status = status_ok();
  TRY(output_open("-", &output));
  for (size_t i = 0; i < sweep->case_count && !status_failed(&status); ++i)
    status = inputs_write(&sweep->cases[i].shape, options->seed.value, output.stream);
  return output_end(&output, status);
}

struct status verb_inputs(const struct options *options) {
  struct sweep sweep;
  if (isatty(STDOUT_FILENO))
    return status_make(STATUS_USAGE,
                       "attnbench inputs writes raw numbers, which a terminal cannot show; send them to "
                       "a file or a pipe");
  TRY(sweep_source_load(options, &sweep));
  const struct status status = write_cases(options, &sweep);
  sweep_free(&sweep);
  return status;
}
