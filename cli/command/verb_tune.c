/* tune: searches the fastest tuning of a variant for each case: a run whose cells are every case with every tuning,
 * measured in the rounds of halving.h. All decisions follow from the journal, so that an interrupted search can be
 * continued. Its results are a table and a sweep. */
#include <math.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/output.h"
#include "cli/base/signals.h"
#include "cli/base/text.h"
#include "cli/base/units.h"
#include "cli/command/run.h"
#include "cli/measure/channel.h"
#include "cli/measure/halving.h"

struct tune_case {
  const struct attn_case *attn_case;
  size_t first_cell;    /* index in run.cells of the first candidate, the default tuning */
  size_t left_out;      /* number of tunings that are no candidates, since there are too many */
  enum exit_code worst; /* of the failures; a tuning that the variant does not take is no failure */
  struct halving search;
};

struct tune {
  struct run run;
  struct options own; /* run.options: those of the user, except for settings that every search needs */
  struct variant_spec base;
  enum time_mode mode; /* whose time is minimised */
  struct tune_case *cases;
  size_t case_count;
  struct journal_data earlier;  /* with --resume: the contents of the journal */
  const struct record **sorted; /* the records of `earlier`, sorted by case and variant */
  double spent_s, last_round_s; /* time of all measuring, and of the last round */
  bool has_process;             /* a fresh process was started for this round */
  char device[64];
};

enum { LEAST_TRIED = 2 }; /* the default and another one, whatever the budget */

/* The variant with the tuning of a candidate. */
static const struct variant_spec *tune_spec(const struct tune *tune, const struct tune_case *c, size_t candidate) {
  return &tune->run.cells.items[c->first_cell + candidate].spec;
}

/* ---- candidates ------------------------------------------------------------------------------------------------ */

struct asked {
  const struct attn_variant *variant;
  const struct attn_problem *shape;
  const struct device_info *device;
};

static bool is_taken(const void *context, const struct attn_tuning *tuning) {
  const struct asked *asked = context;
  return variant_supports(asked->variant, asked->shape, tuning, asked->device) == NULL;
}

static struct status add_cells(struct tune *tune, const struct tunings *tunings, struct tune_case *c) {
  struct cells *cells = &tune->run.cells;
  struct cell *grown = realloc(cells->items, (cells->count + tunings->count) * sizeof *grown);
  if (grown == NULL) return status_make(STATUS_MEMORY, "no memory for the tunings of %s", c->attn_case->key);
  cells->items = grown;
  c->first_cell = cells->count;
  c->left_out = tunings->left_out;
  for (size_t i = 0; i < tunings->count; ++i)
    cells->items[cells->count++] = (struct cell){.attn_case = c->attn_case, .spec = tunings->items[i]};
  return halving_start(&c->search, tunings->count)
             ? status_ok()
             : status_make(STATUS_MEMORY, "no memory for %zu tunings", tunings->count);
}

static void free_tunings(struct tunings *tunings) { free(tunings->items); }

/* A loaded variant's code does not run in this process: the worker says which tunings it takes, when it gets them. */
static struct status add_candidates(struct tune *tune, struct tune_case *c) {
  const struct attn_variant *variant = tune->base.variant;
  const struct asked asked = {variant, &c->attn_case->shape, supervise_device(tune->run.supervisor)};
  const struct tunings_filter filter = {variant_is_stand_in(variant) ? NULL : is_taken, &asked};
  OWNED(free_tunings) struct tunings tunings = {.items = NULL};
  TRY(tunings_of(&tune->base, &filter, &tunings));
  return add_cells(tune, &tunings, c);
}

/* Instead of the cells that were selected, a case each with the variant as it was given. */
static struct status choose_cells(struct tune *tune) {
  struct run *run = &tune->run;
  const struct device_info *device = supervise_device(run->supervisor);
  OWNED(cells_free) struct cells selected = {.count = 0};
  if (!variant_runs_on(tune->base.variant, device->kind))
    return status_make(STATUS_USAGE, "--variant: %s does not run on this device, %s", tune->base.variant->name,
                       device->name);
  snprintf(tune->device, sizeof tune->device, "%s", device->name);
  TRY(owned_array(&tune->cases, run->cells.count, sizeof *tune->cases, "cases"));
  selected = run->cells;
  run->cells = (struct cells){.count = 0};
  for (size_t i = 0; i < selected.count; ++i) {
    tune->cases[i] = (struct tune_case){.attn_case = selected.items[i].attn_case};
    tune->case_count = i + 1;
    TRY(add_candidates(tune, &tune->cases[i]));
  }
  return status_ok();
}

