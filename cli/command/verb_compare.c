/* The verb compare: is the new report slower than the base? */
#include "cli/base/output.h"
#include "cli/base/owned.h"
#include "cli/command/commands.h"
#include "cli/report/measured.h"

struct status verb_compare(const struct options *options, struct outcome *outcome) {
  OWNED(journal_free) struct journal_data base = {.records = NULL};
  OWNED(journal_free) struct journal_data now = {.records = NULL};
  OWNED(compare_free) struct compare compare = {.rows = NULL};
  struct compare_settings settings;
  TRY(outputs_probe(options));
  TRY(measured_load_evidence(options->reports.item[0], options->allow_edited, &base));
  TRY(measured_load_evidence(options->reports.item[1], options->allow_edited, &now));
  TRY(gate_options_settings(options, &base, &now, &settings));
  settings.once = true;
  TRY(compare_build(&base, &now, &settings, &compare));
  compare.base_path = options->reports.item[0];
  compare.is_same_file = output_is_same_file(options->reports.item[0], options->reports.item[1]);
  outcome_of_compare(&compare, compare.exit_code, outcome);
  return outputs_write_compare(options, &compare);
}
