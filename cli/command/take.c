/* Measures the cells of a run: one after the other with one device, or dealt to several cards. */
#include "cli/command/run.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/signals.h"
#include "cli/base/text.h"
#include "kernels/problem/work.h"

/* ---- several cards: one that is free measures the next case ---------------------------------------------------- */

static const size_t no_card = SIZE_MAX, no_cell = SIZE_MAX;

struct seat {
  bool is_lost, is_busy;
  size_t cell;          /* that it measures; no_cell: it starts a fresh process */
  double rests_until_s; /* a card that was throttled */
  struct schedule schedule;
};

struct deal {
  struct run *run;
  struct fleet *fleet;
  struct progress *progress;
  uint32_t round;
  size_t first;   /* the first cell that may still be pending in this round */
  bool *is_begun; /* per cell: a card has it */
  size_t *owner;  /* per case of the sweep: the card that has it, or no_card */
  struct seat seat[FLEET_CARDS_MAX];
  struct status last_loss;
};

static const char *uuid_of(const struct deal *d, size_t card) {
  return fleet_hello(d->fleet, card)->device.info.uuid;
}

static size_t case_of(const struct deal *d, size_t cell) {
  return (size_t)(d->run->cells.items[cell].attn_case - d->run->sweep.cases);
}

static size_t find_card(const struct deal *d, const char *uuid) {
  for (size_t i = 0; i < fleet_count(d->fleet); ++i) {
    if (strcmp(uuid_of(d, i), uuid) == 0) return i;
  }
  return no_card;
}

/* ---- who takes what ------------------------------------------------------------------------------------------ */

/* What a card may do with a cell: a case that a lost card had begun is anybody's again. */
enum claim { CLAIM_NONE, CLAIM_NEW_CASE, CLAIM_OWN_CASE };

static enum claim claim_of(const struct deal *d, size_t card, size_t cell) {
  const size_t owner = d->owner[case_of(d, cell)];
  if (d->round > 0) /* the card of its first round */
    return strcmp(d->run->cell[cell].card, uuid_of(d, card)) == 0 ? CLAIM_OWN_CASE : CLAIM_NONE;
  if (owner == card) return CLAIM_OWN_CASE;
  return owner == no_card || d->seat[owner].is_lost ? CLAIM_NEW_CASE : CLAIM_NONE;
}

static double work_of(const struct deal *d, size_t cell) {
  return work_flops(&d->run->cells.items[cell].attn_case->shape);
}

/* Where nobody asked for an order, the next case is the one with most work: a large one that comes last would keep
 * one card busy while the others wait. */
static size_t next_cell(struct deal *d, size_t card) {
  const size_t count = d->run->cells.count;
  const bool by_work = d->run->options->order == NULL && d->run->options->time_budget.text == NULL;
  size_t found = no_cell;
  while (d->first < count && (d->is_begun[d->first] || !run_is_pending(d->run, d->first, d->round))) ++d->first;
  for (size_t i = d->first; i < count; ++i) {
    const bool is_open = !d->is_begun[i] && run_is_pending(d->run, i, d->round);
    const enum claim claim = is_open ? claim_of(d, card, i) : CLAIM_NONE;
    if (claim == CLAIM_OWN_CASE) return i;
    if (claim == CLAIM_NONE || (found != no_cell && !(by_work && work_of(d, i) > work_of(d, found)))) continue;
    found = i;
  }
  return found;
}

static void put_card(const struct deal *d, size_t card, struct record *record) {
  snprintf(record->card, sizeof record->card, "%s", uuid_of(d, card));
}

/* A cell that no time is left for is done at once. */
static struct status start_cell(struct deal *d, size_t card, size_t index) {
  struct run *run = d->run;
  struct seat *seat = &d->seat[card];
  const struct cell *cell = &run->cells.items[index];
  struct record *left_out = fleet_record(d->fleet, card);
  d->is_begun[index] = true;
  d->owner[case_of(d, index)] = card;
  progress_cell(d->progress, cell->attn_case->key, cell->spec.text);
  if (d->round == 0 && !run_is_elsewhere(run, cell) && run_leaves_out(run, &seat->schedule, cell, left_out)) {
    put_card(d, card, left_out);
    return run_settle(run, index, d->round, left_out);
  }
  struct cell_request request = run_request(run, cell, d->round > 0);
  if (run_is_elsewhere(run, cell)) snprintf(request.plan_gpu, sizeof request.plan_gpu, "%s", run->planned->name);
  seat->is_busy = true;
  seat->cell = index;
  fleet_measure(d->fleet, card, &request);
  return status_ok();
}

