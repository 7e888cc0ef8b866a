/* Holds a check against its own bounds, and against what a check of the shape looks at. */
#include "cli/record/record.h"

#include <math.h>
#include <string.h>

#include "kernels/bounds.h"
#include "kernels/pattern.h"

/* Ratios to a bound: NaN is not within it. */
static const char *outcome_problem(const struct check_record *check) {
  const struct compare_result *c = &check->compare;
  const struct rule rules[] = {
      {!check->done, "is ok but was never checked"},
      {!check->right, "is ok although its check says that it is wrong"},
      {c->bad_count > 0 || !(c->max_bound_ratio <= 1), "is ok with elements outside the tolerance"},
      {c->nan_count > 0 || c->inf_count > 0, "is ok with NaN or Inf in its output"},
      {c->lse.bad_rows > 0 || c->lse.max_bound_ratio > 1, "is ok with a log-sum-exp outside its bound"},
      {check->guard.redzone_bytes_changed > 0 || check->guard.input_elements_changed > 0,
       "is ok although it wrote where it must not"},
      {c->max_bound_ratio < 0 || c->rel_frobenius < 0 || c->max_abs_error < 0, "is ok with a negative error"},
      {c->max_abs_error == 0 && (c->rel_frobenius > 0 || c->max_bound_ratio > 0),
       "is ok without an error, beside a norm or a ratio of errors"},
      {c->max_bound_ratio == 0 && (c->max_abs_error > 0 || c->rel_frobenius > 0),
       "is ok with errors that are 0 times their bound"},
      {!check->known && !(c->rel_frobenius <= check->tolerance.frobenius), "is ok with a norm outside the tolerance"},
      {check->known && (c->bad_rows > 0 || !(c->max_row_ratio <= 1) || check->hard_ratio > 1),
       "is ok with rows outside the tolerance"},
      {check->known && !(c->norm_ratio <= 1), "is ok with a norm outside the tolerance"},
      {check->timed_wrong > 0, "is ok although timed samples left a wrong output"},
  };
  return RULE_FIRST_BROKEN(rules);
}

double checked_race_found(uint64_t samples, double rows_ratio) {
  return 1 - pow(1 - rows_ratio / CHECK_RACE_LAUNCHES, (double)samples);
}

/* The share of rows is the least of several looks, so that the probability is that share's or higher. Both keys are
 * absent in older files. */
static bool is_race_found(const struct check_record *check) {
  static const double rounding = 1e-9;
  const double least = checked_race_found(check->timed_samples, check->timed_rows_ratio),
               most = checked_race_found(check->timed_samples, 1);
  return check->race_found_ratio >= least - rounding && check->race_found_ratio <= most + rounding;
}

/* Tolerances of several versions lie within a factor of four. Those from before there was evidence had other
 * formulas, and were below 2^-7. */
static bool is_tolerance(const struct check_record *check, enum attn_dtype out_dtype) {
  const struct tolerance now = compare_tolerance(out_dtype), *said = &check->tolerance;
  const double relative = check->known ? 4 * now.relative : 0x1p-7,
               absolute = check->known ? 4 * now.absolute : 0x1p-7;
  const bool steps = isnan(said->step_keys) || said->step_keys == 0 || said->step_keys >= compare_step_keys(0);
  return said->relative >= 0 && said->relative <= relative && said->absolute >= 0 && said->absolute <= absolute &&
         said->frobenius >= 0 && said->frobenius <= 1 && steps;
}

/* The rows of the reference that the CPU's oracle must have computed. */
static uint64_t verified_rows(const struct oracle_result *oracle, uint64_t rows) {
  if (strcmp(oracle->name, "cpu_fp64") == 0 || rows < PATTERN_VERIFIED_ROWS) return rows;
  return PATTERN_VERIFIED_ROWS;
}

/* A script of another program may check less, with an oracle of its own. */
static bool is_own(const struct oracle_result *oracle) {
  return strcmp(oracle->name, "cpu_fp64") == 0 || strcmp(oracle->name, "gpu_fp64") == 0;
}

static const char *coverage_problem(const struct record *record, bool is_capture) {
  static const double verified_most =
      1e-8; /* the device's oracle agrees to 1e-11 of a row's norm, or there is no check */
  const struct attn_problem *shape = &record->attn_case.shape;
  const struct check_record *check = &record->check;
  const uint64_t rows = pattern_rows(shape);
  if (check->oracle.name == NULL) return "is ok without an oracle";
  const bool own = is_own(&check->oracle), timed = record_is_timed(record), full = own && check->known && !is_capture;
  uint64_t samples = 0;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode)
    if (record->time[mode].done)
      samples += mode == TIME_STEADY ? 1 : record->time[mode].us.n; /* a chain of samples is checked as one */
  const struct rule rules[] = {
      {check->compare.elements != rows * attn_columns(shape, ATTN_O),
       "is ok after a check of another number of elements than its output has"},
      {check->known && check->compare.rows != rows,
       "is ok after a check of another number of rows than its shape has"},
      {shape->lse && check->compare.lse.rows != rows, "is ok although its log-sum-exp was never compared"},
      {!is_tolerance(check, attn_out_dtype(shape)), "is ok by a tolerance that its dtype does not have"},
      {own && check->oracle.rows_verified < verified_rows(&check->oracle, rows),
       "is ok by a reference that was not verified"},
      {!(check->oracle.max_difference >= 0 && check->oracle.max_difference <= verified_most),
       "is ok by a reference that the CPU's oracle contradicts"},
      {check->known && check->launches == 0, "is ok after a check of no launches"},
      {full && check->launches < pattern_launches(shape) + timed,
       "is ok after a check of fewer launches than its shape asks for"},
      {full && isnan(check->hard_ratio), "is ok but was never launched on hard inputs"},
      {full && timed && check->timed_samples < samples, "is ok with samples whose output was not checked"},
      {check->timed_rows_ratio <= 0 || check->timed_rows_ratio > 1,
       "is ok with timed samples of which no row, or more than all, was compared"},
      {!isnan(check->timed_rows_ratio) && !is_race_found(check),
       "is ok with a probability of finding a race that is not that of its samples"},
      {isnan(check->timed_rows_ratio) && !isnan(check->race_found_ratio),
       "is ok with a probability of finding a race in no rows"},
      {timed && !check->after_timing, "is ok but was not checked again after timing"},
  };
  return RULE_FIRST_BROKEN(rules);
}

const char *checked_problem(const struct record *record, bool is_capture) {
  const char *problem = outcome_problem(&record->check);
  return problem != NULL ? problem : coverage_problem(record, is_capture);
}

bool checked_is_weaker(const struct check_record *check, const struct check_record *base) {
  if (strcmp(check->oracle.name, base->oracle.name) != 0 || (base->known && !check->known)) return true;
  return base->known && (check->tolerance.relative > base->tolerance.relative ||
                         check->tolerance.absolute > base->tolerance.absolute ||
                         check->tolerance.frobenius > base->tolerance.frobenius);
}
