/* Measures the tunings of a variant, round by round. */
#include "cli/command/tune.h"

#include <math.h>

#include "cli/base/clock.h"
#include "cli/base/owned.h"
#include "cli/base/signals.h"
#include "cli/command/progress.h"
#include "cli/measure/channel.h"
#include "cli/sweep/tunings.h"

enum { LEAST_TRIED = 2 }; /* the default and another one, whatever the budget */

const struct variant_spec *tune_spec(const struct tune *tune, const struct tune_case *c, size_t candidate) {
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

struct status tune_search(struct tune *tune, struct status *measured) {
  struct journal_data data;
  *measured = do_rounds(tune);
  TRY(run_end(&tune->run, !status_failed(measured), &data));
  journal_free(&data);
  return status_ok();
}

/* ---- opening -----------------------------------------------------------------------------------------------------
 */

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

struct status tune_open(const struct options *options, const struct invocation *invocation, struct tune *out) {
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

void tune_close(struct tune *tune) {
  for (size_t i = 0; i < tune->case_count; ++i) halving_free(&tune->cases[i].search);
  run_close(&tune->run);
  journal_free(&tune->earlier);
  free(tune->sorted);
  free(tune->cases);
}
