/* Launches a cell on poisoned memory and compares its output with the oracle. */
#include "cli/measure/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/base/clock.h"
#include "cli/record/journal.h"
#include "kernels/bounds.h"
#include "kernels/pattern.h"

/* ---- outputs ------------------------------------------------------------------------------------------------- */

static bool compare_is_right(const struct compare_result *c, bool random) {
  /* A NaN norm must not pass: hence "not within" rather than "beyond". */
  return compare_is_within(c) && (!random || c->norm_ratio <= 1);
}

/* Is O right and LSE not? */
static bool is_lse_alone(const struct compare_result *c) {
  return c->lse.bad_rows > 0 && c->bad_count == 0 && c->bad_rows == 0;
}

static bool guard_is_right(const struct guard_result *g) {
  return g->redzone_bytes_changed == 0 && g->input_elements_changed == 0;
}

static double worst_ratio(const struct compare_result *c) {
  return fmax(c->lse.max_bound_ratio, fmax(c->max_bound_ratio, c->max_row_ratio));
}

/* Takes up one comparison: the first that is wrong stays, else the worst of the random launches, and of the hard ones
 * the worst ratio. */
static void note_compare(struct check_record *out, const struct compare_result *compare, uint32_t launch) {
  const bool first = !out->done, right = compare_is_right(compare, launch == 0);
  if (launch > 0) out->hard_ratio = fmax(out->hard_ratio, worst_ratio(compare));
  if (!first && !out->right) return;
  if (first || !right || (launch == 0 && worst_ratio(compare) > worst_ratio(&out->compare))) {
    out->compare = *compare;
    out->launch = launch;
  }
  out->right = right;
}

static void note_guard(struct check_record *out, const struct guard_result *guard) {
  const bool right = guard_is_right(guard);
  if (!out->done || (guard_is_right(&out->guard) && !right)) out->guard = *guard;
  out->right = out->right && right;
}

/* Checks one launch on the inputs as they are. */
static struct status check_launch(struct bench *bench, uint32_t launch, struct check_record *out) {
  struct compare_result compare;
  struct guard_result guard;
  const struct tolerance tolerance = bench_tolerance(bench);
  TRY(bench_poison(bench));
  TRY(bench_launch(bench));
  TRY(bench_compare(bench, &tolerance, &compare));
  TRY(bench_guard(bench, &guard));
  note_compare(out, &compare, launch);
  note_guard(out, &guard);
  out->tolerance = tolerance;
  ++out->launches;
  return status_ok();
}

struct status check_output(struct bench *bench, struct check_record *out) {
  const bool first = !out->done;
  const double start_s = clock_now_s();
  if (isnan(out->seconds)) out->seconds = 0;
  TRY(bench_fill(bench, 0));
  TRY(check_launch(bench, 0, out));
  out->after_timing = !first;
  out->done = out->known = true;
  out->seconds += clock_now_s() - start_s;
  return status_ok();
}

struct status check_hard(struct bench *bench, const struct attn_problem *shape, struct check_record *out) {
  const double start_s = clock_now_s();
  struct oracle_result oracle;
  for (uint32_t launch = 1; launch < pattern_launches(shape) && out->right; ++launch) {
    TRY(bench_fill(bench, launch));
    TRY(bench_reference(bench, &oracle));
    TRY(check_launch(bench, launch, out));
  }
  TRY(bench_fill(bench, 0));
  out->seconds += clock_now_s() - start_s;
  return status_ok();
}

/* A sample shows its last launch alone, so that each is one more chance. */
static void note_witness(struct check_record *out, const struct witness_result *witness) {
  const double missed = 1 - fmax(out->race_found_ratio, 0),
               found = checked_race_found(witness->samples, witness->rows_ratio);
  out->timed_samples += witness->samples;
  out->timed_wrong += witness->wrong;
  out->right = out->right && witness->wrong == 0;
  if (witness->samples == 0) return;
  out->timed_rows_ratio =
      out->timed_rows_ratio > 0 ? fmin(out->timed_rows_ratio, witness->rows_ratio) : witness->rows_ratio;
  out->race_found_ratio = 1 - missed * (1 - found);
}

struct status check_timed(struct bench *bench, bool whole, struct check_record *out) {
  const double start_s = clock_now_s();
  const struct tolerance tolerance = bench_tolerance(bench);
  struct witness_result witness;
  struct compare_result compare;
  TRY(bench_witness(bench, &witness));
  if (whole) TRY(bench_compare(bench, &tolerance, &compare));
  out->after_timing = true;
  if (whole) note_compare(out, &compare, 0);
  note_witness(out, &witness);
  out->seconds += clock_now_s() - start_s;
  return status_ok();
}

/* ---- what is wrong ------------------------------------------------------------------------------------------- */

