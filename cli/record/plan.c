/* Plans one cell without a GPU and starts its record. */
#include "cli/record/record.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "kernels/pick.h"
#include "kernels/plugin_load.h"

static void plan_pass(const struct attn_pass *pass, const struct device_info *device, struct pass_record *out) {
  out->pass = *pass;
  out->pass.name = NULL;
  out->pass.kernel = NULL;
  snprintf(out->name, sizeof out->name, "%s", pass->name);
  for (char *c = out->name; *c != '\0'; ++c) {
    if (!isalnum((unsigned char)*c) && *c != '.' && *c != ' ') *c = '_'; /* a library calls itself what it likes */
  }
  if (!device_static_facts(pass, device, &out->facts)) out->facts = (struct pass_facts){.registers = 0};
  out->cold_us = NAN;
}

static const char *refusal(const struct attn_case *attn_case, const struct variant_spec *spec,
                           const struct device_info *device) {
  const struct attn_variant *variant = spec->variant;
  if (!variant_runs_on(variant, device->kind))
    return variant->runs_on == DEVICE_CPU ? "runs on the CPU only; use --device cpu" : "needs a CUDA device";
  return variant_supports(variant, &attn_case->shape, &spec->tuning, device);
}

void plan_outcome(struct record *record, enum cell_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(record->reason, sizeof record->reason, format, arguments);
  va_end(arguments);
  if (record->reason[0] == '\0') snprintf(record->reason, sizeof record->reason, "gives no reason");
  record->status = status;
  for (char *c = record->reason; *c != '\0'; ++c) {
    if (*c < ' ' || *c > '~') *c = '?';
  }
}

void plan_passes(const struct device_info *device, struct record *record) {
  for (uint32_t i = 0; i < record->plan.pass_count; ++i) plan_pass(&record->plan.pass[i], device, &record->pass[i]);
}

/* The tunables that the sweep has for this case and the variant that was picked, where it takes them. */
static bool take_tuned(const struct attn_case *attn_case, const struct device_info *device, struct record *record) {
  const struct attn_plan picked = record->plan;
  struct variant_spec spec;
  char problem[VARIANT_SPEC_PROBLEM_MAX];
  if (attn_case->tuned[0] == '\0' || !variant_spec_read(attn_case->tuned, &spec, problem)) return false;
  if (spec.variant != picked.picked ||
      variant_supports(spec.variant, &attn_case->shape, &spec.tuning, device) != NULL)
    return false;
  variant_plan(spec.variant, &attn_case->shape, &spec.tuning, device, &record->plan);
  record->plan.picked = picked.picked;
  record->plan.picked_by = picked.picked_by;
  snprintf(record->picked, sizeof record->picked, "%s", spec.text);
  return true;
}

static void finish_pick(const struct attn_variant *variant, const struct attn_case *attn_case,
                        const struct device_info *device, struct record *record) {
  const struct pick_rule *rule = record->plan.picked_by;
  char spec[PICK_SPEC_MAX];
  if (rule == NULL) return;
  pick_spec(rule, spec);
  snprintf(record->picked, sizeof record->picked, "%s", spec);
  const bool is_tuned = take_tuned(attn_case, device, record);
  snprintf(record->picked_why, sizeof record->picked_why, "%s (%s%s)", rule->why, variant->picks->version,
           is_tuned ? "; its tunables are the sweep's" : "");
  record->math = variant_math(record->plan.picked, attn_case->shape.dtype);
}

void plan_record(const struct attn_case *attn_case, const struct variant_spec *spec, const struct device_info *device,
                 struct record *out) {
  record_start(out);
  out->attn_case = *attn_case;
  out->math = variant_math(spec->variant, attn_case->shape.dtype);
  snprintf(out->variant, sizeof out->variant, "%s", spec->text);
  snprintf(out->variant_name, sizeof out->variant_name, "%s", spec->variant->name);
  if (variant_is_stand_in(spec->variant)) {
    plan_outcome(out, CELL_error, "was not planned: its code runs in worker processes only");
    return;
  }
  const char *why_not = refusal(attn_case, spec, device);
  if (why_not != NULL) {
    plan_outcome(out, CELL_skipped, "%s", why_not);
    return;
  }
  variant_plan(spec->variant, &attn_case->shape, &spec->tuning, device, &out->plan);
  const char *problem =
      variant_is_added(spec->variant) ? plugin_plan_problem(spec->variant, &out->plan, device) : NULL;
  if (problem != NULL) {
    out->plan = (struct attn_plan){0};
    plan_outcome(out, CELL_error, "%s", problem);
    return;
  }
  finish_pick(spec->variant, attn_case, device, out);
  plan_passes(device, out);
  plan_outcome(out, CELL_planned,
               spec->variant->vendor != NULL ? "its library chooses a kernel when it runs; not measured on %s"
                                             : "geometry for %s; not measured",
               device->name);
}
