/* describe: one word explained: a variant, a word of reports and comparisons, an exit code, a key of the problem or a
 * value of one. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/base/output.h"
#include "cli/command/run.h"
#include "cli/record/field_tables.h"
#include "cli/report/columns.h"
#include "kernels/pick.h"

enum { NAMES_MAX = 192 };

/* ---- variants -------------------------------------------------------------------------------------------------- */

static void describe_tunables(FILE *out, const struct attn_variant *variant) {
  for (const struct attn_tunable *t = variant->tunables; t != NULL && t->name != NULL; ++t)
    text_paragraph(out, "tunable  ", "%s:%s=%d..%d, default %d; %s", variant->name, t->name, t->min, t->max,
                   t->default_value, t->help);
}

static void describe_passes(FILE *out, const struct record *record, const struct gpu_model *gpu) {
  for (uint32_t i = 0; i < record->plan.pass_count; ++i) {
    const struct attn_pass *pass = &record->pass[i].pass;
    text_paragraph(out, "plan     ",
                   "%s on %s: pass %s, grid %ux%ux%u, %u threads, %u bytes of dynamic shared memory",
                   record->attn_case.key, gpu->info.name, record->pass[i].name, pass->grid[0], pass->grid[1],
                   pass->grid[2], pass->block[0] * pass->block[1] * pass->block[2], pass->dynamic_smem_bytes);
  }
  if (record->status == CELL_skipped)
    text_paragraph(out, "plan     ", "%s: skipped, %s", record->attn_case.key, record->reason);
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
  struct attn_case usual = {.shape = ATTN_DENSE(1, 8, 8, 512, 512, 64, ATTN_F16, false)};
  if (variant->runs_on != DEVICE_CUDA || variant_is_stand_in(variant)) return;
  axes_key(&usual.shape, usual.key);
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
  text_paragraph(out, "measure  ", "%s", text);
}

static const char *runs_on(const struct attn_variant *variant) {
  if (variant->picks != NULL || variant->runs_anywhere) return "GPUs and the CPU";
  return variant->runs_on == DEVICE_CPU ? "the CPU" : "GPUs";
}

static void describe_picks(FILE *out, const struct pick_table *table) {
  for (size_t i = 0; table != NULL && i < table->count; ++i) {
    char spec[PICK_SPEC_MAX];
    pick_spec(&table->rules[i], spec);
    text_paragraph(out, "picks    ", "%s: %s", spec, table->rules[i].why);
  }
  if (table != NULL) text_paragraph(out, "by       ", "%s", table->version);
}

static struct status describe_variant(FILE *out, const struct attn_variant *variant, const struct options *options) {
  const struct gpu_model *gpu;
  OWNED(sweep_free) struct sweep sweep = {.case_count = 0};
  char limits[ATTN_LIMITS_MAX], takes[AXIS_TAKES_MAX];
  TRY(planned_gpu(options->gpu, &gpu));
  if (options->shape.count > 0) TRY(sweep_source_load(options, &sweep));
  fprintf(out, "%s, a variant for %s\n", variant->name, runs_on(variant));
  text_paragraph(out, "idea     ", "%s", variant->summary);
  variant_limits(variant, limits);
  axes_takes_names(variant->takes, takes);
  text_paragraph(out, "limits   ", "%s", limits);
  if (takes[0] != '\0') text_paragraph(out, "takes    ", "%s", takes);
  describe_tunables(out, variant);
  describe_picks(out, variant->picks);
  describe_plans(out, variant, &sweep, gpu);
  describe_command(out, variant, options);
  return status_ok();
}

/* ---- the problem ----------------------------------------------------------------------------------------------- */

/* "; default f16"; nothing where there is none. */
static const char *default_of(const struct attn_axis *axis, char out[AXIS_VALUE_TEXT_MAX + 16]) {
  char usual[AXIS_VALUE_TEXT_MAX];
  axes_default_text(axis, usual);
  out[0] = '\0';
  if (usual[0] != '\0') snprintf(out, AXIS_VALUE_TEXT_MAX + 16, "; default %s", usual);
  return out;
}