/* " (on inputs of kind "edge64")", " (in a check after timing)" or nothing. */
static void explain_when(const struct check_record *check, const struct attn_problem *s, uint64_t row, char *out,
                         size_t size) {
  static const char *const kinds[] = {
#define KIND_NAME(name) #name,
      PATTERN_KIND_MAP(KIND_NAME)
#undef KIND_NAME
  };
  const struct pattern pattern = {.problem = *s, .launch = check->launch};
  out[0] = '\0';
  if (check->launch > 0) {
    snprintf(out, size, " (on inputs of kind \"%s\")", kinds[pattern_kind_of(&pattern, row)]);
  } else if (check->after_timing) {
    snprintf(out, size, " (in a check after timing)");
  }
}

/* The same of LSE alone: O is right. */
static void explain_lse(const struct check_record *check, const struct attn_problem *s, char *out, size_t size) {
  const struct lse_result *lse = &check->compare.lse;
  const uint64_t row = lse->first_bad;
  const struct attn_place place = attn_place_of(s, ATTN_ROWS_QUERIES, row);
  char when[80];
  explain_when(check, s, row, when, sizeof when);
  snprintf(out, size,
           "the log-sum-exp (LSE) of %" PRIu64 " of %" PRIu64
           " query rows differs from the fp64 oracle beyond its bound (%" PRIu64
           " NaN or infinite; largest error %.3g, %.3g times the bound); first at [b=%" PRIu32 ", h=%" PRIu32
           ", q=%" PRIu32 "]%s",
           lse->bad_rows, lse->rows, lse->not_finite, lse->max_abs_error, lse->max_bound_ratio, place.sequence.b,
           place.h, place.token, when);
}

static void explain_compare(const struct check_record *check, const struct attn_problem *s, char *out, size_t size) {
  const struct compare_result *c = &check->compare;
  char when[80], place[120];
  struct attn_tensor o;
  attn_tensor_of(s, ATTN_O, &o);
  const uint64_t d = c->first_bad % o.view.columns, row = c->first_bad / o.view.columns;
  const bool placed = c->first_bad != UINT64_MAX;
  explain_when(check, s, placed ? row : 0, when, sizeof when);
  const struct attn_place at = attn_place_of(s, ATTN_ROWS_QUERIES, placed ? row : 0);
  snprintf(place, sizeof place, "[b=%" PRIu32 ", h=%" PRIu32 ", q=%" PRIu32 ", d=%" PRIu64 "]", at.sequence.b, at.h,
           at.token, d);
  if (!placed) {
    snprintf(out, size, "the error norm is %.3g times its bound though no single row is beyond its own%s",
             c->norm_ratio, when);
  } else if (c->bad_count == 0) {
    snprintf(out, size,
             "in %" PRIu64 " of %" PRIu64
             " query rows the error norm is beyond its bound (worst %.3g times); first at %s%s",
             c->bad_rows, c->rows, c->max_row_ratio, place, when);
  } else {
    snprintf(out, size,
             "%" PRIu64 " of %" PRIu64 " elements differ from the fp64 oracle beyond tolerance (%" PRIu64
             " NaN, %" PRIu64 " Inf; largest error %.3g); first at %s%s",
             c->bad_count, c->elements, c->nan_count, c->inf_count, c->max_abs_error, place, when);
  }
}

void check_explain(const struct check_record *check, const struct attn_problem *shape, char out[RECORD_REASON_MAX]) {
  const struct guard_result *g = &check->guard;
  out[0] = '\0';
  if (!check->done || check->right) return;
  if (g->redzone_bytes_changed != 0) {
    snprintf(out, RECORD_REASON_MAX, "wrote %" PRIu64 " bytes outside its tensors (first beside %s)",
             g->redzone_bytes_changed, g->first != NULL ? g->first : "a tensor");
  } else if (g->input_elements_changed != 0) {
    snprintf(out, RECORD_REASON_MAX, "changed %" PRIu64 " elements of its inputs", g->input_elements_changed);
  } else if (check->timed_wrong != 0 && compare_is_right(&check->compare, check->launch == 0)) {
    snprintf(out, RECORD_REASON_MAX,
             "%" PRIu64 " of %" PRIu64
             " timed samples left an output that is stale or wrong, though launches outside of timing are right",
             check->timed_wrong, check->timed_samples);
  } else if (is_lse_alone(&check->compare)) {
    explain_lse(check, shape, out, RECORD_REASON_MAX);
  } else {
    explain_compare(check, shape, out, RECORD_REASON_MAX);
  }
}

/* ---- the status ------------------------------------------------------------------------------------------------ */

void check_settle(struct record *record, const struct device_info *device) {
  record->status = record->check.right ? CELL_ok : CELL_wrong;
  record->reason[0] = '\0';
  check_explain(&record->check, &record->attn_case.shape, record->reason);
  plausible_judge(record, device);
}