/* Until the card has something to do, or there is nothing for it. */
static struct status occupy(struct deal *d, size_t card, bool *is_left) {
  struct seat *seat = &d->seat[card];
  for (size_t cell; !seat->is_lost && !seat->is_busy && (cell = next_cell(d, card)) != no_cell;) {
    TRY(signals_check());
    *is_left = true;
    if (clock_now_s() < seat->rests_until_s) break;
    TRY(start_cell(d, card, cell));
  }
  *is_left = *is_left || seat->is_busy;
  return status_ok();
}

/* ---- what came of it ----------------------------------------------------------------------------------------- */

static struct status lose_card(struct deal *d, size_t card, const struct status *why) {
  struct seat *seat = &d->seat[card];
  size_t left = 0;
  seat->is_lost = true;
  if (seat->cell != no_cell) d->is_begun[seat->cell] = false;
  d->first = 0;
  d->last_loss = *why;
  for (size_t i = 0; i < fleet_count(d->fleet); ++i) left += !d->seat[i].is_lost;
  progress_end(d->progress);
  text_say(stderr, "%s (%s) is lost, %zu of %zu cards go on: %s", fleet_name(d->fleet, card), uuid_of(d, card), left,
           fleet_count(d->fleet), why->text);
  return left > 0 ? status_ok() : *why;
}

static struct status settle(struct deal *d, size_t card) {
  struct seat *seat = &d->seat[card];
  const struct status *outcome = fleet_outcome(d->fleet, card);
  struct record *record = fleet_record(d->fleet, card);
  seat->is_busy = false;
  if (outcome->code == STATUS_INTERRUPTED) return *outcome;
  if (status_failed(outcome)) return lose_card(d, card, outcome);
  if (seat->cell == no_cell) return status_ok();
  put_card(d, card, record);
  if (d->round == 0) schedule_learn(&seat->schedule, &d->run->cells.items[seat->cell], record->wall_s, record);
  seat->rests_until_s = clock_now_s() + run_rest_s(d->run, record);
  return run_settle(d->run, seat->cell, d->round, record);
}

/* The end of the first rest among the cards that have nothing to do but rest. */
static double next_end_of_rest(const struct deal *d) {
  const double now_s = clock_now_s();
  double end_s = INFINITY;
  for (size_t i = 0; i < fleet_count(d->fleet); ++i) {
    const struct seat *seat = &d->seat[i];
    if (!seat->is_lost && !seat->is_busy && seat->rests_until_s > now_s) end_s = fmin(end_s, seat->rests_until_s);
  }
  return end_s;
}

/* ---- rounds -------------------------------------------------------------------------------------------------- */

/* Every round has processes of its own. */
static void freshen(struct deal *d) {
  for (size_t i = 0; i < fleet_count(d->fleet); ++i) {
    if (d->seat[i].is_lost) continue;
    d->seat[i].is_busy = true;
    d->seat[i].cell = no_cell;
    fleet_renew(d->fleet, i);
  }
}

static struct status deal_round(struct deal *d) {
  size_t card;
  TRY(signals_check());
  if (!run_has_pending(d->run, d->round)) return status_ok();
  d->first = 0;
  memset(d->is_begun, 0, d->run->cells.count * sizeof *d->is_begun);
  if (!d->run->is_fresh) freshen(d);
  d->run->is_fresh = false;
  for (bool is_left = true;;) {
    is_left = false;
    for (size_t i = 0; i < fleet_count(d->fleet); ++i) TRY(occupy(d, i, &is_left));
    if (!is_left) return status_ok();
    TRY(fleet_wait(d->fleet, next_end_of_rest(d), &card));
    if (card < fleet_count(d->fleet)) TRY(settle(d, card));
  }
}

/* What a lost card had begun, and nobody else may go on with. */
static struct status check_whole(const struct deal *d) {
  size_t missing = 0;
  for (uint32_t round = 0; round < d->run->options->rounds.value; ++round) {
    for (size_t i = 0; i < d->run->cells.count; ++i) missing += run_is_pending(d->run, i, round);
  }
  if (missing == 0) return status_ok();
  return status_make(
      STATUS_COVERAGE,
      "%zu measurements of later rounds are missing: their card is not there any more, and rounds of a cell are of "
      "one card. With --journal, the same command with --resume measures them where it is",
      missing);
}

/* Cells that were measured before, by a run that is continued here. */
static void take_over(struct deal *d) {
  for (size_t i = 0; i < d->run->sweep.case_count; ++i) d->owner[i] = no_card;
  for (size_t i = 0; i < d->run->cells.count; ++i) {
    if (d->run->cell[i].done > 0) d->owner[case_of(d, i)] = find_card(d, d->run->cell[i].card);
  }
}

static void free_deal(struct deal *d) {
  free(d->is_begun);
  free(d->owner);
}

