/* attnbench gate --selftest: what the gate is worth with the noise that a machine was seen to have. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/output.h"
#include "cli/command/pairs.h"
#include "cli/command/run.h"
#include "cli/rates/power.h"
#include "cli/report/measured.h"

enum { SUITES = 4000, TRIALS = 1000, KINDS = 2 };

/* Of the threshold. A slowdown of the threshold itself is missed now and then; one of this size should not be. */
static const double control_size = 1.5;

struct selftest {
  const struct options *options;
  const struct journal_data *evidence;
  struct compare_power power[KINDS]; /* as pairs, which `ab` measures; as two samples, which --baseline compares */
  struct compare_power_control *control;
  size_t control_count;
};

/* ---- drawn rates --------------------------------------------------------------------------------------------- */

static struct status draw_rates(struct selftest *test) {
  const struct options *o = test->options;
  struct compare_power_settings settings = {
      .rounds = (uint32_t)o->rounds.value, .suites = SUITES, .seed = o->seed.value};
  TRY(gate_options_settings(o, test->evidence, test->evidence, &settings.compare));
  for (size_t i = 0; i < KINDS; ++i) {
    settings.compare.paired = i == 0;
    settings.compare.pairs_planned = i == 0 && o->rounds_in_steps ? settings.rounds : 0;
    settings.trials = i == 0 ? TRIALS : 0;
    TRY(power_measure(o->from != NULL    ? o->from
                      : o->sweep != NULL ? o->sweep
                                         : o->shape.item[0],
                      test->evidence, &settings, &test->power[i]));
  }
  return status_ok();
}

/* ---- controls ------------------------------------------------------------------------------------------------ */

static struct status judge_control(const struct pairs *pairs, struct compare_power_control *out) {
  OWNED(compare_free) struct compare compare = {.rows = NULL};
  TRY(pairs_judge(pairs, &compare));
  const struct record *now = &pairs->data[PAIRS_CANDIDATE].records[0];
  snprintf(out->reason, sizeof out->reason, "%s", now->reason);
  if (compare.row_count == 0) return status_ok();
  const struct compare_row *row = &compare.rows[0];
  out->verdict = row->verdict;
  out->time_ratio = row->ratio;
  if (row->reason[0] != '\0') snprintf(out->reason, sizeof out->reason, "%s", row->reason);
  if (now->injected.done && now->status == CELL_ok) out->injected_ratio = now->injected.ratio[out->mode];
  return status_ok();
}

/* One real gate run of this program against itself, over one cell in one mode, the candidate's slower by `percent`.
 */
static struct status run_control(const struct options *options, struct compare_power_control *out) {
  char cell[CELL_NAME_MAX], rule[sizeof cell + 32];
  struct options own = *options;
  OWNED(pairs_close) struct pairs pairs = {.options = &own};
  cell_name(out->key, out->variant, cell);
  snprintf(rule, sizeof rule, "%s:%g", cell, out->percent);
  own.base = own.candidate = own.keep = NULL;
  own.modes = time_mode_name(out->mode);
  own.only = (struct options_list){.count = 1, .item = {cell}};
  own.inject = rule;
  TRY(pairs_open(&own, &pairs));
  TRY(pairs_measure(&pairs));
  return judge_control(&pairs, out);
}

static bool is_tried(const struct selftest *test, const struct compare_power_row *row) {
  for (size_t i = 0; i < test->control_count; ++i) {
    if (test->control[i].key == row->key && test->control[i].variant == row->variant) return true;
  }
  return false;
}

/* The longest cell that was not tried yet, hot where that is judged: the delay is a launch of its own, which cannot
 * be short enough for a small slowdown of a short cell. NULL: none is left. */
static const struct compare_power_row *next_cell(const struct selftest *test) {
  const struct compare_power *power = &test->power[0];
  const enum time_mode mode = power->settings.compare.modes[TIME_HOT]      ? TIME_HOT
                              : power->settings.compare.modes[TIME_STEADY] ? TIME_STEADY
                                                                           : TIME_COLD;
  const struct compare_power_row *longest = NULL;
  for (size_t i = 0; i < power->row_count; ++i) {
    const struct compare_power_row *row = &power->rows[i];
    if (row->mode != mode || is_tried(test, row)) continue;
    if (longest == NULL || row->median_us > longest->median_us) longest = row;
  }
  return longest;
}

