/* describe: one word explained: a variant, a word of reports and comparisons, an exit code, a key of the problem or a
 * value of one. Without a word: all words by kind. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/base/output.h"
#include "cli/command/run.h"
#include "cli/options/table.h"
#include "cli/record/field_tables.h"
#include "cli/report/columns.h"
#include "kernels/pick.h"

enum { NAMES_MAX = 400, WORD_MAX = 64 };

/* ---- variants -------------------------------------------------------------------------------------------------- */

static void describe_tunables(FILE *out, const struct attn_variant *variant) {
  for (const struct attn_tunable *t = variant->tunables; t != NULL && t->name != NULL; ++t)
    text_paragraph(out, "tunable  ", "%s:%s=%d..%d, default %d; %s", variant->name, t->name, t->min, t->max,
                   t->default_value, t->help);
}

static void describe_passes(FILE *out, const struct record *record, const struct gpu_model *gpu) {
  for (uint32_t i = 0; i < record->plan.pass_count; ++i) {
    const struct attn_pass *pass = &record->pass[i].pass;
    char tile[64] = "";
    if (i == metrics_main_pass(record) && record->plan.tile_q > 0)
      snprintf(tile, sizeof tile, ", tiles of %u query rows and %u keys", record->plan.tile_q, record->plan.tile_kv);
    text_paragraph(out, "plan     ",
                   "%s on %s: pass %s, grid %ux%ux%u, %u threads, %u bytes of dynamic shared memory%s",
                   record->attn_case.key, gpu->info.name, record->pass[i].name, pass->grid[0], pass->grid[1],
                   pass->grid[2], pass->block[0] * pass->block[1] * pass->block[2], pass->dynamic_smem_bytes, tile);
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

/* The first of these shapes that the variant takes on this GPU; the first of all where it takes none, or where its
 * code, which does not run here, says what it takes. */
static struct status find_usual(const struct attn_variant *variant, const struct gpu_model *gpu, const char **out) {
  static const char *const specs[] = {"B=1,H=8,S=512:4096:*2,D=64", "B=1,H=32/8,S=1x4096,D=128",
                                      "B=1,H=16,S=4096,D=128,e4m3", "B=1,H=128/1,S=1x4096,D=576,Dv=512,v_in_k",
                                      "B=1,H=4,S=64,D=1024"};
  const struct attn_tuning tuning = variant_default_tuning(variant);
  *out = specs[0];
  for (size_t i = 0; i < sizeof specs / sizeof *specs && !variant_is_stand_in(variant); ++i) {
    OWNED(sweep_free) struct sweep sweep;
    TRY(shape_spec_sweep(&specs[i], 1, &sweep));
    if (variant_supports(variant, &sweep.cases[0].shape, &tuning, &gpu->info) != NULL) continue;
    *out = specs[i];
    break;
  }
  return status_ok();
}

/* For the shapes that were asked for, else for one that it takes. */
static struct status describe_plans(FILE *out, const struct attn_variant *variant, const struct options *options,
                                    const char *usual, const struct gpu_model *gpu) {
  OWNED(sweep_free) struct sweep sweep = {.case_count = 0};
  if (variant->runs_on != DEVICE_CUDA || variant_is_stand_in(variant)) return status_ok();
  if (options->shape.count > 0) {
    TRY(sweep_source_load(options, &sweep));
  } else {
    TRY(shape_spec_sweep(&usual, 1, &sweep));
  }
  for (size_t i = 0; i < (options->shape.count > 0 ? sweep.case_count : 1); ++i)
    describe_plan(out, variant, &sweep.cases[i], gpu);
  return status_ok();
}

/* The option for each item, " --shape B=1,S=512": as the shell reads it, however long it is. */
static struct status put_option(FILE *out, const char *option, const struct options_list *list) {
  for (size_t i = 0; i < list->count; ++i) {
    const size_t size = 4 * strlen(list->item[i]) + sizeof "''"; /* an apostrophe becomes four characters */
    OWNED_ARRAY(char, word, size, "characters");
    text_append_word(word, size, list->item[i]);
    fprintf(out, " %s %s", option, word);
  }
  return status_ok();
}

/* The command that measures it, for the shapes that were asked for, with what it was loaded from: one line, so that
 * it can be copied. */
static struct status describe_command(FILE *out, const struct attn_variant *variant, const struct options *options,
                                      const char *usual) {
  fprintf(out, "measure  attnbench");
  TRY(put_option(out, "--shape", &options->shape));
  if (options->shape.count == 0) fprintf(out, " --shape %s", usual);
  TRY(put_option(out, "--load", &options->load));
  fprintf(out, " --variants %s\n", variant->name);
  return status_ok();
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
  const char *usual;
  char limits[ATTN_LIMITS_MAX], takes[AXIS_TAKES_MAX];
  TRY(planned_gpu(options->gpu, &gpu));
  TRY(find_usual(variant, gpu, &usual));
  fprintf(out, "%s, a variant for %s\n", variant->name, runs_on(variant));
  text_paragraph(out, "idea     ", "%s", variant->summary);
  variant_limits(variant, limits);
  axes_takes_names(variant->takes, takes);
  text_paragraph(out, "limits   ", "%s", limits);
  if (takes[0] != '\0') text_paragraph(out, "takes    ", "%s", takes);
  describe_tunables(out, variant);
  describe_picks(out, variant->picks);
  TRY(describe_plans(out, variant, options, usual, gpu));
  return describe_command(out, variant, options, usual);
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

/* The variants that declare one of these types; those that declare none take every type but e4m3. */
static bool takes_dtype(const struct attn_variant *variant, unsigned dtypes) {
  const unsigned undeclared = variant->picks != NULL ? ATTN_DTYPES_ALL : ATTN_DTYPES_FLOAT;
  return ((variant->dtypes != 0 ? variant->dtypes : undeclared) & dtypes) != 0;
}

/* The variants that compute a value of the axis other than the default, or one of these element types. */
static void describe_takers(FILE *out, const char *lead, unsigned takes, unsigned dtypes) {
  char text[NAMES_MAX * 8] = "";
  for (size_t i = 0; i < variant_count(); ++i) {
    const struct attn_variant *variant = variant_at(i);
    if ((variant->takes & takes) != 0 || takes_dtype(variant, dtypes))
      text_append(text, sizeof text, "%s%s", text[0] != '\0' ? ", " : "", variant->name);
  }
  if (text[0] != '\0') text_paragraph(out, lead, "%s", text);
}

static void describe_dtypes(FILE *out) {
  for (unsigned dtype = 0; dtype < ATTN_DTYPE_COUNT; ++dtype) {
    char lead[32];
    snprintf(lead, sizeof lead, "%-4s is taken by ", attn_dtype_name((enum attn_dtype)dtype));
    describe_takers(out, lead, 0, ATTN_DTYPE_BIT(dtype));
  }
}

static void describe_axis(FILE *out, const struct attn_axis *axis) {
  fprintf(out, "%s, a member of the problem\n", axis->name);
  text_paragraph(out, "is       ", "%s", axis->help);
  describe_values(out, axis);
  if (axis->convention != NULL) text_paragraph(out, "means    ", "%s", axis->convention);
  if (axis->kind == AXIS_DTYPE) describe_dtypes(out);
  describe_takers(out, "taken by ", axis->takes, 0);
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
  const char *group;                 /* they are: "marks" */
  const char *what;                  /* it is: "a mark of the table" */
  const char *(*help)(uint32_t index);
  enum exit_code (*code)(uint32_t index);      /* that it asks for; NULL: it asks for none */
  void (*describe)(FILE *out, uint32_t index); /* instead of all that */
};

static const char *group_at(uint32_t i) { return variant_group_name(i); }
static const char *group_help_at(uint32_t i) {
  static const char *const help[] = {
#define GROUP_HELP(name, help) help,
      VARIANT_GROUP_MAP(GROUP_HELP)
#undef GROUP_HELP
  };
  return help[i];
}

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

/* Words and what they mean. Several words may have one meaning: "power, energy". */
struct word {
  const char *names, *help;
};

/* As README's glossary has them; then words of reports, histories and gates. */
static const struct word glossary[] = {
    {"case", "one shape with its dtype and mask, such as B1.H8.Hkv8.Sq512.Skv512.D64.f16.full"},
    {"variant", "one way to compute attention, with its tunables: split_kv:splits=4"},
    {"cell, row", "a case with a variant; its row in a report"},
    {"pass", "one kernel launch of a variant's plan"},
    {"oracle, check",
     "the fp64 result of a case; comparing an output with it. A row that fails is wrong and has no speed"},
    {"mode", "how a time is taken: hot, cold or steady"},
    {"reference", "the variant that every row is timed against in turns, by default cudnn"},
    {"round",
     "one fresh process that measures the cells once. Launches of one process share clocks and memory layout, "
     "so rounds are the evidence of a gate"},
    {"finding",
     "what the diagnosis says of a row: the measured fact, what it means, one change (results/findings.md has "
     "all)"},
    {"base, new", "the two sides of a comparison: what is compared with, and what is judged"},
    {"baseline", "a committed report that later ones are compared with"},
    {"verdict", "what a comparison says of a row: same, regressed, improved, inconclusive, ..."},
    {"burst",
     "launches for some milliseconds on a card that has just begun to work, as for a hot time. Long launches "
     "may already be limited by power in that time"},
    {"fastest",
     "the row of its case marked >. Of the rows beside the reference it has the highest ratio vs ref, or, if one "
     "of them has no ratio, the least hot time. The reference is marked where it is faster than that row. The line "
     "above the table counts the cases of each variant"},
    {"severe, warning, note", "how serious a finding is, the most serious first (results/findings.md)"},
    {"anchor",
     "an older revision, usually the last release, that a change is compared with beside its base, so that "
     "small slowdowns do not add up"},
    {"series", "of a history: the rows of one case, variant, mode, model of card and reference, from all runs"},
    {"change",
     "of a history: a run from which on the level of a series is another one; in the table of series, all changes of "
     "its time together. Of a comparison: how much longer the new time is"},
    {"what",
     "of a history: slower or faster, and whether the change was reverted (attnbench describe reverted); or drifts"},
    {"time",
     "of a history: the change of the time, compared with what the column against names. How times are taken: "
     "attnbench describe hot, cold, steady"},
    {"bounds",
     "of a history or a comparison: the 95 % bounds of the change. What bounds the time of a row: attnbench describe "
     "bound_by"},
    {"left",
     "of a history: the newest level of the series, compared with the one before the change. Changes that came later "
     "are in it"},
    {"commit, date", "of a history: the first commit that was measured with the change, and when its run started"},
    {"surely",
     "of a history: the range of commits that contains the change, computed for 95 %; in simulations at least 85 % "
     "of these ranges contain it"},
    {"runs", "of a history: how many runs have a time of the row. Of a comparison: processes of base + new"},
    {"first, now", "of a history: the time of the row in the oldest run, and in the newest, in microseconds"},
    {"card", "the model of the GPU or CPU that measured the row"},
    {"against",
     "of a history: what times are compared with, so that a slow card does not look like a slow kernel. It is the "
     "reference in turns, the vendor's rows of the same run (anchors), or nothing (raw time)"},
    {"stands, partly reverted, reverted",
     "how much of a change the newest level of its series still has. A change stands if more than half of "
     "it is left. It is partly reverted if at most half of it is left, but surely (95 %) more than 0.5 %. Else it is "
     "reverted"},
    {"drifts", "of a series in a history: a line fits it better than steps, so that no commit is to blame"},
    {"GB/s",
     "the bytes of all tensors, each counted once, over the time. Above the bandwidth of DRAM the tensors stay in "
     "L2"},
};

/* Tasks and other software by their names, as README's questions have them. */
static const struct task {
  const char *names, *answer, *command;
  const char *code; /* to write first; NULL: nothing */
} tasks[] = {
    {.names = "triton",
     .answer = "write a Python function that launches your kernel, and load it. Or compile the kernel once into a "
               "file: scripts/export_triton.py (kernels/example/README.md)",
     .command = "attnbench --shape B=1,H=16,S=4096,D=128,causal --load mine.py:attention",
     .code = "def attention(q, k, v, causal, scale): return my_triton(q, k, v)"},
    {.names = "flashattention, flash_attn, fa2, fa3",
     .answer =
         "results/h200/rivals.md has FlashAttention-3 and PyTorch's flash beside the kernels here. The command "
         "measures PyTorch's flash, which is FlashAttention-2. For FlashAttention-3, write such a function that "
         "calls flash_attn_interface.flash_attn_func, whose tensors are [B, S, H, D]",
     .command = "attnbench --sweep prefill --load kernels/example/callables.py:flash"},
    {.names = "cuda, cubin, ptx, shared object",
     .answer = "copy the example of that kind in kernels/example, and load what you build",
     .command = "attnbench --sweep v3 --load ./mine.so"},
    {.names = "pytorch, torch, flexattention, python",
     .answer = "write a Python function that returns the output, and load it (kernels/example/README.md)",
     .command = "attnbench --shape B=1,H=16,S=4096,D=128,causal --load mine.py:attention",
     .code = "def attention(q, k, v, causal, scale): return my_function(q, k, v)"},
    {.names = "pull request, ci, gate",
     .answer = "ab measures the program of the base and that of the branch in turns, and its exit code is the "
               "answer; scripts/gate_ci.sh does all of it in CI (results/gate.md)",
     .command = "attnbench ab --base ../base/attnbench --sweep gate"},
    {.names = "bisect, git bisect",
     .answer = "keep the report of each nightly run in a folder. history names the commits between which a kernel "
               "became slower, and git bisect narrows them down (results/history.md)",
     .command = "attnbench history runs/"},
    {.names = "pandas, polars",
     .answer = "--csv has one row for each time; from Python, attnbench.bench(...).frame() is a data frame "
               "(results/reading.md)",
     .command = "attnbench --sweep v3 --csv v3.csv"},
    {.names = "resume, interrupted, killed",
     .answer =
         "the same command with --journal FILE and --resume measures the rest. A run with --json out.json and "
         "without --journal keeps its journal as out.json.journal until the report is written. Resume such a run "
         "with --journal out.json.journal --resume",
     .command = "attnbench --sweep v3 --journal v3.journal --resume"},
    {.names = "ncu, nsys, profiler",
     .answer = "run attnbench inside the profiler with --profile and one row; scripts/profile_sweep.py puts the "
               "counters into the report (results/profiling.md)",
     .command = "ncu --nvtx --nvtx-include \"attnbench@profile/\" attnbench --sweep v3 --only KEY/VARIANT --profile"},
    {.names = "backward, dropout, bias, alibi, fp4",
     .answer = "not covered: attnbench measures forward attention. The command below lists what a case may have",
     .command = "attnbench describe problem"},
};

/* What else people call these words. */
static const struct {
  const char *name, *word;
} asked[] = {
    {"flashattention-3", "fa3"}, {"flashattention 3", "fa3"}, {"flash attention", "fa3"},
    {"flash-attention", "fa3"},  {"cute", "python"},          {"tilelang", "python"},
    {"notebook", "python"},      {"torch.compile", "python"}, {"cutlass", "cuda"},
    {"triton kernel", "triton"}, {"pull requests", "gate"},   {"pr", "gate"},
    {"into pandas", "pandas"},   {"dataframe", "pandas"},     {"duckdb", "pandas"},
    {"killed run", "killed"},    {"kill", "killed"},          {"go on", "resume"},
    {"regression", "regressed"}, {"profile", "ncu"},
};

static const char *asked_word(const char *name) {
  for (size_t i = 0; i < sizeof asked / sizeof *asked; ++i) {
    if (strcmp(asked[i].name, name) == 0) return asked[i].word;
  }
  return NULL;
}

/* Of an installation: where the pages are that the answer names, and the examples of the command. */
static void describe_place(FILE *out, const struct task *task) {
  char folder[PATH_MAX];
  const bool has_page = strstr(task->answer, ".md") != NULL, has_example = strstr(task->command, "kernels/") != NULL;
  if ((has_page || has_example) && shipped_pages(folder)) text_paragraph(out, "in       ", "%s", folder);
}

/* The paths of examples in it begin with the folder of the installation. */
static void describe_task_command(FILE *out, const char *command) {
  static const char example[] = " kernels/example/";
  char folder[PATH_MAX], word[PATH_MAX + 64] = "";
  const char *at = strstr(command, example);
  if (at == NULL || !shipped_pages(folder)) {
    text_paragraph(out, "command  ", "%s", command);
    return;
  }
  text_append(folder, sizeof folder, "/%s", at + 1);
  text_append_word(word, sizeof word, folder);
  fprintf(out, "command  %.*s %s\n", (int)(at - command), command, word);
}

static const char *task_at(uint32_t i) { return i < sizeof tasks / sizeof *tasks ? tasks[i].names : NULL; }
static void describe_task(FILE *out, uint32_t index) {
  const struct task *task = &tasks[index];
  fprintf(out, "%s: how to do it with attnbench\n", task->names);
  text_paragraph(out, "how      ", "%s", task->answer);
  describe_place(out, task);
  if (task->code != NULL) text_paragraph(out, "mine.py  ", "%s", task->code);
  describe_task_command(out, task->command);
}

static const char *verb_at(uint32_t i) { return i < VERB_WORKER ? options_table_verb((enum verb)i)->name : NULL; }
static void describe_verb(FILE *out, uint32_t index) {
  const struct verb_row *verb = options_table_verb((enum verb)index);
  fprintf(out, "%s, a verb of the command line\n", verb->name);
  text_paragraph(out, "purpose  ", "%s", verb->help);
  text_paragraph(out, "command  ", "%s", verb->example);
  text_paragraph(out, "options  ", "attnbench %s --help", verb->name);
}

static const char *column_at(uint32_t i) { return columns_word(i) != NULL ? columns_word(i)->names : NULL; }
static const char *column_help_at(uint32_t i) { return columns_word(i)->help; }

static const char *term_at(uint32_t i) { return i < sizeof glossary / sizeof *glossary ? glossary[i].names : NULL; }
static const char *term_help_at(uint32_t i) { return glossary[i].help; }

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

static void describe_exits(FILE *out) {
  const struct status_exit *exit;
  fputs("exit codes of attnbench\n", out);
  for (size_t i = 0; (exit = status_exit_at(i)) != NULL; ++i) {
    char lead[16];
    snprintf(lead, sizeof lead, "%-8d ", (int)exit->code);
    text_paragraph(out, lead, "%s", exit->meaning);
  }
  text_paragraph(out, "more     ", "attnbench describe CODE says what to do");
}

/* ---- by name --------------------------------------------------------------------------------------------------- */

static const char *key_at(uint32_t i) { return i < AXIS_COUNT ? axes_at(i)->name : NULL; }
static void describe_key(FILE *out, uint32_t index) { describe_axis(out, axes_at(index)); }

static const char *page_at(uint32_t i) {
  static const char *const pages[] = {"problem", "bound_by", "exit, exit code, exit codes"};
  return i < sizeof pages / sizeof *pages ? pages[i] : NULL;
}
static void describe_page(FILE *out, uint32_t index) {
  static void (*const pages[])(FILE *) = {describe_problem, describe_bounds, describe_exits};
  pages[index](out);
}

static const struct kind kinds[] = {
    {group_at, "groups of variants", "a group of variants, for --variants", .help = group_help_at},
    {finding_at, "findings", .describe = describe_finding},
    {verdict_at, "verdicts", "a verdict of a comparison", .help = verdict_help_at, .code = verdict_code_at},
    {cell_status_name, "statuses", "the status of a row", .help = status_help_at, .code = status_code_at},
    {column_at, "columns", "a column of the table", .help = column_help_at},
    {mark_at, "marks", "a mark of the table", .help = mark_help_at},
    {scaling_at, "verdicts of scaling", .describe = describe_scaling},
    {key_at, "keys of the problem", .describe = describe_key},
    {bound_by_name, "bounds", "what can bound the time of a row (attnbench describe bound_by)",
     .help = bound_by_help},
    {page_at, "lists", .describe = describe_page},
    {verb_at, "verbs", .describe = describe_verb},
    {task_at, "tasks and software", .describe = describe_task},
    {term_at, "other words", "a word of the reports and pages", .help = term_help_at},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

/* What to do about the status of a row; NULL: nothing. */
static const char *advice_of_status(uint32_t index) {
  switch ((enum cell_status)index) {
    case CELL_wrong: return "results/check.md says when a result counts as right";
    case CELL_oom_predicted: return "choose a smaller case, or free the memory of the device";
    case CELL_error:
    case CELL_crashed:
    case CELL_timeout: return "measure the row alone: --only KEY/VARIANT; under compute-sanitizer where it crashed";
    case CELL_implausible:
      return "look whether the kernel returns early, whether it launches work on another stream, which is not "
             "timed, and whether the clock that the row names is right";
    case CELL_left_out: return "the same command with the run's --journal FILE and --resume measures the rest";
    default: return NULL;
  }
}

static void describe_word(FILE *out, const struct kind *kind, uint32_t index) {
  if (kind->describe != NULL) {
    kind->describe(out, index);
    return;
  }
  fprintf(out, "%s, %s", kind->at(index), kind->what);
  if (kind->code != NULL) fprintf(out, " (exit code %d)", (int)kind->code(index));
  fputc('\n', out);
  text_paragraph(out, "means    ", "%s", kind->help(index));
  if (kind->at == cell_status_name && advice_of_status(index) != NULL)
    text_paragraph(out, "do       ", "%s", advice_of_status(index));
}

/* Is it one of "power, energy"? */
static bool is_listed(const char *names, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = names; length > 0 && (at = strstr(at, name)) != NULL; ++at) {
    if ((at == names || at[-1] == ' ') && (at[length] == '\0' || at[length] == ',')) return true;
  }
  return false;
}

/* What to do about an exit code; NULL: nothing. */
static const char *advice_of(enum exit_code code) {
  switch (code) {
    case EXIT_CODE_REGRESSION:
      return "run the command that the verdict prints for a row; attnbench report BASE NEW shows both sides";
    case EXIT_CODE_USAGE: return "the message says what to write; attnbench VERB --help has the options of a verb";
    case EXIT_CODE_WRONG:
      return "read the reason of the row below the table; results/check.md says when a result counts as right";
    case EXIT_CODE_COVERAGE:
      return "read the reason of the row, below the table or beside its verdict; attnbench describe STATUS explains "
             "the status. --allow-new accepts rows that the base does not have. A run also ends with this code where "
             "every row, or every row of a loaded kernel, is skipped, or no row has a ratio to a loaded reference";
    case EXIT_CODE_INCONCLUSIVE:
      return "give more --rounds, use an idle GPU, lock its clocks (nvidia-smi -lgc); --noise=warn lets noise pass";
    case EXIT_CODE_NOT_COMPARABLE:
      return "the table shows what differs; measure both sides on one machine, with one sweep";
    case EXIT_CODE_INPUT: return "the message names the file and the place in it";
    case EXIT_CODE_OUTPUT: return "the message names the file: look at the path, its rights and the space left";
    case EXIT_CODE_INTERNAL: return "read the message; attnbench --selftest tests the timer, nvidia-smi the GPU";
    case EXIT_CODE_NO_GPU: return "run it on a machine with a GPU, or with --device cpu";
    case EXIT_CODE_SIGHUP:
    case EXIT_CODE_SIGINT:
    case EXIT_CODE_SIGTERM: return "the same command with the run's --journal FILE and --resume measures the rest";
    default: return NULL;
  }
}

static bool is_exit_code(FILE *out, const char *name) {
  const struct status_exit *exit;
  char *end;
  const long code = strtol(name, &end, 10);
  for (size_t i = 0; end != name && *end == '\0' && (exit = status_exit_at(i)) != NULL; ++i) {
    if (exit->code != code) continue;
    fprintf(out, "%ld, an exit code\n", code);
    text_paragraph(out, "means    ", "%s", exit->meaning);
    if (advice_of(exit->code) != NULL) text_paragraph(out, "do       ", "%s", advice_of(exit->code));
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

/* Adds the words of "power, energy" one by one. */
static size_t add_words(const char *words, char word[][WORD_MAX], size_t count) {
  for (const char *at = words; count < NAMES_MAX; at += 2) {
    const size_t length = strcspn(at, ",");
    snprintf(word[count++], WORD_MAX, "%.*s", (int)length, at);
    at += length;
    if (*at == '\0') break;
  }
  return count;
}

/* A hint has the first letter of the word: what differs there is another word, not a mistake of typing. */
static struct status unknown(const char *name) {
  char word[NAMES_MAX][WORD_MAX];
  const char *words[NAMES_MAX + 1] = {NULL};
  size_t count = 0;
  for (size_t i = 0; i < variant_count(); ++i) count = add_words(variant_at(i)->name, word, count);
  for (size_t k = 0; k < KIND_COUNT; ++k) {
    for (uint32_t i = 0; kinds[k].at(i) != NULL; ++i) count = add_words(kinds[k].at(i), word, count);
  }
  for (size_t i = 0; i < count; ++i) words[i] = word[i];
  const char *nearest = json_nearest(name, words);
  if (nearest != NULL && tolower((unsigned char)*nearest) != tolower((unsigned char)*name)) nearest = NULL;
  return status_make(
      STATUS_USAGE,
      "\"%s\" is no variant, finding, verdict, status, column, exit code, option, key of the problem, value of "
      "one or other word%s%s%s `attnbench describe` lists all words",
      name, nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "", nearest != NULL ? "?" : ";");
}

/* All words, by kind. */
static void describe_all(FILE *out) {
  char text[4096] = "";
  fputs("attnbench describe WORD explains a word:\n", out);
  for (size_t i = 0; i < variant_count(); ++i)
    text_append(text, sizeof text, "%s%s", i > 0 ? ", " : "", variant_at(i)->name);
  text_paragraph(out, "variants             ", "%s", text);
  for (size_t k = 0; k < KIND_COUNT; ++k) {
    char lead[32];
    text[0] = '\0';
    snprintf(lead, sizeof lead, "%-20s ", kinds[k].group);
    for (uint32_t i = 0; kinds[k].at(i) != NULL; ++i)
      text_append(text, sizeof text, "%s%s", i > 0 ? ", " : "", kinds[k].at(i));
    text_paragraph(out, lead, "%s", text);
  }
  text_paragraph(out, "values of a key      ", "such as e4m3, bshd, ragged");
  text_paragraph(out, "exit codes           ", "such as 4");
  text_paragraph(out, "options              ", "such as rounds");
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

/* "vs ref" may be given as two words. */
static void join_words(const struct options_list *words, char out[WORD_MAX]) {
  out[0] = '\0';
  for (size_t i = 0; i < words->count; ++i) text_append(out, WORD_MAX, "%s%s", i > 0 ? " " : "", words->item[i]);
}

/* As it is written, else in lower case, else by another name. */
static struct status describe(FILE *out, const struct options *options) {
  char name[WORD_MAX], lower[WORD_MAX];
  size_t length = 0;
  bool is_known;
  if (options->reports.count == 0) {
    describe_all(out);
    return status_ok();
  }
  join_words(&options->reports, name);
  if (name[0] != '\0' && name[strlen(name) - 1] == '?') name[strlen(name) - 1] = '\0';
  TRY(describe_name(out, name, options, &is_known));
  for (; name[length] != '\0' && length < sizeof lower - 1; ++length)
    lower[length] = (char)tolower((unsigned char)name[length]);
  lower[length] = '\0';
  if (!is_known && strcmp(lower, name) != 0) TRY(describe_name(out, lower, options, &is_known));
  if (!is_known) is_known = options_help_option(out, lower);
  if (!is_known && asked_word(lower) != NULL) TRY(describe_name(out, asked_word(lower), options, &is_known));
  const char *synonym = synonym_of(name);
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