/* ---- what the journal has -------------------------------------------------------------------------------------- */

static struct status read_earlier(struct tune *tune) {
  struct run *run = &tune->run;
  struct journal_data *earlier = &tune->earlier;
  if (run->options->resume == NULL) return status_ok();
  TRY(run->journal != NULL ? journal_read_back(run->journal, earlier) : journal_load(run->file.path, earlier));
  tune->sorted = record_sorted(earlier->records, earlier->record_count);
  if (tune->sorted == NULL) return status_make(STATUS_MEMORY, "no memory for %zu cells", earlier->record_count);
  tune->spent_s = resume_spent_s(earlier);
  return status_ok();
}

static const struct record *find_earlier(const struct tune *tune, const struct cell *cell) {
  if (tune->sorted == NULL) return NULL;
  return record_find(tune->sorted, tune->earlier.record_count, cell->attn_case->key, cell->spec.text);
}

/* Of one measurement; us is NAN unless it was right. */
struct seen {
  enum cell_status status;
  double us;
};

/* What the round of this number measured of the cell, by the journal; false when it has nothing of it. A worker that
 * was killed from outside measured nothing. */
static bool recall(const struct tune *tune, size_t cell, uint32_t round, struct seen *out) {
  const struct record *record = find_earlier(tune, &tune->run.cells.items[cell]);
  if (record == NULL || (record->status == CELL_crashed && channel_was_killed(record->reason))) return false;
  *out = (struct seen){record->status, NAN};
  if (record->status != CELL_ok) return true;
  const struct process_record *rounds = &record->process[tune->mode];
  if (round >= process_count(record) || !record->time[tune->mode].done) return false;
  out->us = rounds->count > 0 ? rounds->median_us[round] : record->time[tune->mode].us.median;
  return true;
}

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

static bool can_measure(const struct tune *tune, double until_s) {
  return tune->run.journal != NULL && tune->spent_s < until_s;
}

static struct status measure(struct tune *tune, size_t cell, uint32_t round, struct seen *out) {
  struct record record;
  const double start_s = clock_now_s();
  TRY(signals_check());
  if (!tune->has_process) TRY(run_fresh(&tune->run));
  tune->has_process = true;
  TRY(run_cell(&tune->run, cell, round, &record));
  const bool is_right = record.status == CELL_ok && record.time[tune->mode].done;
  *out = (struct seen){record.status, is_right ? record.time[tune->mode].us.median : (double)NAN};
  tune->spent_s += clock_now_s() - start_s;
  return status_ok();
}

/* One candidate's turn; *is_done is false when there was no time for it any more. */
static struct status take_turn(struct tune *tune, struct tune_case *c, size_t candidate, double until_s,
                               struct progress *progress, bool *is_done) {
  struct halving *search = &c->search;
  const size_t cell = c->first_cell + candidate;
  const uint32_t round = search->candidates[candidate].rounds;
  struct seen seen;
  *is_done = recall(tune, cell, round, &seen);
  if (!*is_done && can_measure(tune, until_s)) {
    progress_cell(progress, c->attn_case->key, tune_spec(tune, c, candidate)->text);
    TRY(measure(tune, cell, round, &seen));
    *is_done = true;
  }
  if (!*is_done) return status_ok();
  const enum exit_code code = cell_status_exit_code(seen.status);
  if (code != EXIT_CODE_OK && c->worst != EXIT_CODE_WRONG) c->worst = code;
  halving_note(search, candidate, seen.us);
  return status_ok();
}

