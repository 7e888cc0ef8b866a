/* describe: one variant, finding or verdict explained. */
#include <string.h>

#include "cli/analyse/finding.h"
#include "cli/base/json.h"
#include "cli/base/output.h"
#include "cli/base/text.h"
#include "cli/command/commands.h"
#include "cli/command/planned.h"
#include "cli/command/sweep_source.h"
#include "cli/measure/load.h"
#include "cli/record/plan.h"
#include "kernels/pick.h"

enum { NAMES_MAX = 192 };

static void put(FILE *out, const char *lead, const char *text) { text_wrap(out, lead, strlen(lead), text); }

/* ---- variants -------------------------------------------------------------------------------------------------- */

static void describe_tunables(FILE *out, const struct attn_variant *variant) {
  for (const struct attn_tunable *t = variant->tunables; t != NULL && t->name != NULL; ++t) {
    char text[256];
    snprintf(text, sizeof text, "%s:%s=%d..%d, default %d; %s", variant->name, t->name, t->min, t->max,
             t->default_value, t->help);
    put(out, "tunable  ", text);
  }
}

static void describe_passes(FILE *out, const struct record *record, const struct gpu_model *gpu) {
  for (uint32_t i = 0; i < record->plan.pass_count; ++i) {
    const struct attn_pass *pass = &record->pass[i].pass;
    char text[256];
    snprintf(text, sizeof text, "%s on %s: pass %s, grid %ux%ux%u, %u threads, %u bytes of dynamic shared memory",
             record->attn_case.key, gpu->info.name, pass->name, pass->grid[0], pass->grid[1], pass->grid[2],
             pass->block[0] * pass->block[1] * pass->block[2], pass->dynamic_smem_bytes);
    put(out, "plan     ", text);
  }
  if (record->status == CELL_skipped) {
    char text[CASE_KEY_MAX + RECORD_REASON_MAX + 16];
    snprintf(text, sizeof text, "%s: skipped, %s", record->attn_case.key, record->reason);
    put(out, "plan     ", text);
  }
}

/* What it launches for a case. A loaded variant's code does not run here. */
static void describe_plan(FILE *out, const struct attn_variant *variant, const struct attn_case *attn_case,
                          const struct gpu_model *gpu) {
  struct variant_spec spec = {.variant = variant, .tuning = variant_default_tuning(variant)};
  struct record record;
  snprintf(spec.text, sizeof spec.text, "%s", variant->name);
  plan_record(attn_case, &spec, &gpu->info, &record);
  describe_passes(out, &record, gpu);
}

/* For the shapes that were asked for, else for one that most variants take. */
static void describe_plans(FILE *out, const struct attn_variant *variant, const struct sweep *sweep,
                           const struct gpu_model *gpu) {
  struct attn_case usual = {.shape = {1, 8, 8, 512, 512, 64, ATTN_F16, false, false}};
  if (variant->runs_on != DEVICE_CUDA || variant_is_stand_in(variant)) return;
  case_key(&usual.shape, usual.key);
  if (sweep->case_count == 0) describe_plan(out, variant, &usual, gpu);
  for (size_t i = 0; i < sweep->case_count; ++i) describe_plan(out, variant, &sweep->cases[i], gpu);
}

/* The command that measures it, with what it was loaded from. */
static void describe_command(FILE *out, const struct attn_variant *variant, const struct options *options) {
  char text[1024] = "attnbench --shape B=1,H=8,S=512:4096:*2,D=64";
  for (size_t i = 0; i < options->load.count; ++i) {
    text_append(text, sizeof text, " --load ");
    text_append_word(text, sizeof text, options->load.item[i]);
  }
  text_append(text, sizeof text, " --variants %s", variant->name);
  put(out, "measure  ", text);
}

static const char *runs_on(const struct attn_variant *variant) {
  if (variant->picks != NULL) return "GPUs and the CPU";
  return variant->runs_on == DEVICE_CPU ? "the CPU" : "GPUs";
}

