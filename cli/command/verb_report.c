/* report: outputs again from a journal, or saved reports side by side. */
#include "cli/base/output.h"
#include "cli/command/commands.h"
#include "cli/command/outputs.h"
#include "cli/report/merge.h"

/* Saved reports, or several of anything: a table of them side by side. */
static struct status show_merged(const struct options *options, enum exit_code *exit_code) {
  struct merge merge;
  struct output output;
  if (outputs_is_report_wanted(options)) {
    return status_make(STATUS_USAGE,
                       "--json, --csv and --gbench are written from one journal, by diagnose from one saved report; "
                       "here saved reports are shown as a table");
  }
  TRY(merge_load(options->reports.item, options->reports.count, options->across_devices, &merge));
  struct status status = output_open("-", &output);
  if (!status_failed(&status)) status = output_end(&output, merge_text_write(&merge, output.stream));
  *exit_code = merge.exit_code;
  merge_free(&merge);
  return status;
}

struct status verb_report(const struct options *options, enum exit_code *exit_code) {
  struct journal_data data;
  if (options->counters != NULL) return verb_counters(options, exit_code);
  if (options->reports.count > 1 || merge_is_report(options->reports.item[0])) return show_merged(options, exit_code);
  TRY(outputs_probe(options));
  TRY(journal_load(options->reports.item[0], &data));
  const struct status status = outputs_write(options, &data, exit_code);
  journal_free(&data);
  return status;
}
