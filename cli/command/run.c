/* Measures the cells of a sweep in one or several fresh processes. */
#include "cli/command/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/clock.h"
#include "cli/base/signals.h"
#include "cli/base/text.h"
#include "kernels/machine_code.h"

/* ---- device, reference, cells -------------------------------------------------------------------------------- */

/* auto: a GPU when there is one. A GPU that is there but does not open is an error, never a reason for the CPU. */
static struct status open_device(const struct options *options, struct run *run) {
  const double timeout_s = options->timeout.value;
  if (options->devices != NULL) return fleet_open(options->devices, timeout_s, &run->fleet);
  if (strcmp(options->device, "auto") != 0) return supervise_open(options->device, timeout_s, &run->supervisor);
  const struct status status = supervise_open("cuda", timeout_s, &run->supervisor);
  return status.code == STATUS_NO_GPU ? supervise_open("cpu", timeout_s, &run->supervisor) : status;
}

/* The first vendor's library that runs on the device; "" when there is none. */
static const char *default_reference(enum device_kind kind) {
  for (size_t i = 0; i < variant_count(); ++i) {
    const struct attn_variant *variant = variant_at(i);
    if (variant->vendor != NULL && variant->runs_on == kind) return variant->name;
  }
  return "";
}

/* Before a device is opened, so that a misspelled name costs nothing. */
static struct status parse_reference(const char *text, struct variant_spec *spec) {
  if (text == NULL || strcmp(text, "none") == 0) return status_ok();
  return variant_spec_parse(text, "--reference", STATUS_USAGE, spec);
}

/* Of several cards the first: they are of one model. */
static const struct worker_hello *hello_of(const struct run *run) {
  return run->fleet != NULL ? fleet_hello(run->fleet, 0) : supervise_hello(run->supervisor);
}

static const struct device_info *device_of(const struct run *run) { return &hello_of(run)->device.info; }

static struct status choose_reference(struct run *run) {
  const struct device_info *device = device_of(run);
  const char *name = default_reference(device->kind);
  if (run->options->reference == NULL) return name[0] != '\0' ? parse_reference(name, &run->reference) : status_ok();
  if (run->reference.variant == NULL || variant_runs_on(run->reference.variant, device->kind)) return status_ok();
  return status_make(STATUS_USAGE, "--reference: %s does not run on this run's device, %s; choose another or none",
                     run->reference.text, device->name);
}

/* A control that is nowhere put in would find nothing, and look like a gate that works. */
static struct status require_injected(const struct run *run) {
  const enum device_kind kind = device_of(run)->kind;
  /* Cells picked one by one, as a gate picks suspects, need not hold the slowed one. */
  if (run->inject.glob[0] == '\0' || run->options->only.count > 0) return status_ok();
  for (size_t i = 0; i < run->cells.count; ++i) {
    const struct cell *cell = &run->cells.items[i];
    if (variant_runs_on(cell->spec.variant, kind) &&
        inject_percent(&run->inject, cell->attn_case->key, cell->spec.text) > 0)
      return status_ok();
  }
  return status_make(STATUS_USAGE,
                     "--inject-slowdown: \"%s\" matches none of the cells that are measured here; it is held against "
                     "KEY/VARIANT, the first being %s/%s",
                     run->inject.glob, run->cells.items[0].attn_case->key, run->cells.items[0].spec.text);
}

/* Is a variant of what this --load names selected, or the reference? */
static bool is_measured(const struct run *run, const char *given) {
  const struct attn_variant *reference = run->reference.variant;
  const char *origin = reference != NULL ? load_origin(reference) : NULL;
  bool is_found = origin != NULL && strcmp(origin, given) == 0;
  for (size_t i = 0; i < run->cells.count && !is_found; ++i) {
    origin = load_origin(run->cells.items[i].spec.variant);
    is_found = origin != NULL && strcmp(origin, given) == 0;
  }
  return is_found;
}

