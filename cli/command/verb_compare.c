/* attnbench compare BASE NEW: the verdict over two saved reports or journals. */
#include "cli/command/commands.h"
#include "cli/command/gate_options.h"
#include "cli/command/outputs.h"
#include "cli/report/measured.h"

static struct status compare_loaded(const struct options *options, const struct journal_data *base,
                                    const struct journal_data *now, struct outcome *outcome) {
  struct compare_settings settings;
  struct compare compare;
  TRY(gate_options_settings(options, base, now, &settings));
  settings.once = true;
  TRY(compare_build(base, now, &settings, &compare));
  compare.base_path = options->reports.item[0];
  const struct status status = outputs_write_compare(options, &compare);
  outcome_of_compare(&compare, compare.exit_code, outcome);
  compare_free(&compare);
  return status;
}

static struct status compare_with(const struct options *options, const struct journal_data *base,
                                  struct outcome *outcome) {
  struct journal_data now;
  TRY(measured_load_evidence(options->reports.item[1], &now));
  const struct status status = compare_loaded(options, base, &now, outcome);
  journal_free(&now);
  return status;
}

struct status verb_compare(const struct options *options, struct outcome *outcome) {
  struct journal_data base;
  TRY(outputs_probe(options));
  TRY(measured_load_evidence(options->reports.item[0], &base));
  const struct status status = compare_with(options, &base, outcome);
  journal_free(&base);
  return status;
}