static void describe_picks(FILE *out, const struct pick_table *table) {
  for (size_t i = 0; table != NULL && i < table->count; ++i) {
    char spec[PICK_SPEC_MAX], text[256];
    pick_spec(&table->rules[i], spec);
    snprintf(text, sizeof text, "%s: %s", spec, table->rules[i].why);
    put(out, "picks    ", text);
  }
  if (table != NULL) put(out, "by       ", table->version);
}

static struct status describe_variant(FILE *out, const struct attn_variant *variant, const struct options *options) {
  const struct gpu_model *gpu;
  struct sweep sweep = {.case_count = 0};
  TRY(planned_gpu(options->gpu, &gpu));
  if (options->shape.count > 0) TRY(sweep_source_load(options, &sweep));
  fprintf(out, "%s, a variant for %s\n", variant->name, runs_on(variant));
  put(out, "idea     ", variant->summary);
  put(out, "limits   ", variant->limits);
  if (variant->writes_lse)
    put(out, "writes   ", "O, and the log-sum-exp of its rows where a shape asks for it (lse)");
  describe_tunables(out, variant);
  describe_picks(out, variant->picks);
  describe_plans(out, variant, &sweep, gpu);
  describe_command(out, variant, options);
  sweep_free(&sweep);
  return status_ok();
}

/* ---- findings and verdicts ---------------------------------------------------------------------------------------
 */

static struct status describe_finding(FILE *out, enum finding_id id) {
  fprintf(out, "%s, a finding (%s)\n", finding_name(id), finding_severity_name(finding_severity(id)));
  put(out, "means    ", finding_help(id));
  put(out, "said     ", finding_rule(id));
  put(out, "remedy   ", finding_remedy(id));
  for (size_t i = 0; i < finding_threshold_count(); ++i) {
    const struct finding_threshold *threshold = finding_threshold_at(i);
    char text[256];
    if (threshold->id != id) continue;
    snprintf(text, sizeof text, "%s = %g: %s", threshold->name, threshold->value, threshold->what);
    put(out, "limit    ", text);
  }
  return status_ok();
}

static struct status describe_verdict(FILE *out, enum compare_verdict verdict) {
  fprintf(out, "%s, a verdict of a comparison (exit code %d)\n", verdict_name(verdict),
          (int)verdict_exit_code(verdict));
  put(out, "means    ", verdict_help(verdict));
  return status_ok();
}

/* ---- by name ------------------------------------------------------------------------------------------------------
 */

static struct status unknown(const char *name) {
  const char *names[NAMES_MAX + 1] = {NULL};
  size_t count = 0;
  for (size_t i = 0; i < variant_count() && count < NAMES_MAX; ++i) names[count++] = variant_at(i)->name;
  for (enum finding_id id = 0; id < FINDING_ID_COUNT && count < NAMES_MAX; ++id) names[count++] = finding_name(id);
  for (uint32_t i = 0; verdict_at(i) != NULL && count < NAMES_MAX; ++i) names[count++] = verdict_at(i);
  const char *nearest = json_nearest(name, names);
  return status_make(STATUS_USAGE,
                     "\"%s\" is no variant, finding or verdict%s%s%s `attnbench list` has the variants, "
                     "results/findings.md the findings",
                     name, nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "?" : ";");
}

static struct status describe(FILE *out, const struct options *options) {
  const char *name = options->reports.item[0];
  const struct attn_variant *variant = variant_find(name);
  if (variant != NULL) return describe_variant(out, variant, options);
  for (enum finding_id id = 0; id < FINDING_ID_COUNT; ++id) {
    if (strcmp(finding_name(id), name) == 0) return describe_finding(out, id);
  }
  for (uint32_t i = 0; verdict_at(i) != NULL; ++i) {
    if (strcmp(verdict_at(i), name) == 0) return describe_verdict(out, (enum compare_verdict)i);
  }
  return unknown(name);
}

struct status verb_describe(const struct options *options) {
  struct output output;
  TRY(load_stand_ins(options->load.item, options->load.count));
  TRY(output_open("-", &output));
  return output_end(&output, describe(output.stream, options));
}