/* "a whole number from 1 to 65536", "f16, bf16 or f32; default f16". */
static void describe_values(FILE *out, const struct attn_axis *axis) {
  char usual[AXIS_VALUE_TEXT_MAX + 16], wanted[AXIS_WANTED_MAX];
  axes_value_wanted(axis, "", wanted);
  text_paragraph(out, "values   ", "%s%s%s%s", wanted, axis->example != NULL ? "; " : "",
                 axis->example != NULL ? axis->example : "", default_of(axis, usual));
}

/* The variants that compute a value other than the default. */
static void describe_takers(FILE *out, const struct attn_axis *axis) {
  char text[NAMES_MAX * 8] = "";
  for (size_t i = 0; i < variant_count() && axis->takes != 0; ++i) {
    const struct attn_variant *variant = variant_at(i);
    if ((variant->takes & axis->takes) != 0)
      text_append(text, sizeof text, "%s%s", text[0] != '\0' ? ", " : "", variant->name);
  }
  if (text[0] != '\0') text_paragraph(out, "taken by ", "%s", text);
}

static void describe_axis(FILE *out, const struct attn_axis *axis) {
  fprintf(out, "%s, a member of the problem\n", axis->name);
  text_paragraph(out, "is       ", "%s", axis->help);
  describe_values(out, axis);
  if (axis->convention != NULL) text_paragraph(out, "means    ", "%s", axis->convention);
  describe_takers(out, axis);
}

/* All of them, and where each is explained. */
static void describe_problem(FILE *out) {
  fputs("the problem, what is computed: keys of sweep files, --shape and --filter\n", out);
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    char lead[AXIS_VALUE_TEXT_MAX], usual[AXIS_VALUE_TEXT_MAX + 16];
    snprintf(lead, sizeof lead, "%-8s ", axes_at(id)->name);
    text_paragraph(out, lead, "%s%s", axes_at(id)->help, default_of(axes_at(id), usual));
  }
  text_paragraph(out, "more     ", "attnbench describe KEY explains one of them; shapes/README.md has all of it");
}

/* ---- words of reports and comparisons -------------------------------------------------------------------------- */

/* The words of one kind. */
struct kind {
  const char *(*at)(uint32_t index); /* NULL past the last; "power, energy" are two words of one meaning */
  const char *what;                  /* it is: "a mark of the table" */
  const char *(*help)(uint32_t index);
  enum exit_code (*code)(uint32_t index);      /* that it asks for; NULL: it asks for none */
  void (*describe)(FILE *out, uint32_t index); /* instead of all that */
};

static const char *finding_at(uint32_t i) { return i < FINDING_ID_COUNT ? finding_name((enum finding_id)i) : NULL; }
static void describe_finding(FILE *out, uint32_t index) {
  const enum finding_id id = (enum finding_id)index;
  fprintf(out, "%s, a finding (%s)\n", finding_name(id), finding_severity_name(finding_severity(id)));
  text_paragraph(out, "means    ", "%s", finding_help(id));
  text_paragraph(out, "rule     ", "%s", finding_rule(id));
  text_paragraph(out, "remedy   ", "%s", finding_remedy(id));
  for (size_t i = 0; i < finding_threshold_count(); ++i) {
    const struct finding_threshold *threshold = finding_threshold_at(i);
    if (threshold->id == id)
      text_paragraph(out, "limit    ", "%s = %g: %s", threshold->name, threshold->value, threshold->what);
  }
}

static const char *verdict_help_at(uint32_t i) { return verdict_help((enum compare_verdict)i); }
static enum exit_code verdict_code_at(uint32_t i) { return verdict_exit_code((enum compare_verdict)i); }

static const char *status_help_at(uint32_t i) { return cell_status_help((enum cell_status)i); }
static enum exit_code status_code_at(uint32_t i) { return cell_status_exit_code((enum cell_status)i); }

static const char *column_at(uint32_t i) { return columns_word(i) != NULL ? columns_word(i)->names : NULL; }
static const char *column_help_at(uint32_t i) { return columns_word(i)->help; }

static const char *mark_at(uint32_t i) { return columns_mark(i) != NULL ? columns_mark(i)->names : NULL; }
static const char *mark_help_at(uint32_t i) { return columns_mark(i)->help; }

static const char *scaling_at(uint32_t i) {
  return i < SCALING_VERDICT_COUNT ? scaling_verdict_name((enum scaling_verdict)i) : NULL;
}
static void describe_scaling(FILE *out, uint32_t index) {
  fprintf(out, "%s, a verdict of the table of scaling over B*H\n", scaling_at(index));
  text_paragraph(out, "means    ", "%s", scaling_verdict_help((enum scaling_verdict)index));
}

