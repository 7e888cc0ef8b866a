/* run: measures a sweep, reports it, and compares it with a baseline when there is one. */
#include "cli/command/baseline.h"
#include "cli/command/commands.h"
#include "cli/command/outputs.h"
#include "cli/command/run.h"
#include "cli/gate/identity.h"
#include "cli/report/measured.h"

/* A run with a baseline says how it compares; its own reports are written where they were asked for. */
static struct status report_run(struct run *run, const struct journal_data *base, const struct journal_data *data,
                                struct outcome *outcome) {
  if (base == NULL) return outputs_write(run->options, data, outcome);
  struct status status = status_ok();
  if (outputs_is_report_wanted(run->options)) status = outputs_write_files(run->options, data, outcome);
  const struct status judged = baseline_judge(run, base, data, outcome);
  return status_failed(&status) ? status : judged;
}

/* Reports what was measured, whole or not; only a whole run is compared. */
static struct status measure_and_report(struct run *run, const struct journal_data *base, struct outcome *outcome) {
  struct journal_data data;
  struct status measured, status = run_take(run, &data, &measured);
  if (!status_failed(&status)) {
    status = report_run(run, status_failed(&measured) ? NULL : base, &data, outcome);
    journal_free(&data);
  }
  journal_file_drop(&run->file, &status);
  return status_failed(&status) ? status : measured;
}

/* Before anything is measured: a baseline that cannot be read costs nothing. */
static struct status load_baseline(const char *path, struct journal_data *out) {
  if (path == NULL) return status_ok();
  TRY(measured_load_evidence(path, out));
  return identity_check_baseline(path, out);
}

static struct status do_run(struct run *run, struct journal_data *base, struct outcome *outcome) {
  const char *baseline = run->options->baseline;
  TRY(outputs_probe(run->options));
  TRY(load_baseline(baseline, base));
  TRY(run_open(run));
  return measure_and_report(run, baseline != NULL ? base : NULL, outcome);
}

struct status verb_run(const struct options *options, const struct invocation *invocation, struct outcome *outcome) {
  struct journal_data base = {.records = NULL};
  struct run run;
  TRY(run_prepare(options, invocation, &run));
  const struct status status = do_run(&run, &base, outcome);
  run_close(&run);
  journal_free(&base);
  return status;
}
