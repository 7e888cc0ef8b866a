/* Writes what a search for tunables found. */
#include "cli/command/tuned.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/base/text.h"
#include "cli/base/units.h"

/* ---- verdicts -------------------------------------------------------------------------------------------------- */

static const char *const verdict_texts[TUNED_VERDICT_COUNT] = {
#define TUNED_TEXT(name, text) [TUNED_##name] = (text),
    TUNED_VERDICT_MAP(TUNED_TEXT)
#undef TUNED_TEXT
};

enum tuned_verdict tuned_verdict(const struct halving *search, const struct halving_result *result,
                                 enum exit_code worst) {
  const bool has_default = !isnan(result->default_us), has_best = !isnan(result->best_us);
  if (!halving_is_over(search)) return TUNED_unfinished;
  if (!has_default && (search->best == 0 || !has_best)) return worst == EXIT_CODE_OK ? TUNED_not_taken : TUNED_none;
  if (search->best == 0) return TUNED_default_best;
  if (!has_default) return TUNED_no_default;
  if (!has_best) return TUNED_worse; /* it failed when it was measured again */
  if (result->gain.n < HALVING_FINAL) return TUNED_unfinished;
  if (result->gain.ci_low > 1) return TUNED_better;
  return result->gain.ci_high < 1 ? TUNED_worse : TUNED_no_better;
}

/* Is its best worth measuring in later runs? */
static bool is_kept(enum tuned_verdict verdict) { return verdict == TUNED_better || verdict == TUNED_no_default; }

/* ---- the table ---------------------------------------------------------------------------------------------------
 */

struct tuned_row {
  const struct tune *tune;
  const struct tune_case *of;
  struct halving_result result;
  enum tuned_verdict verdict;
};

static const struct tuned_row *row_of(const void *row) { return row; }

static struct tuned_row make_row(const struct tune *tune, const struct tune_case *c) {
  struct tuned_row row = {.tune = tune, .of = c};
  halving_result(&c->search, &row.result);
  row.verdict = tuned_verdict(&c->search, &row.result, c->worst);
  return row;
}

static void put_us(double us, char out[TEXT_CELL_MAX]) {
  char text[UNITS_TEXT_MAX] = "-";
  if (!isnan(us)) units_format(us, text);
  snprintf(out, TEXT_CELL_MAX, "%s", text);
}

static void cell_case(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", row_of(row)->of->attn_case->key);
}

static void cell_best(const void *row, char out[TEXT_CELL_MAX]) {
  const struct tuned_row *r = row_of(row);
  const bool has_best = r->of->search.best != 0 || r->verdict == TUNED_default_best;
  snprintf(out, TEXT_CELL_MAX, "%s", has_best ? tune_spec(r->tune, r->of, r->of->search.best)->text : "-");
}

static void cell_best_us(const void *row, char out[TEXT_CELL_MAX]) { put_us(row_of(row)->result.best_us, out); }
static void cell_default_us(const void *row, char out[TEXT_CELL_MAX]) { put_us(row_of(row)->result.default_us, out); }

static void cell_gain(const void *row, char out[TEXT_CELL_MAX]) {
  const struct stats *gain = &row_of(row)->result.gain;
  snprintf(out, TEXT_CELL_MAX, "-");
  if (gain->n > 0) snprintf(out, TEXT_CELL_MAX, "%.3fx", gain->median);
}

static void cell_interval(const void *row, char out[TEXT_CELL_MAX]) {
  const struct stats *gain = &row_of(row)->result.gain;
  snprintf(out, TEXT_CELL_MAX, "-");
  if (gain->n > 0) snprintf(out, TEXT_CELL_MAX, "%.3f to %.3f", gain->ci_low, gain->ci_high);
}

static void cell_tried(const void *row, char out[TEXT_CELL_MAX]) {
  const struct tuned_row *r = row_of(row);
  snprintf(out, TEXT_CELL_MAX, "%zu of %zu", r->result.tried, r->of->search.count + r->of->left_out);
}

static void cell_failed(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%zu", row_of(row)->result.failed);
}

static void cell_verdict(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", verdict_texts[row_of(row)->verdict]);
}

static enum text_tone tone_of(const void *row) {
  const enum tuned_verdict verdict = row_of(row)->verdict;
  if (verdict == TUNED_none || verdict == TUNED_no_default) return TEXT_BAD;
  return verdict == TUNED_better ? TEXT_BEST : TEXT_PLAIN;
}

static const struct text_column columns[] = {
    {"best", "", true, 0, 16, cell_best},
    {"best", "us", false, 0, 0, cell_best_us},
    {"default", "us", false, 0, 0, cell_default_us},
    {"faster", "", false, 0, 0, cell_gain},
    {"95 % interval", "", false, 0, 0, cell_interval},
    {"tried", "", false, 2, 0, cell_tried},
    {"failed", "", false, 3, 0, cell_failed},
    {"", "", true, 1, 0, cell_verdict},
};

