/* report: outputs of what was measured, or several files side by side. */
#include "cli/base/output.h"
#include "cli/command/commands.h"
#include "cli/command/outputs.h"
#include "cli/report/merge.h"

/* That of the first source whose exit code is that of all. */
static void set_outcome(const struct merge *merge, struct outcome *out) {
  struct outcome of_source;
  out->code = merge->exit_code;
  for (size_t i = 0; i < merge->source_count && merge->exit_code != EXIT_CODE_OK; ++i) {
    outcome_of_report(&merge->source[i].report, &of_source);
    if (of_source.code != merge->exit_code) continue;
    snprintf(out->why, sizeof out->why, "%s: %s", merge->source[i].path, of_source.why);
    return;
  }
}

/* Several files: a table of their rows side by side. */
static struct status show_merged(const struct options *options, struct outcome *outcome) {
  struct merge merge;
  struct output output;
  if (outputs_is_report_wanted(options)) {
    return status_make(STATUS_USAGE,
                       "--json, --csv and --gbench are written of one file; several are shown side by side, as a "
                       "table");
  }
  TRY(merge_load(options->reports.item, options->reports.count, options->across_devices, &merge));
  const bool is_shown = outputs_is_text_wanted(options);
  struct status status = is_shown ? output_open("-", &output) : status_ok();
  if (is_shown && !status_failed(&status)) status = output_end(&output, merge_text_write(&merge, output.stream));
  set_outcome(&merge, outcome);
  merge_free(&merge);
  return status;
}

struct status verb_report(const struct options *options, struct outcome *outcome) {
  if (options->counters != NULL) return verb_counters(options, outcome);
  return options->reports.count > 1 ? show_merged(options, outcome) : verb_diagnose(options, outcome);
}
