/* run: measures the cells of a sweep in one or several fresh processes, and reports. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/signals.h"
#include "cli/command/progress.h"
#include "cli/command/verb_run.h"
#include "cli/gate/identity.h"
#include "cli/measure/load.h"

/* auto: a GPU when there is one. A GPU that is there but does not open is an error, never a reason for the CPU. */
static struct status open_device(const struct options *options, struct supervisor **out) {
  if (strcmp(options->device, "auto") != 0) return supervise_open(options->device, options->timeout.value, out);
  const struct status status = supervise_open("cuda", options->timeout.value, out);
  return status.code == STATUS_NO_GPU ? supervise_open("cpu", options->timeout.value, out) : status;
}

/* The first vendor's library that runs on the device; "" when there is none. */
static const char *default_reference(enum device_kind kind) {
  for (size_t i = 0; i < variant_count(); ++i) {
    const struct attn_variant *variant = variant_at(i);
    if (variant->vendor != NULL && variant->runs_on == kind) return variant->name;
  }
  return "";
}

static const char no_reference[] = "none";

/* Before a device is opened, so that a misspelled name costs nothing. */
static struct status parse_reference(const char *text, struct variant_spec *spec) {
  if (text == NULL || strcmp(text, no_reference) == 0) return status_ok();
  return variant_spec_parse(text, "--reference", STATUS_USAGE, spec);
}

static struct status choose_reference(struct run *run, const struct variant_spec *spec) {
  const char *text = run->options->reference;
  const struct device_info *device = supervise_device(run->supervisor);
  if (text == NULL) {
    snprintf(run->reference, sizeof run->reference, "%s", default_reference(device->kind));
  } else if (spec->variant != NULL && spec->variant->runs_on != device->kind) {
    return status_make(STATUS_USAGE, "--reference: %s does not run on this run's device, %s; choose another or none",
                       spec->text, device->name);
  } else if (spec->variant != NULL) {
    snprintf(run->reference, sizeof run->reference, "%s", spec->text);
  }
  return status_ok();
}

static struct status open_journal(struct run *run) {
  struct run_info info;
  const struct supervisor *worker = run->supervisor;
  const bool plans = supervise_device(worker)->kind == DEVICE_CPU;
  command_describe_run(run->options, run->argc, run->argv, run->sweep, run->cells.count, &info);
  snprintf(info.profiled, sizeof info.profiled, "%s", supervise_profiled(worker));
  if (plans) snprintf(info.planned_gpu, sizeof info.planned_gpu, "%s", run->planned->name);
  const struct status status = journal_create(run->file.path, &info, &run->journal);
  if (status_failed(&status)) return status;
  return journal_device(run->journal, supervise_device(worker), supervise_policy(worker),
                        supervise_event_overhead_us(worker), plans ? &run->planned->info : NULL);
}

/* ---- rounds -------------------------------------------------------------------------------------------------- */

static struct cell_request request_of(const struct run *run, const struct cell *cell, bool again) {
  struct cell_request request = {
      .attn_case = *cell->attn_case,
      .seed = run->options->seed.value,
      .check_only = run->options->check_only,
      .quick = run->options->quick,
      .again = again,
      .inject_percent = inject_percent(&run->inject, cell->attn_case->key, cell->spec.text)};
  memcpy(request.modes, run->modes, sizeof request.modes);
  snprintf(request.variant, sizeof request.variant, "%s", cell->spec.text);
  snprintf(request.reference, sizeof request.reference, "%s", run->reference);
  snprintf(request.sweep_name, sizeof request.sweep_name, "%s", run->sweep->name);
  return request;
}

static bool is_timed(const struct record *record) {
  return record->status == CELL_ok && (record->time[TIME_COLD].done || record->time[TIME_HOT].done);
}

static struct status do_cell(struct run *run, size_t index) {
  const struct cell *cell = &run->cells.items[index];
  struct record record;
  struct status status = status_ok();
  if (cell->spec.variant->runs_on == DEVICE_CUDA && supervise_device(run->supervisor)->kind == DEVICE_CPU) {
    status = command_plan_cell(cell, run->planned, run->supervisor, &record);
  } else {
    const struct cell_request request = request_of(run, cell, false);
    status = supervise_cell(run->supervisor, &request, &record);
  }
  if (status_failed(&status)) return status;
  run->timed[index] = is_timed(&record);
  return journal_append(run->journal, &record);
}

static struct status do_cell_again(struct run *run, size_t index, uint32_t round) {
  struct record record;
  if (!run->timed[index]) return status_ok();
  const struct cell_request request = request_of(run, &run->cells.items[index], true);
  const struct status status = supervise_cell(run->supervisor, &request, &record);
  if (status_failed(&status)) return status;
  run->timed[index] = is_timed(&record);
  return journal_append_round(run->journal, round, &record);
}