/* What bounds a row, and when it does. */
static void describe_bounds(FILE *out) {
  fputs("bound_by, what bounds the time of a row: a member of each result\n", out);
  for (uint32_t kind = 0; bound_by_name(kind) != NULL; ++kind) {
    char lead[32];
    snprintf(lead, sizeof lead, "%-14s ", bound_by_name(kind));
    text_paragraph(out, lead, "%s", bound_by_help(kind));
  }
  text_paragraph(
      out, "when           ",
      "DRAM, power, the other pipes, launch: the first in this order that reaches %.0f %% (power: 95 %%); else a "
      "chain, when no block waits for another one",
      100 * bound_by_share_min());
}

/* ---- by name --------------------------------------------------------------------------------------------------- */

static const char *key_at(uint32_t i) { return i < AXIS_COUNT ? axes_at(i)->name : NULL; }
static void describe_key(FILE *out, uint32_t index) { describe_axis(out, axes_at(index)); }

static const char *page_at(uint32_t i) {
  static const char *const pages[] = {"problem", "bound_by"};
  return i < sizeof pages / sizeof *pages ? pages[i] : NULL;
}
static void describe_page(FILE *out, uint32_t index) {
  static void (*const pages[])(FILE *) = {describe_problem, describe_bounds};
  pages[index](out);
}

static const struct kind kinds[] = {
    {finding_at, .describe = describe_finding},
    {verdict_at, "a verdict of a comparison", .help = verdict_help_at, .code = verdict_code_at},
    {cell_status_name, "the status of a row", .help = status_help_at, .code = status_code_at},
    {column_at, "a column of the table", .help = column_help_at},
    {mark_at, "a mark of the table", .help = mark_help_at},
    {scaling_at, .describe = describe_scaling},
    {key_at, .describe = describe_key},
    {bound_by_name, "what can bound the time of a row (attnbench describe bound_by)", .help = bound_by_help},
    {page_at, .describe = describe_page},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static void describe_word(FILE *out, const struct kind *kind, uint32_t index) {
  if (kind->describe != NULL) {
    kind->describe(out, index);
    return;
  }
  fprintf(out, "%s, %s", kind->at(index), kind->what);
  if (kind->code != NULL) fprintf(out, " (exit code %d)", (int)kind->code(index));
  fputc('\n', out);
  text_paragraph(out, "means    ", "%s", kind->help(index));
}

/* Is it one of "power, energy"? */
static bool is_listed(const char *names, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = names; length > 0 && (at = strstr(at, name)) != NULL; ++at) {
    if ((at == names || at[-1] == ' ') && (at[length] == '\0' || at[length] == ',')) return true;
  }
  return false;
}

static bool is_exit_code(FILE *out, const char *name) {
  const struct status_exit *exit;
  char *end;
  const long code = strtol(name, &end, 10);
  for (size_t i = 0; end != name && *end == '\0' && (exit = status_exit_at(i)) != NULL; ++i) {
    if (exit->code != code) continue;
    fprintf(out, "%ld, an exit code\n", code);
    text_paragraph(out, "means    ", "%s", exit->meaning);
    return true;
  }
  return false;
}

/* Of one axis: "bshd", "e4m3", "full", "ragged:7", "128:0.25", not a number. */
static bool is_value_of(const struct attn_axis *axis, const char *name) {
  struct axis_value value;
  const bool is_word = axis->no != NULL && strcmp(axis->no, name) == 0;
  if (axes_is_ordered(axis) || axis->kind == AXIS_FLAG || axis->kind == AXIS_CAUSAL || axis->kind == AXIS_BOUNDS)
    return is_word;
  const char *end = axes_value_read(axis, name, &value);
  return (end != NULL && *end == '\0') || (axis->kind == AXIS_BATCH && strcmp(name, "ragged") == 0);
}

