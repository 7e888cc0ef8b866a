/* report: outputs of what was measured, or several files side by side. */
#include "cli/base/output.h"
#include "cli/command/commands.h"
#include "cli/command/merged_page.h"
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

static struct status print_merged(const struct merge *merge) {
  struct output output;
  TRY(output_open("-", &output));
  return output_end(&output, merge_text_write(merge, output.stream));
}

/* Several files: their rows side by side, as a table and as a page. */
static struct status show_merged(const struct options *options, struct outcome *outcome) {
  struct merge merge;
  struct status status = status_ok();
  if (options->json != NULL || options->csv != NULL || options->gbench != NULL) {
    return status_make(STATUS_USAGE,
                       "--json, --csv and --gbench are written of one file; several are shown side by side, as a "
                       "table and with --html as a page");
  }
  TRY(outputs_probe(options));
  TRY(merge_load(options->reports.item, options->reports.count, options->across_devices, &merge));
  if (options->html != NULL) status = merged_page_save(options, &merge);
  if (!status_failed(&status) && outputs_is_text_wanted(options)) status = print_merged(&merge);
  set_outcome(&merge, outcome);
  merge_free(&merge);
  return status;
}

struct status verb_report(const struct options *options, struct outcome *outcome) {
  if (options->counters != NULL) return verb_counters(options, outcome);
  return options->reports.count > 1 ? show_merged(options, outcome) : verb_diagnose(options, outcome);
}