static struct status do_round(struct run *run, uint32_t round, struct progress *progress) {
  struct status status = round > 0 ? supervise_renew(run->supervisor) : status_ok();
  for (size_t i = 0; i < run->cells.count && !status_failed(&status) && signals_received() == 0; ++i) {
    progress_cell(progress, run->cells.items[i].attn_case->key, run->cells.items[i].spec.text);
    status = round > 0 ? do_cell_again(run, i, round) : do_cell(run, i);
  }
  return status;
}

static struct status do_rounds(struct run *run) {
  struct progress progress = progress_start(run->cells.count * run->options->rounds.value);
  struct status status = status_ok();
  run->timed = calloc(run->cells.count, sizeof *run->timed);
  if (run->timed == NULL) return status_make(STATUS_MEMORY, "no memory for %zu cells", run->cells.count);
  for (uint32_t i = 0; i < run->options->rounds.value && !status_failed(&status) && signals_received() == 0; ++i)
    status = do_round(run, i, &progress);
  progress_end(&progress);
  free(run->timed);
  run->timed = NULL;
  return status;
}

static struct status end_journal(struct run *run, bool complete) {
  struct status status =
      journal_end(run->journal, complete ? "complete" : "interrupted", clock_now_s() - run->start_s);
  journal_close(run->journal);
  run->journal = NULL;
  return status;
}

struct status run_take(struct run *run, struct journal_data *out, struct status *measured) {
  *measured = do_rounds(run);
  const struct status status = end_journal(run, !status_failed(measured) && signals_received() == 0);
  return status_failed(&status) ? status : journal_load(run->file.path, out);
}

struct status run_take_again(struct run *run, const char *const *only, size_t only_count, struct journal_data *out) {
  struct run second = *run;
  struct status measured;
  second.start_s = clock_now_s();
  snprintf(second.file.path, sizeof second.file.path, "%s.confirm", run->file.path);
  second.cells.items = malloc(run->cells.count * sizeof *second.cells.items);
  if (second.cells.items == NULL) return status_make(STATUS_MEMORY, "no memory for %zu cells", run->cells.count);
  memcpy(second.cells.items, run->cells.items, run->cells.count * sizeof *second.cells.items);
  struct status status = cells_keep_only(&second.cells, only, only_count);
  if (!status_failed(&status)) status = supervise_renew(run->supervisor);
  if (!status_failed(&status)) status = open_journal(&second);
  if (!status_failed(&status)) status = run_take(&second, out, &measured);
  if (!status_failed(&status) && (status_failed(&measured) || signals_received() != 0)) {
    journal_free(out);
    status = status_failed(&measured) ? measured : status_make(STATUS_INTERNAL, "interrupted");
  }
  journal_close(second.journal);
  if (!run->file.kept) unlink(second.file.path);
  cells_free(&second.cells);
  return status;
}

/* ---- from sweep to exit code --------------------------------------------------------------------------------- */

/* Reports from the journal as it stands on disk, complete or not. A run with a baseline says how it compares; its own
 * reports are written where they were asked for. */
static struct status report_run(struct run *run, const struct journal_data *base, bool is_whole,
                                const struct journal_data *data, enum exit_code *exit_code) {
  const struct options *o = run->options;
  if (base == NULL || !is_whole) return command_write_outputs(o, data, exit_code);
  struct status status = status_ok();
  if (o->json != NULL || o->csv != NULL || o->gbench != NULL) status = command_write_outputs(o, data, exit_code);
  const struct status judged = command_baseline(run, base, data, exit_code);
  return status_failed(&status) ? status : judged;
}

static struct status measure_and_report(struct run *run, const struct journal_data *base, enum exit_code *exit_code) {
  struct journal_data data;
  struct status measured, status = run_take(run, &data, &measured);
  if (!status_failed(&status)) {
    const bool is_whole = !status_failed(&measured) && signals_received() == 0;
    status = report_run(run, base, is_whole, &data, exit_code);
    journal_free(&data);
  }
  const int signal_number = signals_received();
  command_drop_journal(&run->file, &status);
  if (signal_number != 0 && status.code == STATUS_INTERNAL) status = status_ok(); /* the signal is the reason */
  if (status_failed(&status)) return status;
  if (signal_number != 0) {
    *exit_code = command_signal_exit_code(signal_number);
    return status_ok();
  }
  return measured;
}

/* A control that is nowhere put in would find nothing, and look like a gate that works. */
static struct status require_injected(const struct run *run) {
  const enum device_kind kind = supervise_device(run->supervisor)->kind;
  /* Cells picked one by one, as a gate picks suspects, need not hold the slowed one. */
  if (run->inject.glob[0] == '\0' || run->options->only.count > 0) return status_ok();
  for (size_t i = 0; i < run->cells.count; ++i) {
    const struct cell *cell = &run->cells.items[i];
    if (cell->spec.variant->runs_on == kind &&
        inject_percent(&run->inject, cell->attn_case->key, cell->spec.text) > 0)
      return status_ok();
  }
  return status_make(STATUS_USAGE,
                     "--inject-slowdown: \"%s\" matches none of the cells that are measured here; it is held against "
                     "KEY/VARIANT, the first being %s/%s",
                     run->inject.glob, run->cells.items[0].attn_case->key, run->cells.items[0].spec.text);
}

