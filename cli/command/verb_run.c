/* The verb run: measures a sweep, reports it and, with --baseline, says how it compares. */
#include "cli/command/run.h"
#include "cli/report/measured.h"

/* ---- against a baseline -------------------------------------------------------------------------------------- */

static struct status look_again(struct run *run, uint32_t number, struct compare *compare) {
  OWNED(suspects_free) struct suspects suspects = {.count = 0};
  OWNED(journal_free) struct journal_data again = {.records = NULL};
  OWNED(compare_free) struct compare fresh = {.rows = NULL};
  TRY(suspects_of(compare, &suspects));
  TRY(take_again(run, number, suspects.only, suspects.count, &again));
  TRY(compare_build(compare->base, &again, &compare->settings, &fresh));
  return confirm_add(compare, &fresh);
}

/* Compares the two as two samples. What failed or did not decide is measured again, a few times at most. */
static struct status judge(struct run *run, const struct journal_data *base, const struct journal_data *now,
                           struct outcome *outcome) {
  struct compare_settings settings;
  OWNED(compare_free) struct compare compare = {.rows = NULL};
  struct status status = status_ok();
  TRY(gate_options_settings(run->options, base, now, &settings));
  TRY(compare_build(base, now, &settings, &compare));
  for (uint32_t look = 1; look <= COMPARE_LOOKS_MAX && confirm_wants_any(&compare) && !status_failed(&status); ++look)
    status = look_again(run, look, &compare);
  if (!status_failed(&status)) status = outputs_write_compare(run->options, &compare);
  outcome_of_compare(&compare, suspects_exit_code(&compare), outcome);
  return status;
}

/* ---- the run ------------------------------------------------------------------------------------------------- */

/* A run with a baseline says how it compares; its own reports are written where they were asked for. */
static struct status report_run(struct run *run, const struct journal_data *base, const struct journal_data *data,
                                struct outcome *outcome) {
  if (base == NULL) return outputs_write(run->options, data, outcome);
  struct status status = status_ok();
  if (outputs_is_report_wanted(run->options)) status = outputs_write_files(run->options, data, outcome);
  const struct status judged = judge(run, base, data, outcome);
  return status_failed(&status) ? status : judged;
}

/* Reports what was measured, whole or not; only a whole run is compared. */
static struct status measure_and_report(struct run *run, const struct journal_data *base, struct outcome *outcome) {
  OWNED(journal_free) struct journal_data data = {.records = NULL};
  struct status measured, status = take_rounds(run, &data, &measured);
  if (!status_failed(&status)) status = report_run(run, status_failed(&measured) ? NULL : base, &data, outcome);
  journal_file_drop(&run->file, &status, status_failed(&measured) && data.record_count > 0);
  return status_failed(&status) ? status : measured;
}

struct status verb_run(const struct options *options, const struct invocation *invocation, struct outcome *outcome) {
  OWNED(journal_free) struct journal_data base = {.records = NULL};
  OWNED(run_close) struct run run = {.options = options};
  const char *baseline = options->baseline;
  TRY(run_prepare(options, invocation, &run));
  TRY(outputs_probe(options));
  /* Before anything is measured. */
  if (baseline != NULL) TRY(measured_load_evidence(baseline, options->allow_edited, &base));
  if (baseline != NULL) TRY(identity_check_baseline(baseline, &base));
  TRY(run_open(&run));
  TRY(run_begin(&run));
  return measure_and_report(&run, baseline != NULL ? &base : NULL, outcome);
}