/* A kernel that was loaded and is never measured would look like one that passes. */
static struct status require_loaded(const struct run *run) {
  const struct options *o = run->options;
  /* Cells picked one by one, as a gate picks suspects, need not hold one of each object. */
  if (o->only.count > 0) return status_ok();
  for (size_t i = 0; i < o->load.count; ++i) {
    if (!is_measured(run, o->load.item[i]))
      return status_make(
          STATUS_USAGE,
          "--load %s: none of its variants is selected; name one with --variants (loaded: all that are "
          "loaded), or leave this --load out",
          o->load.item[i]);
  }
  return status_ok();
}

static struct status select_cells(struct run *run, enum device_kind kind, const struct device_info *gpu) {
  const struct options *o = run->options;
  cells_free(&run->cells);
  TRY(cells_select(&run->sweep, o->variants, o->filter.item, o->filter.count, kind, gpu, &run->cells));
  return cells_keep_only(&run->cells, o->only.item, o->only.count);
}

/* ---- the journal --------------------------------------------------------------------------------------------- */

/* A card that the journal would not be read back with is refused before it is written. */
static struct status write_card(struct run *run, const struct device_line *card) {
  if (cards_find(&run->earlier, card->info.uuid) < run->earlier.card_count) return status_ok();
  const struct status added = cards_add(&run->earlier, card);
  if (status_failed(&added)) return status_make(STATUS_NOT_COMPARABLE, "--devices: %s", added.text);
  return journal_device(run->journal, card);
}

/* The lines of the devices, those that are not there yet. */
static struct status write_devices(struct run *run) {
  const struct journal_data *earlier = &run->earlier;
  const bool plans = device_of(run)->kind == DEVICE_CPU && !earlier->has_planned_device;
  for (size_t i = 0; run->fleet != NULL && i < fleet_count(run->fleet); ++i)
    TRY(write_card(run, &fleet_hello(run->fleet, i)->device));
  if (run->fleet == NULL && !earlier->has_device) TRY(journal_device(run->journal, &hello_of(run)->device));
  return plans ? journal_planned_device(run->journal, &run->planned->info) : status_ok();
}

/* Where the lines of the cells do not say it: what all the cells of the run are. */
static struct status write_selection(struct run *run) {
  const bool is_apart =
      run->fleet != NULL || run->options->shard_value.count > 0 || schedule_order_name(run->options)[0] != '\0';
  const bool is_needed = is_apart && run->earlier.selection.count == 0;
  return is_needed ? journal_selection(run->journal, &run->selection) : status_ok();
}

bool run_is_pending(const struct run *run, size_t i, uint32_t round) {
  return run->cell[i].done <= round && (round == 0 || run->cell[i].is_timed);
}

bool run_has_pending(const struct run *run, uint32_t round) {
  for (size_t i = 0; i < run->cells.count; ++i) {
    if (run_is_pending(run, i, round)) return true;
  }
  return false;
}

/* Of a cell that was not measured yet it is not known whether it will be timed. */
size_t run_count_pending(const struct run *run) {
  size_t count = 0;
  for (uint32_t round = 0; round < run->options->rounds.value; ++round) {
    for (size_t i = 0; i < run->cells.count; ++i) count += run_is_pending(run, i, round) || run->cell[i].done == 0;
  }
  return count;
}

/* A run that came to its end is only reported again. */
static struct status continue_journal(struct run *run, const struct run_info *info, const char *differs) {
  struct journal_resumed resumed = {.cell_count = 0};
  TRY(resume_mark(&run->earlier, &run->cells, run->cell));
  resumed.cell_count = resume_count(&run->earlier, &run->cells, run->cell);
  if (differs[0] == '\0') TRY(resume_check_count(run->file.path, &run->earlier, resumed.cell_count));
  if (run_count_pending(run) == 0 && strcmp(run->earlier.state, "complete") == 0) {
    journal_close(run->journal);
    run->journal = NULL;
    return status_ok();
  }
  memcpy(resumed.started_utc, info->started_utc, sizeof resumed.started_utc);
  memcpy(resumed.command, info->command, sizeof resumed.command);
  memcpy(resumed.differs, differs, sizeof resumed.differs);
  run->start_s -= resume_spent_s(&run->earlier);
  TRY(journal_append_resumed(run->journal, &resumed));
  TRY(write_selection(run));
  return write_devices(run);
}