static size_t count_controls(const struct selftest *test, bool (*is)(const struct compare_power_control *)) {
  size_t count = 0;
  for (size_t i = 0; i < test->control_count; ++i) count += is(&test->control[i]);
  return count;
}

/* Another cell takes the place of one that could not be slowed down, as long as there are others. */
static struct status run_controls(struct selftest *test) {
  const uint32_t wanted = (uint32_t)test->options->controls.value;
  TRY(owned_array(&test->control, 2 * (size_t)wanted, sizeof *test->control, "controls"));
  while (test->control_count < 2 * (size_t)wanted && count_controls(test, power_is_control) < wanted) {
    const struct compare_power_row *row = next_cell(test);
    if (row == NULL) break;
    struct compare_power_control *control = &test->control[test->control_count];
    *control = (struct compare_power_control){.key = row->key,
                                              .variant = row->variant,
                                              .mode = row->mode,
                                              .percent = 100 * control_size * row->threshold,
                                              .injected_ratio = NAN,
                                              .time_ratio = NAN,
                                              .verdict = COMPARE_missing};
    TRY(run_control(test->options, control));
    ++test->control_count;
  }
  return status_ok();
}

/* ---- outputs ------------------------------------------------------------------------------------------------- */

static struct status save_all(const struct selftest *test) {
  const char *json = test->options->json;
  const struct compare_power_report report = {.evidence = test->evidence,
                                              .power = test->power,
                                              .power_count = KINDS,
                                              .control = test->control,
                                              .control_count = test->control_count};
  if (json != NULL) OUTPUT_TRY(json, out, power_json_write(&report, out));
  if (outputs_is_text_wanted(test->options)) OUTPUT_TRY("-", out, power_text_write(&report, out));
  return status_ok();
}

/* ---- from evidence to exit code ------------------------------------------------------------------------------ */

/* Rates over cells that went wrong or missing would be rates of something else. */
static struct status check_cells(const struct journal_data *evidence, struct outcome *outcome) {
  OWNED(report_free) struct report report = {.rows = NULL};
  TRY(report_build(evidence, &report));
  outcome_of_report(&report, outcome);
  return status_ok();
}

/* The rates are written even when a signal or a failure ends the controls. */
static struct status measure_rates(struct selftest *test) {
  TRY(draw_rates(test));
  const struct status controls = run_controls(test), saved = save_all(test);
  return status_failed(&controls) ? controls : saved;
}

static void set_missed(const struct selftest *test, struct outcome *out) {
  const struct compare_power_control *first = test->control;
  while (!power_is_control(first) || power_is_found(first)) ++first;
  const size_t tried = count_controls(test, power_is_control), found = count_controls(test, power_is_found);
  out->code = EXIT_CODE_INCONCLUSIVE;
  snprintf(out->why, sizeof out->why,
           "the gate missed %zu of %zu real slowdowns, first: %s %s %s, slower by %g %%: its verdict was %s",
           tried - found, tried, first->key, first->variant, time_mode_name(first->mode), first->percent,
           verdict_name(first->verdict));
}

static struct status selftest(const struct options *options, const struct journal_data *evidence,
                              struct outcome *outcome) {
  struct selftest test = {.options = options, .evidence = evidence};
  const struct status status = measure_rates(&test);
  const bool is_any_missed = count_controls(&test, power_is_found) < count_controls(&test, power_is_control);
  if (is_any_missed) set_missed(&test, outcome);
  for (size_t i = 0; i < KINDS; ++i) power_free(&test.power[i]);
  free(test.control);
  return status;
}

struct status verb_gate(const struct options *options, const struct invocation *invocation, struct outcome *outcome) {
  OWNED(journal_free) struct journal_data evidence = {.records = NULL};
  /* Rates of processes that differ in more than chance would be rates of something else. */
  if (options->resume != NULL && strcmp(options->resume, "anyway") == 0)
    return status_make(STATUS_USAGE,
                       "--resume=anyway: the rates of a gate need processes of one run; give --resume, or "
                       "begin another journal");
  TRY(outputs_probe(options));
  TRY(options->from != NULL ? measured_load_evidence(options->from, options->allow_edited, &evidence)
                            : take_processes(options, invocation, &evidence));
  TRY(check_cells(&evidence, outcome));
  return outcome->code == EXIT_CODE_OK ? selftest(options, &evidence, outcome) : status_ok();
}
