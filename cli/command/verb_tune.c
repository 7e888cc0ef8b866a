/* The verb tune: the search of tune.h, its results as a table and as a sweep. */
#include <string.h>

#include "cli/base/json.h"
#include "cli/base/output.h"
#include "cli/base/owned.h"
#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/command/commands.h"
#include "cli/command/outputs.h"
#include "cli/command/tune.h"

/* ---- verdicts -------------------------------------------------------------------------------------------------- */

/* Is its best worth measuring in later runs? */
static bool is_kept(enum halving_verdict verdict) {
  return verdict == HALVING_better || verdict == HALVING_no_default;
}

static const char *const verdict_texts[HALVING_VERDICT_COUNT] = {
    [HALVING_better] = "better",
    [HALVING_no_better] = "no better than the default",
    [HALVING_worse] = "slower than the default after all: keep that",
    [HALVING_default_best] = "the default is the fastest",
    [HALVING_no_default] = "the default itself is not right here",
    [HALVING_not_taken] = "the variant does not take this case",
    [HALVING_none] = "no tuning is right here",
    [HALVING_unfinished] = "not compared with the default: cut off",
};

/* ---- the table ---------------------------------------------------------------------------------------------------
 */

enum { BEST, BEST_US, DEFAULT_US, FASTER, INTERVAL, TRIED, FAILED, VERDICT, COLUMNS };

struct tuned_row {
  const struct tune *tune;
  const struct tune_case *of;
  struct halving_result result;
  enum halving_verdict verdict;
};

static struct tuned_row make_row(const struct tune *tune, const struct tune_case *c) {
  struct tuned_row row = {.tune = tune, .of = c};
  halving_result(&c->search, &row.result);
  row.verdict = halving_verdict(&c->search, &row.result, c->worst != EXIT_CODE_OK);
  return row;
}

static void fill_cells(const void *tuned, char cell[][TEXT_CELL_MAX]) {
  const struct tuned_row *row = tuned;
  const struct halving *search = &row->of->search;
  const struct stats *gain = &row->result.gain;
  const bool has_best = search->best != 0 || row->verdict == HALVING_default_best;
  for (size_t i = 0; i < COLUMNS; ++i) snprintf(cell[i], TEXT_CELL_MAX, "-");
  if (has_best) snprintf(cell[BEST], TEXT_CELL_MAX, "%s", tune_spec(row->tune, row->of, search->best)->text);
  units_format(row->result.best_us, cell[BEST_US]);
  units_format(row->result.default_us, cell[DEFAULT_US]);
  if (gain->n > 0) snprintf(cell[FASTER], TEXT_CELL_MAX, "%.3fx", gain->median);
  if (gain->n > 0) snprintf(cell[INTERVAL], TEXT_CELL_MAX, "%.3f to %.3f", gain->ci_low, gain->ci_high);
  snprintf(cell[TRIED], TEXT_CELL_MAX, "%zu of %zu", row->result.tried, search->count + row->of->left_out);
  snprintf(cell[FAILED], TEXT_CELL_MAX, "%zu", row->result.failed);
  snprintf(cell[VERDICT], TEXT_CELL_MAX, "%s", verdict_texts[row->verdict]);
}

static void name_case(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", ((const struct tuned_row *)row)->of->attn_case->key);
}

static enum text_tone tone_of(const void *row) {
  const enum halving_verdict verdict = ((const struct tuned_row *)row)->verdict;
  if (verdict == HALVING_none || verdict == HALVING_no_default) return TEXT_BAD;
  return verdict == HALVING_better ? TEXT_BEST : TEXT_PLAIN;
}

static const struct text_column columns[COLUMNS] = {
    [BEST] = {"best", "", true, 0, 16},
    [BEST_US] = {"best", "us", false, 0, 0},
    [DEFAULT_US] = {"default", "us", false, 0, 0},
    [FASTER] = {"faster", "", false, 0, 0},
    [INTERVAL] = {"95 % interval", "", false, 0, 0},
    [TRIED] = {"tried", "", false, 2, 0},
    [FAILED] = {"failed", "", false, 3, 0},
    [VERDICT] = {"", "", true, 1, 0},
};

static struct status write_text(const struct tune *tune, FILE *file) {
  const size_t count = tune->case_count;
  OWNED(owned_free) struct tuned_row *rows = calloc(count + 1, sizeof *rows);
  if (rows == NULL) return status_make(STATUS_MEMORY, "no memory for a table of %zu rows", count);
  for (size_t i = 0; i < count; ++i) rows[i] = make_row(tune, &tune->cases[i]);
  text_paragraph(file, "", "tunables of %s on %s: the fastest %s times", tune->base.text, tune->device,
                 time_mode_name(tune->mode));
  fputc('\n', file);
  const struct text_table table = {.columns = columns,
                                   .column_count = COLUMNS,
                                   .rows = rows,
                                   .row_bytes = sizeof *rows,
                                   .row_count = count,
                                   .fill = fill_cells,
                                   .group = name_case,
                                   .tone = tone_of};
  const struct text_fit fit = text_table_write(file, &table);
  text_fit_print(file, &fit, NULL);
  text_wrap(file, "", 0,
            "faster: time of the default over that of the best, measured in turns by 6 fresh processes after the "
            "best was chosen; the interval is their range. tried: of the tunings that there are; failed: of "
            "the tried ones, those that were wrong, crashed, did not end or are not taken");
  return status_ok();
}