static void find_sentinel(struct run *run) {
  const struct sentinel *earlier = &run->earlier.run.sentinel;
  for (size_t i = 0; i < run->cells.count && earlier->known; ++i) {
    const struct cell *cell = &run->cells.items[i];
    if (strcmp(cell->attn_case->key, earlier->key) == 0 && strcmp(cell->spec.text, earlier->variant) == 0)
      run->sentinel = cell;
  }
}

/* The device that goes on: of cards one that measured before, which stands for the one that the run began with. */
static void describe_device(const struct run *run, struct journal_data *out) {
  const struct journal_data *earlier = &run->earlier;
  const struct worker_hello *hello = hello_of(run);
  bool is_known = false;
  for (size_t i = 0; run->fleet != NULL && i < fleet_count(run->fleet) && !is_known; ++i) {
    is_known = cards_find(earlier, fleet_hello(run->fleet, i)->device.info.uuid) < earlier->card_count;
    if (is_known) hello = fleet_hello(run->fleet, i);
  }
  out->has_device = true;
  out->device = hello->device.info;
  out->policy = hello->device.policy;
  if (is_known) memcpy(out->device.uuid, earlier->device.uuid, sizeof out->device.uuid);
}

static struct status resume_journal(struct run *run, const struct run_info *info, bool *is_there) {
  char differs[RECORD_DIFFERS_MAX];
  const bool is_anyway = strcmp(run->options->resume, "anyway") == 0;
  TRY(journal_resume(run->file.path, &run->journal, &run->earlier));
  *is_there = run->journal != NULL;
  if (!*is_there) return status_ok();
  struct journal_data now = {.run = *info};
  describe_device(run, &now);
  TRY(resume_check(run->file.path, &run->earlier, &now, is_anyway, differs));
  find_sentinel(run);
  TRY(continue_journal(run, info, differs));
  journal_free(&run->earlier); /* it may be large, and only its cells' marks are needed from now on */
  return status_ok();
}

static struct status create_journal(struct run *run, const struct run_info *info) {
  TRY(journal_create(run->file.path, info, &run->journal));
  TRY(write_selection(run));
  return write_devices(run);
}

struct status run_open_journal(struct run *run) {
  struct run_info info;
  bool is_there = false;
  describe_run(run->options, run->invocation, &run->sweep, run->cells.count, &info);
  snprintf(info.profiled, sizeof info.profiled, "%s", hello_of(run)->profiled);
  if (device_of(run)->kind == DEVICE_CPU)
    snprintf(info.planned_gpu, sizeof info.planned_gpu, "%s", run->planned->name);
  TRY(resume_describe(run->options, &run->selection, run->reference.text, &info.setup));
  TRY(owned_array(&run->cell, run->cells.count, sizeof *run->cell, "cells"));
  if (run->options->resume != NULL) TRY(resume_journal(run, &info, &is_there));
  if (run->options->resume != NULL && !is_there && !run->options->quiet)
    text_say(stderr, "--resume: nothing is measured in %s yet; this run begins it", run->file.path);
  return is_there ? status_ok() : create_journal(run, &info);
}

