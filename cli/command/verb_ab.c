/* attnbench ab: is the candidate slower than the base? The exit code is the answer. */
#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/command/commands.h"
#include "cli/command/pairs.h"

static struct status save_side(const struct journal_data *data, const char *path) {
  OWNED(report_free) struct report report = {.rows = NULL};
  if (path == NULL || data->records == NULL) return status_ok();
  TRY(report_build(data, &report));
  return report_save(&report, path, report_write_json);
}

static bool is_in_steps(const struct journal_data *data) {
  uint32_t processes = 0;
  for (size_t i = 0; i < data->record_count; ++i) {
    const struct record *record = &data->records[i];
    if (!record_is_timed(record)) continue;
    if (processes > 0 && process_count(record) != processes) return true;
    processes = process_count(record);
  }
  return false;
}

/* Whole rounds or not: what was measured is written where it was asked for. */
static struct status save_sides(struct pairs *pairs, const struct invocation *invocation, bool is_whole) {
  for (size_t i = 0; i < PAIRS_SIDES; ++i) {
    struct journal_data *data = &pairs->data[i];
    describe_run_command(invocation, data->run.command, sizeof data->run.command);
    data->run.in_steps = is_in_steps(data);
    if (!is_whole) snprintf(data->state, sizeof data->state, "interrupted");
  }
  TRY(save_side(&pairs->data[PAIRS_BASE], pairs->options->base_json));
  return save_side(&pairs->data[PAIRS_CANDIDATE], pairs->options->json);
}

static struct status judge(const struct pairs *pairs, struct outcome *outcome) {
  OWNED(compare_free) struct compare compare = {.rows = NULL};
  TRY(pairs_judge(pairs, &compare));
  outcome_of_compare(&compare, suspects_exit_code(&compare), outcome);
  return outputs_write_compare(pairs->options, &compare);
}

/* Reports that cannot be written cost no verdict, and the processes behind them stay in their folder; so do those of
 * an interrupted run whose reports nobody asked for. */
static struct status measure_and_judge(struct pairs *pairs, const struct invocation *invocation,
                                       struct outcome *outcome) {
  const struct options *o = pairs->options;
  struct status status = pairs_measure(pairs);
  const bool is_whole = !status_failed(&status);
  const struct status saved = save_sides(pairs, invocation, is_whole);
  const bool is_asked_for = o->base_json != NULL && o->json != NULL;
  pairs->is_kept = status_failed(&saved) || (status.code == STATUS_INTERRUPTED && !is_asked_for);
  if (is_whole) status = judge(pairs, outcome);
  return status_failed(&status) ? status : saved;
}

struct status verb_ab(const struct options *options, const struct invocation *invocation, struct outcome *outcome) {
  struct pairs pairs;
  TRY(outputs_probe(options));
  struct status status = pairs_open(options, &pairs);
  if (!status_failed(&status)) status = measure_and_judge(&pairs, invocation, outcome);
  if (pairs.is_kept || (status.code == STATUS_INTERRUPTED && options->keep != NULL))
    text_say(stderr, "journals so far are kept in %s; --keep %s --resume goes on with them", pairs.folder,
             pairs.folder);
  pairs_close(&pairs);
  return status;
}