/* ---- the sweep ---------------------------------------------------------------------------------------------------
 */

static bool has_text(const cJSON *array, const char *text) {
  const cJSON *item;
  cJSON_ArrayForEach(item, array) {
    if (strcmp(item->valuestring, text) == 0) return true;
  }
  return false;
}

static void add_text(cJSON *array, const char *text) {
  if (!has_text(array, text) && cJSON_GetArraySize(array) < SWEEP_VARIANTS_MAX)
    json_append(array, cJSON_CreateString(text));
}

static void add_cases(const struct tune *tune, cJSON *shapes, cJSON *variants) {
  add_text(variants, tune->base.text);
  for (size_t i = 0; i < tune->case_count; ++i) {
    const struct tuned_row row = make_row(tune, &tune->cases[i]);
    json_append(shapes, cJSON_CreateString(row.of->attn_case->key));
    if (is_kept(row.verdict)) add_text(variants, tune_spec(tune, row.of, row.of->search.best)->text);
  }
}

/* For variants that pick others; no key where nothing is better. */
static void add_tuned(const struct tune *tune, cJSON *root) {
  cJSON *list = NULL;
  for (size_t i = 0; i < tune->case_count; ++i) {
    const struct tuned_row row = make_row(tune, &tune->cases[i]);
    if (!is_kept(row.verdict)) continue;
    if (list == NULL) list = cJSON_AddArrayToObject(root, "tuned");
    cJSON *entry = json_add_element(list);
    json_add_string(entry, "case", row.of->attn_case->key);
    json_add_string(entry, "variant", tune_spec(tune, row.of, row.of->search.best)->text);
  }
}

static void describe(const struct tune *tune, char name[SWEEP_NAME_MAX + 1], char about[SWEEP_ABOUT_MAX + 1]) {
  size_t better = 0;
  for (size_t i = 0; i < tune->case_count; ++i) better += make_row(tune, &tune->cases[i]).verdict == HALVING_better;
  snprintf(name, SWEEP_NAME_MAX + 1, "%.*s-tuned", SWEEP_NAME_MAX - 6, tune->run.sweep.name);
  snprintf(about, SWEEP_ABOUT_MAX + 1,
           "attnbench tune of %s on %s, %s times: better than the default in %zu of %zu cases", tune->base.text,
           tune->device, time_mode_name(tune->mode), better, tune->case_count);
}

/* A sweep (shapes/README.md) whose variants are the default and every tuning that is better in some case; which one
 * in which case is there too, for a variant that picks others. */
static struct status write_sweep(const struct tune *tune, FILE *file) {
  char name[SWEEP_NAME_MAX + 1], about[SWEEP_ABOUT_MAX + 1];
  cJSON *root = cJSON_CreateObject();
  describe(tune, name, about);
  json_add_uint(root, "attnbench_sweep", 1);
  json_add_string(root, "name", name);
  json_add_string(root, "about", about);
  cJSON *shapes = cJSON_AddArrayToObject(root, "shapes"), *variants = cJSON_AddArrayToObject(root, "variants");
  add_cases(tune, shapes, variants);
  add_tuned(tune, root);
  return json_write(root, "the sweep of the best tunings", file);
}

/* ---- the outcome -------------------------------------------------------------------------------------------------
 */

/* A case without any right tuning is the variant's failure; tunings that fail beside right ones are what a search is
 * for. */
static void set_outcome(const struct tune *tune, struct outcome *out) {
  size_t none = 0;
  *out = (struct outcome){.code = EXIT_CODE_OK};
  for (size_t i = 0; i < tune->case_count; ++i) {
    const struct tune_case *c = &tune->cases[i];
    if (make_row(tune, c).verdict != HALVING_none) continue;
    ++none;
    if (out->code != EXIT_CODE_WRONG) out->code = c->worst;
  }
  if (none == 0) return;
  snprintf(out->why, sizeof out->why, "no tuning of %s is right in %zu of %zu cases; measured alone, it says why",
           tune->base.text, none, tune->case_count);
}

/* ---- the verb ---- */

static struct status write_results(const struct tune *tune, const struct options *options) {
  if (options->json != NULL) OUTPUT_TRY(options->json, out, write_sweep(tune, out));
  if (outputs_is_text_wanted(options)) OUTPUT_TRY("-", out, write_text(tune, out));
  return status_ok();
}

/* What was found so far is written, whatever stopped the search. */
static struct status search_and_write(struct tune *tune, const struct options *options, struct outcome *outcome) {
  struct status measured;
  TRY(tune_search(tune, &measured));
  struct status status = write_results(tune, options);
  set_outcome(tune, outcome);
  if (!status_failed(&status)) status = measured;
  journal_file_drop(&tune->run.file, &status);
  return status;
}

struct status verb_tune(const struct options *options, const struct invocation *invocation, struct outcome *outcome) {
  OWNED(tune_close) struct tune tune = {.case_count = 0};
  TRY(outputs_probe(options));
  TRY(tune_open(options, invocation, &tune));
  return search_and_write(&tune, options, outcome);
}
