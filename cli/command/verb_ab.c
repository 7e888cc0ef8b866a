/* attnbench ab: is the candidate slower than the base? The exit code is the answer. */
#include "cli/base/signals.h"
#include "cli/command/commands.h"
#include "cli/command/pairs.h"
#include "cli/gate/suspects.h"

static struct status save_side(const struct journal_data *data, const char *path) {
  struct report report;
  if (path == NULL || data->records == NULL) return status_ok();
  struct status status = report_build(data, &report);
  if (status_failed(&status)) return status;
  status = report_save(&report, path, report_write_json);
  report_free(&report);
  return status;
}

/* Whole rounds or not: what was measured is written where it was asked for. */
static struct status save_sides(struct pairs *pairs, int argc, char **argv, bool is_whole) {
  for (size_t i = 0; i < PAIRS_SIDES; ++i) {
    struct journal_data *data = &pairs->data[i];
    command_quote(argc, argv, data->run.command, sizeof data->run.command);
    if (!is_whole) snprintf(data->state, sizeof data->state, "interrupted");
  }
  const struct status status = save_side(&pairs->data[PAIRS_BASE], pairs->options->base_json);
  return status_failed(&status) ? status : save_side(&pairs->data[PAIRS_CANDIDATE], pairs->options->json);
}

static struct status judge(const struct pairs *pairs, enum exit_code *exit_code) {
  struct compare compare;
  struct status status = pairs_judge(pairs, &compare);
  if (status_failed(&status)) return status;
  status = command_write_compare(pairs->options, &compare);
  *exit_code = suspects_exit_code(&compare);
  compare_free(&compare);
  return status;
}

/* Reports that cannot be written cost no verdict, and the processes behind them stay in their folder; so do those of
 * an interrupted run whose reports nobody asked for. */
static struct status measure_and_judge(struct pairs *pairs, int argc, char **argv, enum exit_code *exit_code) {
  const struct options *o = pairs->options;
  struct status status = pairs_measure(pairs);
  const bool is_whole = !status_failed(&status);
  const struct status saved = save_sides(pairs, argc, argv, is_whole);
  const bool is_asked_for = o->base_json != NULL && o->json != NULL;
  pairs->is_kept = status_failed(&saved) || (signals_received() != 0 && !is_asked_for);
  if (is_whole) status = judge(pairs, exit_code);
  return status_failed(&status) ? status : saved;
}

struct status verb_ab(const struct options *options, int argc, char **argv, enum exit_code *exit_code) {
  struct pairs pairs;
  struct status status = command_probe_outputs(options);
  if (status_failed(&status)) return status;
  status = pairs_open(options, &pairs);
  if (!status_failed(&status)) status = measure_and_judge(&pairs, argc, argv, exit_code);
  if (pairs.is_kept || (signals_received() != 0 && options->keep != NULL)) {
    fprintf(stderr, "attnbench: journals so far are kept in %s\n", pairs.folder);
  }
  command_end_of_signal(&status, exit_code);
  pairs_close(&pairs);
  return status;
}