static struct status select_cells(struct run *run, enum device_kind kind, const struct device_info *gpu) {
  const struct options *o = run->options;
  cells_free(&run->cells);
  const struct status status =
      cells_select(run->sweep, o->variants, o->filter.item, o->filter.count, kind, gpu, &run->cells);
  return status_failed(&status) ? status : cells_keep_only(&run->cells, o->only.item, o->only.count);
}

static struct status select_and_open(struct run *run) {
  const struct options *o = run->options;
  /* Selected once for its errors, before a device is opened; what a sweep without variants means depends on the
   * device. */
  struct status status = select_cells(run, DEVICE_CPU, NULL);
  struct variant_spec reference = {.variant = NULL};
  if (!status_failed(&status)) status = parse_reference(o->reference, &reference);
  if (!status_failed(&status)) status = time_mode_parse_list(o->modes, run->modes);
  if (!status_failed(&status)) status = open_device(o, &run->supervisor);
  if (!status_failed(&status)) status = choose_reference(run, &reference);
  if (status_failed(&status)) return status;
  const struct device_info *device = supervise_device(run->supervisor);
  status = select_cells(run, device->kind, device->kind == DEVICE_CUDA ? device : &run->planned->info);
  if (!status_failed(&status)) status = require_injected(run);
  if (!status_failed(&status)) status = command_check_thresholds(o, &run->cells);
  run->file = command_choose_journal(run->options);
  return status_failed(&status) ? status : open_journal(run);
}

/* Before anything is measured: a baseline that cannot be read costs nothing. */
static struct status load_baseline(const char *path, struct journal_data *out) {
  if (path == NULL) return status_ok();
  const struct status status = command_load_evidence(path, out);
  return status_failed(&status) ? status : identity_check_baseline(path, out);
}

static void close_run(struct run *run) {
  journal_close(run->journal);
  supervise_close(run->supervisor);
  cells_free(&run->cells);
}

static struct status measure_only(struct run *run, struct journal_data *out, enum exit_code *exit_code) {
  struct status measured, status = run_take(run, out, &measured);
  const int signal_number = signals_received();
  const bool is_whole = !status_failed(&status) && !status_failed(&measured) && signal_number == 0;
  if (!status_failed(&status) && !is_whole) journal_free(out);
  if (!status_failed(&status) && signal_number == 0) status = measured;
  if (signal_number != 0) *exit_code = command_signal_exit_code(signal_number);
  command_drop_journal(&run->file, &status);
  return status;
}

struct status command_measure_processes(const struct options *options, int argc, char **argv,
                                        struct journal_data *out, enum exit_code *exit_code) {
  struct sweep sweep;
  struct options own = *options;
  struct run run = {.options = &own, .argc = argc, .argv = argv, .sweep = &sweep, .start_s = clock_now_s()};
  own.rounds.value = options->processes.value;
  own.quick = true;
  own.reference = no_reference;
  own.json = NULL;
  struct status status = command_gpu_model(own.gpu, &run.planned);
  if (!status_failed(&status)) status = load_objects(own.load.item, own.load.count);
  if (!status_failed(&status)) status = sweep_load(own.sweep, &sweep);
  if (status_failed(&status)) return status;
  status = select_and_open(&run);
  if (!status_failed(&status)) status = measure_only(&run, out, exit_code);
  close_run(&run);
  sweep_free(&sweep);
  return status;
}

struct status verb_run(const struct options *options, int argc, char **argv, enum exit_code *exit_code) {
  struct sweep sweep;
  struct journal_data base = {.records = NULL};
  struct run run = {.options = options, .argc = argc, .argv = argv, .sweep = &sweep, .start_s = clock_now_s()};
  struct status status = command_gpu_model(options->gpu, &run.planned);
  if (!status_failed(&status)) status = inject_parse(options->inject, &run.inject);
  if (!status_failed(&status)) status = load_objects(options->load.item, options->load.count);
  if (!status_failed(&status)) status = sweep_load(options->sweep, &sweep);
  if (status_failed(&status)) return status;
  status = command_probe_outputs(options);
  if (!status_failed(&status)) status = load_baseline(options->baseline, &base);
  if (!status_failed(&status)) status = select_and_open(&run);
  if (!status_failed(&status)) status = measure_and_report(&run, options->baseline != NULL ? &base : NULL, exit_code);
  close_run(&run);
  journal_free(&base);
  sweep_free(&sweep);
  return status;
}
