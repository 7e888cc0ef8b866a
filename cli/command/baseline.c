/* A run's rounds against those of a saved report, as two samples. */
#include "cli/command/baseline.h"

#include "cli/command/gate_options.h"
#include "cli/command/outputs.h"
#include "cli/gate/confirm.h"
#include "cli/gate/suspects.h"

static struct status compare_again(const struct journal_data *base, const struct journal_data *again,
                                   struct compare *compare) {
  struct compare fresh;
  TRY(compare_build(base, again, &compare->settings, &fresh));
  const struct status status = confirm_add(compare, &fresh);
  compare_free(&fresh);
  return status;
}

static struct status look_again(struct run *run, const struct journal_data *base, uint32_t number,
                                const struct suspects *suspects, struct compare *compare) {
  struct journal_data again;
  TRY(run_take_again(run, number, suspects->only, suspects->count, &again));
  const struct status status = compare_again(base, &again, compare);
  journal_free(&again);
  return status;
}

/* What failed or did not decide is measured again, a few times at most. */
static struct status judge(struct run *run, const struct journal_data *base, struct compare *compare) {
  for (uint32_t look = 1; look <= COMPARE_LOOKS_MAX && confirm_wants_any(compare); ++look) {
    struct suspects suspects;
    TRY(suspects_of(compare, &suspects));
    const struct status status = look_again(run, base, look, &suspects, compare);
    suspects_free(&suspects);
    TRY(status);
  }
  return outputs_write_compare(run->options, compare);
}

struct status baseline_judge(struct run *run, const struct journal_data *base, const struct journal_data *now,
                             struct outcome *outcome) {
  struct compare_settings settings;
  struct compare compare;
  TRY(gate_options_settings(run->options, base, now, &settings));
  TRY(compare_build(base, now, &settings, &compare));
  const struct status status = judge(run, base, &compare);
  outcome_of_compare(&compare, suspects_exit_code(&compare), outcome);
  compare_free(&compare);
  return status;
}
