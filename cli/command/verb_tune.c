/* tune: searches the tunables of a variant on this device. */
#include "cli/base/output.h"
#include "cli/command/commands.h"
#include "cli/command/outputs.h"
#include "cli/command/tuned.h"

static struct status save(const struct tune *tune, const char *path,
                          struct status (*write)(const struct tune *, FILE *)) {
  struct output output;
  TRY(output_open(path, &output));
  return output_end(&output, write(tune, output.stream));
}

static struct status write_results(const struct tune *tune, const struct options *options) {
  if (options->json != NULL) TRY(save(tune, options->json, tuned_write_sweep));
  return outputs_is_text_wanted(options) ? save(tune, "-", tuned_write_text) : status_ok();
}

/* What was found so far is written, whatever stopped the search. */
static struct status search_and_write(struct tune *tune, const struct options *options, struct outcome *outcome) {
  struct status measured;
  TRY(tune_search(tune, &measured));
  struct status status = write_results(tune, options);
  tuned_outcome(tune, outcome);
  if (!status_failed(&status)) status = measured;
  journal_file_drop(&tune->run.file, &status);
  return status;
}

static struct status do_tune(struct tune *tune, const struct options *options, const struct invocation *invocation,
                             struct outcome *outcome) {
  TRY(outputs_probe(options));
  TRY(tune_open(options, invocation, tune));
  return search_and_write(tune, options, outcome);
}

struct status verb_tune(const struct options *options, const struct invocation *invocation, struct outcome *outcome) {
  struct tune tune = {.case_count = 0};
  const struct status status = do_tune(&tune, options, invocation, outcome);
  tune_close(&tune);
  return status;
}