static void print_rows(const struct tune *tune, struct tuned_row *rows, const void **pointers, FILE *file) {
  for (size_t i = 0; i < tune->case_count; ++i) {
    rows[i] = make_row(tune, &tune->cases[i]);
    pointers[i] = &rows[i];
  }
  const struct text_table table = {.columns = columns,
                                   .column_count = sizeof columns / sizeof *columns,
                                   .rows = pointers,
                                   .row_count = tune->case_count,
                                   .group = cell_case,
                                   .tone = tone_of};
  const struct text_fit fit = text_table_write(file, &table);
  text_fit_print(file, &fit, "a wider terminal");
}

struct status tuned_write_text(const struct tune *tune, FILE *file) {
  struct tuned_row *rows = calloc(tune->case_count + 1, sizeof *rows);
  const void **pointers = calloc(tune->case_count + 1, sizeof *pointers);
  if (rows != NULL && pointers != NULL) {
    fprintf(file, "tunables of %s on %s: the fastest %s times\n\n", tune->base.text, tune->device,
            time_mode_name(tune->mode));
    print_rows(tune, rows, pointers, file);
    text_wrap(file, "", 0,
              "faster: time of the default over that of the best, measured in turns by 6 fresh processes after the "
              "best was chosen; the interval is their range. tried: of the tunings that there are; failed: of "
              "the tried ones, those that were wrong, crashed, did not end or are not taken");
  }
  const bool has_memory = rows != NULL && pointers != NULL;
  free(rows);
  free(pointers);
  return has_memory ? status_ok() : status_make(STATUS_MEMORY, "no memory for a table of %zu rows", tune->case_count);
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

static bool add_text(cJSON *array, const char *text) {
  if (has_text(array, text) || cJSON_GetArraySize(array) >= SWEEP_VARIANTS_MAX) return true;
  cJSON *item = cJSON_CreateString(text);
  return item != NULL && cJSON_AddItemToArray(array, item);
}

static bool add_cases(const struct tune *tune, cJSON *shapes, cJSON *variants) {
  bool ok = add_text(variants, tune->base.text);
  for (size_t i = 0; i < tune->case_count && ok; ++i) {
    const struct tuned_row row = make_row(tune, &tune->cases[i]);
    cJSON *key = cJSON_CreateString(row.of->attn_case->key);
    ok = key != NULL && cJSON_AddItemToArray(shapes, key);
    if (ok && is_kept(row.verdict)) ok = add_text(variants, tune_spec(tune, row.of, row.of->search.best)->text);
  }
  return ok;
}

/* For variants that pick others; no key where nothing is better. */
static bool add_tuned(const struct tune *tune, cJSON *root) {
  cJSON *list = NULL;
  for (size_t i = 0; i < tune->case_count; ++i) {
    const struct tuned_row row = make_row(tune, &tune->cases[i]);
    if (!is_kept(row.verdict)) continue;
    if (list == NULL) list = cJSON_AddArrayToObject(root, "tuned");
    cJSON *entry = json_add_element(list);
    if (entry == NULL) return false;
    json_add_string(entry, "case", row.of->attn_case->key);
    json_add_string(entry, "variant", tune_spec(tune, row.of, row.of->search.best)->text);
  }
  return true;
}

static void describe(const struct tune *tune, char name[SWEEP_NAME_MAX + 1], char about[SWEEP_ABOUT_MAX + 1]) {
  size_t better = 0;
  for (size_t i = 0; i < tune->case_count; ++i) better += make_row(tune, &tune->cases[i]).verdict == TUNED_better;
  snprintf(name, SWEEP_NAME_MAX + 1, "%.*s-tuned", SWEEP_NAME_MAX - 6, tune->run.sweep.name);
  snprintf(about, SWEEP_ABOUT_MAX + 1,
           "attnbench tune of %s on %s, %s times: better than the default in %zu of %zu cases", tune->base.text,
           tune->device, time_mode_name(tune->mode), better, tune->case_count);
}

struct status tuned_write_sweep(const struct tune *tune, FILE *file) {
  char name[SWEEP_NAME_MAX + 1], about[SWEEP_ABOUT_MAX + 1];
  cJSON *root = cJSON_CreateObject();
  describe(tune, name, about);
  json_add_uint(root, "attnbench_sweep", 1);
  json_add_string(root, "name", name);
  json_add_string(root, "about", about);
  cJSON *shapes = cJSON_AddArrayToObject(root, "shapes"), *variants = cJSON_AddArrayToObject(root, "variants");
  const bool ok = shapes != NULL && variants != NULL && add_cases(tune, shapes, variants) && add_tuned(tune, root);
  return json_write(root, ok, "the sweep of the best tunings", file);
}

/* ---- the outcome -------------------------------------------------------------------------------------------------
 */

/* A case without any right tuning is the variant's failure; tunings that fail beside right ones are what a search is
 * for. */
void tuned_outcome(const struct tune *tune, struct outcome *out) {
  size_t none = 0;
  *out = (struct outcome){.code = EXIT_CODE_OK};
  for (size_t i = 0; i < tune->case_count; ++i) {
    const struct tune_case *c = &tune->cases[i];
    if (make_row(tune, c).verdict != TUNED_none) continue;
    ++none;
    if (out->code != EXIT_CODE_WRONG) out->code = c->worst;
  }
  if (none == 0) return;
  snprintf(out->why, sizeof out->why, "no tuning of %s is right in %zu of %zu cases; measured alone, it says why",
           tune->base.text, none, tune->case_count);
}