static bool is_value(FILE *out, const char *name) {
  bool is_known = false;
  for (unsigned id = 0; id < AXIS_COUNT; ++id) {
    enum attn_dtype dtype;
    const bool is_type = axes_at(id)->kind == AXIS_DTYPE && attn_dtype_read(name, &dtype);
    if (!is_value_of(axes_at(id), name)) continue;
    fprintf(out, "%s, a value of %s\n", name, axes_at(id)->name);
    if (is_type)
      text_paragraph(out, "has      ", "%u bytes, unit roundoff %g", (unsigned)attn_dtype_bytes(dtype),
                     attn_dtype_facts(dtype)->roundoff);
    describe_axis(out, axes_at(id));
    is_known = true;
  }
  return is_known;
}

/* Names in use elsewhere, letter case free, and the word that attnbench has for them. */
static const struct {
  const char *name, *word;
} synonyms[] = {
    {"sliding window", "window"},
    {"sliding_window", "window"},
    {"window_size", "window"},
    {"swa", "window"},
    {"paged", "page"},
    {"paged kv", "page"},
    {"page_size", "page"},
    {"block_table", "page"},
    {"varlen", "batch"},
    {"gqa", "H"},
    {"mqa", "H"},
    {"logsumexp", "lse"},
    {"softmax_lse", "lse"},
    {"is_causal", "causal"},
    {"logit cap", "softcap"},
    {"block-sparse", "sparse"},
    {"latent attention", "v_in_k"},
    {"head_dim", "D"},
    {"tflop/s", "rate"},
    {"tflops", "rate"},
    {"speedup", "vs ref"},
    {"energy_pj_per_flop", "energy"},
};

/* NULL: attnbench has no other word for it. */
static const char *synonym_of(const char *name) {
  for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; ++i) {
    if (strcasecmp(synonyms[i].name, name) == 0) return synonyms[i].word;
  }
  return attn_dtype_called(name);
}

static struct status unknown(const char *name) {
  const char *names[NAMES_MAX + 1] = {NULL};
  size_t count = 0;
  for (size_t i = 0; i < variant_count() && count < NAMES_MAX; ++i) names[count++] = variant_at(i)->name;
  for (size_t k = 0; k < KIND_COUNT; ++k) {
    for (uint32_t i = 0; kinds[k].at(i) != NULL && count < NAMES_MAX; ++i) names[count++] = kinds[k].at(i);
  }
  const char *nearest = json_nearest(name, names);
  return status_make(
      STATUS_USAGE,
      "\"%s\" is no variant, finding, verdict, status, column, exit code, key of the problem or value of one%s%s%s "
      "`attnbench list` has the variants, results/findings.md the findings, `attnbench describe problem` the keys, "
      "README the other words",
      name, nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "", nearest != NULL ? "?" : ";");
}

/* Some words are of several kinds. *is_word says whether it is of one. */
static struct status describe_name(FILE *out, const char *name, const struct options *options, bool *is_word) {
  const struct attn_variant *variant = variant_find(name);
  bool is_known = variant != NULL;
  if (variant != NULL) TRY(describe_variant(out, variant, options));
  for (size_t k = 0; k < KIND_COUNT; ++k) {
    for (uint32_t i = 0; kinds[k].at(i) != NULL; ++i) {
      if (!is_listed(kinds[k].at(i), name)) continue;
      describe_word(out, &kinds[k], i);
      is_known = true;
    }
  }
  is_known = is_exit_code(out, name) || is_known;
  *is_word = is_value(out, name) || is_known;
  return status_ok();
}

/* As it is written, else in lower case, else by another name. */
static struct status describe(FILE *out, const struct options *options) {
  const char *name = options->reports.item[0], *synonym = synonym_of(name);
  char lower[64];
  size_t length = 0;
  bool is_known;
  TRY(describe_name(out, name, options, &is_known));
  for (; name[length] != '\0' && length < sizeof lower - 1; ++length)
    lower[length] = (char)tolower((unsigned char)name[length]);
  lower[length] = '\0';
  if (!is_known && strcmp(lower, name) != 0) TRY(describe_name(out, lower, options, &is_known));
  if (is_known) return status_ok();
  if (synonym == NULL) return unknown(name);
  fprintf(out, "%s: attnbench calls it %s\n", name, synonym);
  return describe_name(out, synonym, options, &is_known);
}

struct status verb_describe(const struct options *options) {
  TRY(load_stand_ins(options->load.item, options->load.count));
  OUTPUT_TRY("-", out, describe(out, options));
  return status_ok();
}
