/* report: outputs of what was measured, or several files side by side. */
#include "cli/base/output.h"
#include "cli/command/commands.h"
#include "cli/command/outputs.h"
#include "cli/report/merge.h"

/* Several files: a table of their rows side by side. */
static struct status show_merged(const struct options *options, enum exit_code *exit_code) {
  struct merge merge;
  struct output output;
  if (outputs_is_report_wanted(options)) {
    return status_make(STATUS_USAGE,
                       "--json, --csv and --gbench are written of one file; several are shown side by side, as a "
                       "table");
  }
  TRY(merge_load(options->reports.item, options->reports.count, options->across_devices, &merge));
  struct status status = output_open("-", &output);
  if (!status_failed(&status)) status = output_end(&output, merge_text_write(&merge, output.stream));
  *exit_code = merge.exit_code;
  merge_free(&merge);
  return status;
}

struct status verb_report(const struct options *options, enum exit_code *exit_code) {
  if (options->counters != NULL) return verb_counters(options, exit_code);
  return options->reports.count > 1 ? show_merged(options, exit_code) : verb_diagnose(options, exit_code);
}
