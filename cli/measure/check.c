/* Launches a cell once on poisoned memory and compares its output with the oracle. */
#include "cli/measure/check.h"

#include <inttypes.h>
#include <stdio.h>

static const struct tolerance tolerances[ATTN_DTYPE_COUNT] = {
    [ATTN_F16] = {.relative = 0x1p-10, .absolute = 0x1p-20, .frobenius = 0x1p-10},
    [ATTN_BF16] = {.relative = 0x1p-7, .absolute = 0x1p-20, .frobenius = 0x1p-7},
    [ATTN_F32] = {.relative = 0x1p-14, .absolute = 0x1p-22, .frobenius = 0x1p-16},
};

struct tolerance check_tolerance(enum attn_dtype dtype) {
  return tolerances[dtype];
}

static bool compare_is_right(const struct compare_result *c, const struct tolerance *tolerance) {
  /* A NaN norm must not pass: hence "not within" rather than "beyond". */
  return c->bad_count == 0 && c->nan_count == 0 && c->inf_count == 0 && c->rel_frobenius <= tolerance->frobenius;
}

static bool guard_is_right(const struct guard_result *g) {
  return g->redzone_bytes_changed == 0 && g->input_elements_changed == 0;
}

struct status check_output(struct problem *problem, const struct attn_shape *shape, struct check_record *out) {
  struct compare_result compare;
  struct guard_result guard;
  const struct tolerance tolerance = check_tolerance(shape->dtype);
  struct status status = problem_poison(problem);
  if (!status_failed(&status)) status = problem_launch(problem);
  if (!status_failed(&status)) status = problem_compare(problem, &tolerance, &compare);
  if (!status_failed(&status)) status = problem_guard(problem, &guard);
  if (status_failed(&status)) return status;

  const bool compare_right = compare_is_right(&compare, &tolerance), guard_right = guard_is_right(&guard);
  const bool first = !out->done;
  if (first || !compare_right || (out->right && compare.max_bound_ratio > out->compare.max_bound_ratio)) {
    out->compare = compare;
  }
  if (first || !guard_right) out->guard = guard;
  out->right = (first || out->right) && compare_right && guard_right;
  out->tolerance = tolerance;
  out->after_timing = !first;
  out->done = true;
  return status_ok();
}

static void explain_compare(const struct check_record *check, const struct attn_shape *s, char *out, size_t size) {
  const struct compare_result *c = &check->compare;
  const char *when = check->after_timing ? " (in the check after timing)" : "";
  if (c->bad_count == 0) {
    snprintf(out, size, "error norm %.3g is above its bound %.3g though no single element is%s", c->rel_frobenius,
             check->tolerance.frobenius, when);
    return;
  }
  const uint64_t d = c->first_bad % s->D, row = c->first_bad / s->D;
  const uint64_t i = row % s->Sq, head = row / s->Sq;
  snprintf(out, size,
           "%" PRIu64 " of %" PRIu64 " elements differ from the fp64 oracle beyond tolerance (%" PRIu64
           " NaN, %" PRIu64 " Inf; largest error %.3g); first at [b=%" PRIu64 ", h=%" PRIu64 ", q=%" PRIu64
           ", d=%" PRIu64 "]%s",
           c->bad_count, c->elements, c->nan_count, c->inf_count, c->max_abs_error, head / s->Hq, head % s->Hq, i, d,
           when);
}

void check_explain(const struct check_record *check, const struct attn_shape *shape, char out[RECORD_REASON_MAX]) {
  const struct guard_result *g = &check->guard;
  out[0] = '\0';
  if (!check->done || check->right) return;
  if (g->redzone_bytes_changed != 0) {
    snprintf(out, RECORD_REASON_MAX, "wrote %" PRIu64 " bytes outside its tensors (first beside %s)",
             g->redzone_bytes_changed, g->first != NULL ? g->first : "a tensor");
  } else if (g->input_elements_changed != 0) {
    snprintf(out, RECORD_REASON_MAX, "changed %" PRIu64 " elements of its inputs Q, K, V", g->input_elements_changed);
  } else {
    explain_compare(check, shape, out, RECORD_REASON_MAX);
  }
}

void check_settle(struct record *record) {
  record->status = record->check.right ? CELL_ok : CELL_wrong;
  record->reason[0] = '\0';
  check_explain(&record->check, &record->attn_case.shape, record->reason);
}