static struct status check_commit(const char *commit) {
  static const char digits[] = "0123456789abcdef";
  static const char others[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-._";
  if (commit == NULL) return status_ok();
  if (strspn(commit, digits) >= 7 && commit[strspn(commit, others)] == '\0' && strlen(commit) <= 64)
    return status_ok();
  return status_make(STATUS_USAGE,
                     "--commit %.80s: give a commit's hash of 7 to 64 characters, such as "
                     "\"$(git -C FOLDER rev-parse HEAD)\"",
                     commit);
}

struct status run_prepare(const struct options *options, const struct invocation *invocation, struct run *out) {
  *out = (struct run){.options = options, .invocation = invocation, .start_s = clock_now_s()};
  TRY(check_commit(options->commit));
  TRY(planned_gpu(options->gpu, &out->planned));
  TRY(inject_parse(options->inject, &out->inject));
  TRY(load_stand_ins(options->load.item, options->load.count));
  return sweep_source_load(options, &out->sweep);
}

/* Said before the first cell, which waits for it. */
static void tell_of_compiling(const struct options *options, const struct device_info *device) {
  char note[MACHINE_CODE_NOTE_MAX];
  if (!options->quiet && machine_code_is_missing(device_build_archs(), device, note)) text_say(stderr, "%s", note);
}

struct status run_open(struct run *run) {
  const struct options *o = run->options;
  /* Selected once for its errors, before a device is opened; what a sweep without variants means depends on the
   * device. */
  TRY(select_cells(run, DEVICE_CPU, NULL));
  TRY(parse_reference(o->reference, &run->reference));
  TRY(time_mode_parse_list(o->modes, run->modes));
  TRY(open_device(o, run));
  TRY(choose_reference(run));
  const struct device_info *device = device_of(run);
  tell_of_compiling(o, device);
  return select_cells(run, device->kind, device->kind == DEVICE_CUDA ? device : &run->planned->info);
}

struct status run_begin(struct run *run) {
  const struct options *o = run->options;
  TRY(require_injected(run));
  TRY(require_loaded(run));
  TRY(gate_options_check(o, &run->cells));
  TRY(selection_of(&run->cells, &run->selection));
  if (o->shard_value.count > 0) TRY(selection_keep_shard(&run->selection, &o->shard_value, &run->cells));
  TRY(schedule_order(o, &run->cells));
  run->budget_end_s = clock_now_s() + o->time_budget.value;
  run->is_fresh = true;
  run->file = journal_file_choose(o);
  return run_open_journal(run);
}

void run_close(struct run *run) {
  journal_close(run->journal);
  supervise_close(run->supervisor);
  fleet_close(run->fleet);
  journal_free(&run->earlier);
  free(run->cell);
  selection_free(&run->selection);
  cells_free(&run->cells);
  sweep_free(&run->sweep);
}

/* ---- rounds -------------------------------------------------------------------------------------------------- */

struct cell_request run_request(const struct run *run, const struct cell *cell, bool again) {
  struct cell_request request = {
      .attn_case = *cell->attn_case,
      .spec = cell->spec,
      .reference = run->reference,
      .seed = run->options->seed.value,
      .check_only = run->options->check_only,
      .quick = run->options->quick,
      .samples = run->options->samples,
      .again = again,
      .inject_percent = inject_percent(&run->inject, cell->attn_case->key, cell->spec.text)};
  memcpy(request.modes, run->modes, sizeof request.modes);
  snprintf(request.sweep_name, sizeof request.sweep_name, "%s", run->sweep.name);
  return request;
}

/* ---- between cells --------------------------------------------------------------------------------------------- */

static struct status write_sentinel(struct run *run, const struct record *record) {
  struct sentinel_line line;
  memset(&line, 0, sizeof line);
  memcpy(line.key, record->attn_case.key, sizeof line.key);
  memcpy(line.variant, record->variant, sizeof line.variant);
  for (size_t i = 0; i < TIME_MODE_COUNT; ++i)
    line.us[i] = record->time[i].done ? record->time[i].us.median : (double)NAN;
  run->since_sentinel = 0;
  return journal_sentinel(run->journal, &line);
}

/* The first cell that is timed becomes the sentinel; of a run that goes on it stays the same. */
static struct status tend_sentinel(struct run *run, const struct cell *cell, const struct record *record) {
  struct record again;
  if (run->options->sentinel.value == 0) return status_ok();
  if (run->sentinel == NULL) {
    if (!record_is_timed(record)) return status_ok();
    run->sentinel = cell;
    return write_sentinel(run, record);
  }
  if (run->since_sentinel < run->options->sentinel.value) return status_ok();
  const struct cell_request request = run_request(run, run->sentinel, true);
  TRY(supervise_cell(run->supervisor, &request, &again));
  return write_sentinel(run, &again);
}

double run_rest_s(const struct run *run, const struct record *record) {
  const uint64_t reasons = record->time[TIME_COLD].throttle_reasons | record->time[TIME_HOT].throttle_reasons;
  const double cool_down_s = run->options->cool_down.value;
  return (reasons & THROTTLE_PROTECTING) != 0 && cool_down_s > 0 ? cool_down_s : 0;
}

static struct status cool_down(const struct run *run, const struct record *record) {
  const struct timespec step = {.tv_nsec = 50 * 1000 * 1000};
  const double until_s = clock_now_s() + run_rest_s(run, record);
  while (clock_now_s() < until_s) {
    TRY(signals_check());
    nanosleep(&step, NULL);
  }
  return status_ok();
}

static struct status look_after_device(struct run *run, const struct cell *cell, const struct record *record) {
  TRY(cool_down(run, record));
  return tend_sentinel(run, cell, record);
}

/* ---- cells --------------------------------------------------------------------------------------------------- */

bool run_is_elsewhere(const struct run *run, const struct cell *cell) {
  return device_of(run)->kind == DEVICE_CPU && !variant_runs_on(cell->spec.variant, DEVICE_CPU);
}

/* A cell that does not take the shape is skipped in any case. */
bool run_leaves_out(const struct run *run, const struct schedule *schedule, const struct cell *cell,
                    struct record *out) {
  const double left_s = run->budget_end_s - clock_now_s();
  if (isnan(left_s) || schedule_has_room(schedule, cell, run->options->rounds.value, left_s)) return false;
  plan_record(cell->attn_case, &cell->spec, device_of(run), out);
  if (out->status != CELL_skipped) schedule_leave_out(schedule, run->options, cell, out);
  return true;
}

static struct status measure_cell(struct run *run, const struct cell *cell, bool again, struct record *out) {
  const double begun_s = clock_now_s();
  const struct cell_request request = run_request(run, cell, again);
  TRY(supervise_cell(run->supervisor, &request, out));
  if (!again) schedule_learn(&run->schedule, cell, clock_now_s() - begun_s, out);
  ++run->since_sentinel;
  return status_ok();
}

struct status run_settle(struct run *run, size_t index, uint32_t round, const struct record *record) {
  struct resume_cell *cell = &run->cell[index];
  cell->done = round + 1;
  cell->is_timed = record_is_timed(record);
  memcpy(cell->card, record->card, sizeof cell->card);
  return round > 0 ? journal_append_round(run->journal, round, record) : journal_append(run->journal, record);
}

struct status run_cell(struct run *run, size_t index, uint32_t round, struct record *out) {
  const struct cell *cell = &run->cells.items[index];
  if (run_is_elsewhere(run, cell)) {
    TRY(planned_cell(cell, run->planned, run->supervisor, out));
  } else if (round > 0 || !run_leaves_out(run, &run->schedule, cell, out)) {
    TRY(measure_cell(run, cell, round > 0, out));
  }
  TRY(run_settle(run, index, round, out));
  return look_after_device(run, cell, out);
}

struct status run_fresh(struct run *run) {
  if (!run->is_fresh) TRY(supervise_renew(run->supervisor));
  run->is_fresh = false;
  return status_ok();
}

struct status run_end(struct run *run, bool is_complete, struct journal_data *out) {
  if (run->journal == NULL) return journal_load(run->file.path, out);
  struct status status =
      journal_end(run->journal, is_complete ? "complete" : "interrupted", clock_now_s() - run->start_s);
  if (!status_failed(&status)) status = journal_read_back(run->journal, out);
  journal_file_close(&run->file, run->journal);
  run->journal = NULL;
  return status;
}
