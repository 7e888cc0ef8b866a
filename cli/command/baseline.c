/* --baseline FILE: a run's rounds against those of a saved report, as two samples. */
#include "cli/command/verb_run.h"
#include "cli/gate/suspects.h"

static struct status confirm(struct run *run, const struct journal_data *base, const struct suspects *suspects,
                             struct compare *compare) {
  struct journal_data again;
  struct compare second;
  struct status status = run_take_again(run, suspects->only, suspects->count, &again);
  if (status_failed(&status)) return status;
  status = compare_build(base, &again, &compare->settings, &second);
  if (!status_failed(&status)) {
    compare_confirm(compare, &second);
    compare_free(&second);
  }
  journal_free(&again);
  return status;
}

static struct status judge(struct run *run, const struct journal_data *base, struct compare *compare) {
  struct suspects suspects;
  struct status status = suspects_of(compare, &suspects);
  if (status_failed(&status)) return status;
  if (suspects.count > 0) status = confirm(run, base, &suspects, compare);
  suspects_free(&suspects);
  return status;
}

struct status command_baseline(struct run *run, const struct journal_data *base, const struct journal_data *now,
                               enum exit_code *exit_code) {
  struct compare_settings settings;
  struct compare compare;
  struct status status = command_gate_settings(run->options, now, &settings);
  if (!status_failed(&status)) status = compare_build(base, now, &settings, &compare);
  if (status_failed(&status)) return status;
  status = judge(run, base, &compare);
  if (!status_failed(&status)) status = command_write_compare(run->options, &compare);
  *exit_code = suspects_exit_code(&compare);
  compare_free(&compare);
  return status;
}