/* The first round stops at the case's share of the budget; those that follow are whole. */
static struct status do_case(struct tune *tune, struct tune_case *c, double until_s, struct progress *progress) {
  bool is_done = true;
  for (size_t turn = 0; turn < c->search.count && is_done; ++turn) {
    const size_t candidate = halving_turn(&c->search, turn);
    const bool is_bounded = c->search.round == 0 && turn >= LEAST_TRIED;
    if (!halving_wants(&c->search, candidate)) continue;
    TRY(take_turn(tune, c, candidate, is_bounded ? until_s : INFINITY, progress, &is_done));
  }
  return status_ok();
}

/* Did the search go on into this round, by the journal? It then measured others than the default and the fastest. */
static bool went_on(const struct tune *tune, const struct tune_case *c, uint32_t round) {
  const size_t fastest = halving_fastest(&c->search);
  struct seen seen;
  for (size_t i = 1; i < c->search.count; ++i) {
    if (i != fastest && !c->search.candidates[i].is_out && recall(tune, c->first_cell + i, round, &seen) &&
        !isnan(seen.us))
      return true;
  }
  return false;
}

/* Is there time for one more round of the search? It costs about half of the last one, and nothing where the journal
 * has it. */
static bool has_time(const struct tune *tune, uint32_t round) {
  for (size_t i = 0; i < tune->case_count; ++i) {
    if (halving_is_searching(&tune->cases[i].search) && went_on(tune, &tune->cases[i], round)) return true;
  }
  return can_measure(tune, tune->own.budget.value - tune->last_round_s / 2);
}

static struct status do_round(struct tune *tune, uint32_t round, struct progress *progress) {
  const double before_s = tune->spent_s;
  tune->has_process = false;
  for (size_t i = 0; i < tune->case_count; ++i) {
    struct tune_case *c = &tune->cases[i];
    const double share = (double)(i + 1) / (double)tune->case_count;
    if (!halving_is_over(&c->search)) TRY(do_case(tune, c, share * tune->own.budget.value, progress));
  }
  tune->last_round_s = tune->spent_s - before_s;
  const bool stops = !has_time(tune, round + 1);
  for (size_t i = 0; i < tune->case_count; ++i) {
    if (!halving_is_over(&tune->cases[i].search)) halving_end_round(&tune->cases[i].search, stops);
  }
  return status_ok();
}

static bool is_over(const struct tune *tune) {
  for (size_t i = 0; i < tune->case_count; ++i) {
    if (!halving_is_over(&tune->cases[i].search)) return false;
  }
  return true;
}

static struct status do_rounds(struct tune *tune) {
  size_t expected = 0;
  for (size_t i = 0; i < tune->case_count; ++i) expected += halving_expected(tune->cases[i].search.count);
  struct progress progress = progress_start(expected, tune->own.quiet);
  struct status status = status_ok();
  for (uint32_t round = 0; !is_over(tune) && !status_failed(&status); ++round)
    status = do_round(tune, round, &progress);
  progress_end(&progress);
  return status;
}

