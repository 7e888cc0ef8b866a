/* The verbs report and diagnose: reports again of what was measured, with a profiler's counters where they are given;
 * several saved reports side by side. */
#include "cli/base/output.h"
#include "cli/base/owned.h"
#include "cli/command/commands.h"
#include "cli/page/page.h"

#define COUNTERS_BYTES_MAX (UINT32_C(64) << 20)

/* ---- several files ------------------------------------------------------------------------------------------- */

/* That of the first source whose exit code is that of all. */
static void set_outcome(const struct merge *merge, struct outcome *out) {
  struct outcome of_source;
  out->code = merge->exit_code;
  for (size_t i = 0; i < merge->source_count && merge->exit_code != EXIT_CODE_OK; ++i) {
    outcome_of_report(merge->source[i].report, &of_source);
    if (of_source.code != merge->exit_code) continue;
    snprintf(out->why, sizeof out->why, "%s: %s", merge->source[i].path, of_source.why);
    return;
  }
}

/* Two reports that have a cell in common. Times entered by hand are no evidence. */
static bool can_be_compared(const struct merge *merge) {
  const struct journal_data *base = merge->source[0].report->journal, *now = merge->source[1].report->journal;
  if (merge->source_count != 2 || base->run.started_utc[0] == '\0' || now->run.started_utc[0] == '\0') return false;
  for (size_t i = 0; i < now->record_count; ++i) {
    if (journal_find(base, i, now->records[i].attn_case.key, now->records[i].variant) != NULL) return true;
  }
  return false;
}

/* Of two reports that can be compared the page says how they compare, too. Of other ones a verdict would be a failure
 * that nobody asked for. */
static struct status write_page(const struct options *options, const struct merge *merge) {
  const struct journal_data *base = merge->source[0].report->journal, *now = merge->source[1].report->journal;
  struct compare_settings settings;
  OWNED(compare_free) struct compare compare = {.rows = NULL};
  const bool compares = can_be_compared(merge);
  if (compares) {
    TRY(gate_options_settings(options, base, now, &settings));
    settings.once = true;
    TRY(compare_build(base, now, &settings, &compare));
    compare.base_path = merge->source[0].path;
  }
  OUTPUT_TRY(options->html, out, page_write_merge(merge, compares && compare.comparable ? &compare : NULL, out));
  return status_ok();
}

/* seen: NULL for one file. */
static struct keep keep_of(const struct options *options, struct keep_seen *seen) {
  return (struct keep){options->filter.item, options->filter.count, options->variants, seen};
}

/* Their rows side by side, as a table and as a page. */
static struct status show_merged(const struct options *options, struct outcome *outcome) {
  OWNED(merge_free) struct merge merge = {.exit_code = EXIT_CODE_OK};
  struct keep_seen seen = {.variant_count = 0};
  const struct keep keep = keep_of(options, &seen);
  if (options->json != NULL || options->csv != NULL || options->gbench != NULL)
    return status_make(STATUS_USAGE,
                       "--json, --csv and --gbench are written of one file; several are shown side by side, as a "
                       "table and with --html as a page");
  TRY(outputs_probe(options));
  TRY(merge_load(options->reports.item, options->reports.count, &keep, options->across_devices, &merge));
  TRY(keep_check_variants(&keep, "these files", &seen));
  if (merge.row_count == 0) return status_make(STATUS_USAGE, "no row of these files meets --filter and --variants");
  set_outcome(&merge, outcome);
  if (options->html != NULL) TRY(write_page(options, &merge));
  if (outputs_is_text_wanted(options)) OUTPUT_TRY("-", out, merge_text_write(&merge, out));
  return status_ok();
}

/* ---- one file ------------------------------------------------------------------------------------------------ */

static struct status add_counters(const char *path, struct journal_data *into) {
  OWNED(json_free) struct json_doc doc = {.root = NULL};
  TRY(json_load(path, COUNTERS_BYTES_MAX, &doc));
  return counters_read(&doc, into);
}

struct status verb_report(const struct options *options, struct outcome *outcome) {
  OWNED(journal_free) struct journal_data data = {.records = NULL};
  const size_t count = options->reports.count;
  if (count > 1 && options->counters != NULL)
    return status_make(STATUS_USAGE, "--counters: belongs to one report; name one instead of %zu", count);
  if (count > 1) return show_merged(options, outcome);
  TRY(outputs_probe(options));
  TRY(measured_load(options->reports.item[0], &data, NULL));
  if (options->counters != NULL) TRY(add_counters(options->counters, &data));
  const struct keep keep = keep_of(options, NULL);
  TRY(keep_records(&keep, options->reports.item[0], &data));
  return outputs_write(options, &data, outcome);
}
