/* A run's rounds against those of a saved report, as two samples. */
#include "cli/command/baseline.h"

#include "cli/command/gate_options.h"
#include "cli/command/outputs.h"
#include "cli/gate/suspects.h"

static struct status compare_again(const struct journal_data *base, const struct journal_data *again,
                                   struct compare *compare) {
  struct compare second;
  TRY(compare_build(base, again, &compare->settings, &second));
  compare_confirm(compare, &second);
  compare_free(&second);
  return status_ok();
}

static struct status confirm(struct run *run, const struct journal_data *base, const struct suspects *suspects,
                             struct compare *compare) {
  struct journal_data again;
  if (suspects->count == 0) return status_ok();
  TRY(run_take_again(run, suspects->only, suspects->count, &again));
  const struct status status = compare_again(base, &again, compare);
  journal_free(&again);
  return status;
}

static struct status judge(struct run *run, const struct journal_data *base, struct compare *compare) {
  struct suspects suspects;
  TRY(suspects_of(compare, &suspects));
  const struct status status = confirm(run, base, &suspects, compare);
  suspects_free(&suspects);
  TRY(status);
  return outputs_write_compare(run->options, compare);
}

struct status baseline_judge(struct run *run, const struct journal_data *base, const struct journal_data *now,
                             enum exit_code *exit_code) {
  struct compare_settings settings;
  struct compare compare;
  TRY(gate_options_settings(run->options, now, &settings));
  TRY(compare_build(base, now, &settings, &compare));
  const struct status status = judge(run, base, &compare);
  *exit_code = suspects_exit_code(&compare);
  compare_free(&compare);
  return status;
}
