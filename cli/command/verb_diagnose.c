/* diagnose: findings for anything that was measured: a journal, a report, a table of times. */
#include "cli/command/commands.h"
#include "cli/command/outputs.h"
#include "cli/report/measured.h"

struct status verb_diagnose(const struct options *options, struct outcome *outcome) {
  struct journal_data data;
  TRY(outputs_probe(options));
  TRY(measured_load(options->reports.item[0], &data, NULL));
  const struct status status = outputs_write(options, &data, outcome);
  journal_free(&data);
  return status;
}
