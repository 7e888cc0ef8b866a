/* Measures the cells of a run: one after the other with one device, or dealt to several cards. */
#include "cli/command/take.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/owned.h"
#include "cli/base/signals.h"
#include "cli/command/deal.h"

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
  journal_file_drop(&run.file, &kept);
  return status;
}