/* Searches. *measured is the failure that stopped the search, if any; the results before it remain valid. */
static struct status tune_search(struct tune *tune, struct status *measured) {
  struct journal_data data;
  *measured = do_rounds(tune);
  TRY(run_end(&tune->run, !status_failed(measured), &data));
  journal_free(&data);
  return status_ok();
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

static struct status read_base(const char *text, struct variant_spec *out) {
  TRY(variant_spec_parse(text, "--variant", STATUS_USAGE, out));
  for (size_t i = 0; i < variant_tunable_count(out->variant); ++i) {
    if (!variant_spec_gives(out, i)) return status_ok();
  }
  return status_make(STATUS_USAGE, "--variant: %s has nothing to tune: %s; `attnbench list` shows the tunables",
                     out->text,
                     variant_tunable_count(out->variant) == 0 ? "it has no tunables" : "all its tunables are given");
}

/* What a search fixes: one mode, short measurements that many rounds repeat, the default as the only reference. */
static struct options options_of(const struct options *options) {
  struct options own = *options;
  own.modes = options->mode;
  own.quick = true;
  own.reference = "none";
  own.rounds = (struct options_whole){.text = "1", .value = 1};
  return own;
}

/* Reads the options, opens the device, lists the tunings and starts the journal. Ends with tune_close in any case. */
static struct status tune_open(const struct options *options, const struct invocation *invocation, struct tune *out) {
  bool modes[TIME_MODE_COUNT];
  *out = (struct tune){.own = options_of(options)};
  TRY(run_prepare(&out->own, invocation, &out->run));
  TRY(read_base(out->own.variants, &out->base));
  TRY(time_mode_parse_list(out->own.modes, modes));
  out->mode = modes[TIME_HOT] ? TIME_HOT : TIME_COLD;
  TRY(run_open(&out->run));
  TRY(choose_cells(out));
  TRY(run_begin(&out->run));
  return read_earlier(out);
}

static void tune_close(struct tune *tune) {
  for (size_t i = 0; i < tune->case_count; ++i) halving_free(&tune->cases[i].search);
  run_close(&tune->run);
  journal_free(&tune->earlier);
  free(tune->sorted);
  free(tune->cases);
}

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

/* ---- the table ------------------------------------------------------------------------------------------------- */

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
  char faster[32], interval[64], tried[64];
  snprintf(faster, sizeof faster, "%.3fx", gain->median);
  snprintf(interval, sizeof interval, "%.3f to %.3f", gain->ci_low, gain->ci_high);
  snprintf(tried, sizeof tried, "%zu of %zu", row->result.tried, search->count + row->of->left_out);
  TEXT_CELLS(cell, has_best ? tune_spec(row->tune, row->of, search->best)->text : NULL,
             units_short(row->result.best_us).text, units_short(row->result.default_us).text,
             gain->n > 0 ? faster : NULL, gain->n > 0 ? interval : NULL, tried,
             units_fixed((double)row->result.failed, 0).text, verdict_texts[row->verdict]);
}

static void name_case(const void *row, char out[TEXT_CELL_MAX]) {
  snprintf(out, TEXT_CELL_MAX, "%s", ((const struct tuned_row *)row)->of->attn_case->key);
}

static enum text_tone tone_of(const void *row) {
  const enum halving_verdict verdict = ((const struct tuned_row *)row)->verdict;
  if (verdict == HALVING_none || verdict == HALVING_no_default) return TEXT_BAD;
  return verdict == HALVING_better ? TEXT_BEST : TEXT_PLAIN;
}

static const struct text_column columns[] = {
    {"best", "", true, 0, 16},          {"best", "us", false, 0, 0},
    {"default", "us", false, 0, 0},     {"faster", "", false, 0, 0},
    {"95 % interval", "", false, 0, 0}, {"tried", "", false, 2, 0},
    {"failed", "", false, 3, 0},        {"", "", true, 1, 0},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static struct status write_text(const struct tune *tune, FILE *file) {
  const size_t count = tune->case_count;
  OWNED_ARRAY(struct tuned_row, rows, count, "rows of a table");
  for (size_t i = 0; i < count; ++i) rows[i] = make_row(tune, &tune->cases[i]);
  text_paragraph(file, "", "tunables of %s on %s: the fastest %s times", tune->base.text, tune->device,
                 time_mode_name(tune->mode));
  fputc('\n', file);
  const struct text_table table =
      TEXT_TABLE(columns, COLUMNS, rows, count, fill_cells, .group = name_case, .tone = tone_of);
  const struct text_fit fit = text_table_write(file, &table);
  text_fit_print(file, &fit, NULL);
  text_wrap(file, "", 0,
            "faster: time of the default over that of the best, measured in turns by 6 fresh processes after the "
            "best was chosen; the interval is their range. tried: of the tunings that there are; failed: of "
            "the tried ones, those that were wrong, crashed, did not end or are not taken");
  return status_ok();
}

/* ---- the sweep ------------------------------------------------------------------------------------------------- */

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

/* ---- the outcome ----------------------------------------------------------------------------------------------- */

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
  journal_file_drop(&tune->run.file, &status, false);
  return status;
}

struct status verb_tune(const struct options *options, const struct invocation *invocation, struct outcome *outcome) {
  OWNED(tune_close) struct tune tune = {.case_count = 0};
  TRY(outputs_probe(options));
  TRY(tune_open(options, invocation, &tune));
  return search_and_write(&tune, options, outcome);
}