/* Measures all rounds of run->cells with run->fleet and writes them to the run's journal. The cells of one case go to
 * one card, and later rounds of a cell go to the card of its first round. When the worker of a card cannot be started
 * again, stderr says so, and the other cards measure the cells that this card had not begun. STATUS_COVERAGE when
 * later rounds of the cells that it had begun are missing at the end. When no card is left, returns the failure of
 * the last one. */
static struct status deal_rounds(struct run *run, struct progress *progress) {
  OWNED(free_deal) struct deal d = {.run = run, .fleet = run->fleet, .progress = progress};
  TRY(owned_array(&d.is_begun, run->cells.count, sizeof *d.is_begun, "cells"));
  TRY(owned_array(&d.owner, run->sweep.case_count, sizeof *d.owner, "cases"));
  take_over(&d);
  for (; d.round < run->options->rounds.value; ++d.round) TRY(deal_round(&d));
  return check_whole(&d);
}

/* ---- one device ------------------------------------------------------------------------------------------------ */

static struct status do_round(struct run *run, uint32_t round, struct progress *progress) {
  TRY(signals_check());
  if (!run_has_pending(run, round)) return status_ok();
  struct record record;
  TRY(run_fresh(run));
  for (size_t i = 0; i < run->cells.count; ++i) {
    TRY(signals_check());
    if (!run_is_pending(run, i, round)) continue;
    progress_cell(progress, run->cells.items[i].attn_case->key, run->cells.items[i].spec.text);
    TRY(run_cell(run, i, round, &record));
  }
  return status_ok();
}

static struct status do_rounds(struct run *run) {
  const uint32_t rounds = (uint32_t)run->options->rounds.value;
  struct progress progress = progress_start(run_count_pending(run), run->options->quiet);
  struct status status = run->fleet != NULL ? deal_rounds(run, &progress) : status_ok();
  for (uint32_t i = 0; run->fleet == NULL && i < rounds && !status_failed(&status); ++i)
    status = do_round(run, i, &progress);
  progress_end(&progress);
  return status;
}

struct status take_rounds(struct run *run, struct journal_data *out, struct status *measured) {
  *measured = do_rounds(run);
  /* The last line's file may have been lost since; what was measured is reported all the same. */
  const struct status kept = run->journal != NULL ? journal_check(run->journal) : status_ok();
  if (status_failed(&kept)) *measured = kept;
  return run_end(run, !status_failed(measured), out);
}

/* Nothing, rather than a part. */
static struct status take_whole(struct run *run, struct journal_data *out) {
  struct status measured;
  TRY(take_rounds(run, out, &measured));
  if (status_failed(&measured)) journal_free(out);
  return measured;
}

/* What a second measurement has for itself; the rest it shares with the run. */
static void close_second(struct run *second) {
  journal_close(second->journal);
  selection_free(&second->selection);
  cells_free(&second->cells);
  free(second->cell);
}

struct status take_again(struct run *run, uint32_t number, const char *const *only, size_t only_count,
                         struct journal_data *out) {
  OWNED(close_second) struct run second = *run;
  second.cell = NULL;
  second.budget_end_s = NAN;
  second.sentinel = NULL;
  second.is_fresh = true;
  second.selection = (struct selection){.count = 0};
  second.earlier = (struct journal_data){.records = NULL};
  second.start_s = clock_now_s();
  snprintf(second.file.path, sizeof second.file.path, "%s.again%u", run->file.path, (unsigned)number);
  TRY(owned_array(&second.cells.items, run->cells.count, sizeof *second.cells.items, "cells"));
  memcpy(second.cells.items, run->cells.items, run->cells.count * sizeof *second.cells.items);
  TRY(cells_keep_only(&second.cells, only, only_count));
  TRY(selection_of(&second.cells, &second.selection));
  TRY(supervise_renew(second.supervisor));
  TRY(run_open_journal(&second));
  const struct status status = take_whole(&second, out);
  if (!run->file.is_kept) unlink(second.file.path);
  return status;
}

struct status take_processes(const struct options *options, const struct invocation *invocation,
                             struct journal_data *out) {
  struct options own = *options;
  OWNED(run_close) struct run run = {.options = &own};
  own.rounds = options->processes;
  own.quick = true;
  own.reference = "none";
  own.json = NULL;
  TRY(run_prepare(&own, invocation, &run));
  TRY(run_open(&run));
  TRY(run_begin(&run));
  const struct status status = take_whole(&run, out);
  /* What an interrupted self-test measured is of no use. */
  const struct status kept = status.code == STATUS_INTERRUPTED ? status_ok() : status;
  journal_file_drop(&run.file, &kept, false);
  return status;
}
