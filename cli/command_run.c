#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cells.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/progress.h"
#include "cli/supervise.h"

/* One measuring run, from open worker to complete journal. */
struct run {
  const struct options *options;
  const struct sweep *sweep;
  struct cells cells;
  struct supervisor *supervisor;
  const struct gpu_model *planned;  /* the GPU that planned rows are for */
  char reference[VARIANT_SPEC_MAX]; /* what rows are timed against; empty: nothing */
  struct journal *journal;
  char journal_path[512];
  bool journal_kept; /* named by the user */
  double start_s;
};

/* auto: a GPU when there is one. A GPU that is there but does not open is an error, never a reason for the CPU. */
static struct status open_device(const struct options *options, struct supervisor **out) {
  if (strcmp(options->device, "auto") != 0) return supervise_open(options->device, options->timeout_s, out);
  const struct status status = supervise_open("cuda", options->timeout_s, out);
  return status.code == STATUS_NO_GPU ? supervise_open("cpu", options->timeout_s, out) : status;
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

/* Beside the first output file; in the temporary folder when there is none. */
static void choose_journal_path(struct run *run) {
  const struct options *o = run->options;
  const char *files[] = {o->json, o->csv, o->gbench};
  run->journal_kept = o->journal != NULL;
  if (run->journal_kept) {
    snprintf(run->journal_path, sizeof run->journal_path, "%s", o->journal);
    return;
  }
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    if (files[i] == NULL || strcmp(files[i], "-") == 0 || strncmp(files[i], "/dev/", 5) == 0) continue;
    snprintf(run->journal_path, sizeof run->journal_path, "%s.journal", files[i]);
    return;
  }
  const char *folder = getenv("TMPDIR");
  snprintf(run->journal_path, sizeof run->journal_path, "%s/attnbench-%ld.journal", folder != NULL ? folder : "/tmp",
           (long)getpid());
}

static struct status open_journal(struct run *run, int argc, char **argv) {
  struct run_info info;
  const bool plans = supervise_device(run->supervisor)->kind == DEVICE_CPU;
  command_describe_run(run->options, argc, argv, run->sweep, run->cells.count, &info);
  if (plans) snprintf(info.planned_gpu, sizeof info.planned_gpu, "%s", run->planned->name);
  choose_journal_path(run);
  const struct status status = journal_create(run->journal_path, &info, &run->journal);
  if (status_failed(&status)) return status;
  return journal_device(run->journal, supervise_device(run->supervisor), supervise_policy(run->supervisor),
                        supervise_event_overhead_us(run->supervisor), plans ? &run->planned->info : NULL);
}

static struct status do_cell(struct run *run, const struct cell *cell) {
  struct record record;
  struct status status = status_ok();
  if (cell->spec.variant->runs_on == DEVICE_CUDA && supervise_device(run->supervisor)->kind == DEVICE_CPU) {
    status = command_plan_cell(cell, run->planned, run->supervisor, &record);
  } else {
    struct cell_request request = {.attn_case = *cell->attn_case,
                                   .seed = run->options->seed_value,
                                   .check_only = run->options->check_only,
                                   .modes = {true, true}};
    snprintf(request.variant, sizeof request.variant, "%s", cell->spec.text);
    snprintf(request.reference, sizeof request.reference, "%s", run->reference);
    snprintf(request.sweep_name, sizeof request.sweep_name, "%s", run->sweep->name);
    status = supervise_cell(run->supervisor, &request, &record);
  }
  return status_failed(&status) ? status : journal_append(run->journal, &record);
}

static struct status do_cells(struct run *run) {
  struct progress progress = progress_start(run->cells.count);
  struct status status = status_ok();
  for (size_t i = 0; i < run->cells.count && !status_failed(&status) && supervise_interrupted() == 0; ++i) {
    progress_cell(&progress, run->cells.items[i].attn_case->key, run->cells.items[i].spec.text);
    status = do_cell(run, &run->cells.items[i]);
  }
  progress_end(&progress);
  return status;
}

static struct status end_journal(struct run *run, bool complete) {
  struct status status =
      journal_end(run->journal, complete ? "complete" : "interrupted", measure_now_s() - run->start_s);
  journal_close(run->journal);
  run->journal = NULL;
  return status;
}

/* Reports from the journal as it stands on disk, complete or not. */
static struct status report_journal(struct run *run, enum exit_code *exit_code) {
  struct journal_data data;
  struct status status = journal_load(run->journal_path, &data);
  if (status_failed(&status)) return status;
  status = command_write_outputs(run->options, &data, exit_code);
  journal_free(&data);
  return status;
}

/* The journal goes only after everything made from it is safely written. */
static void drop_journal(const struct run *run, const struct status *status) {
  if (run->journal_path[0] == '\0' || access(run->journal_path, F_OK) != 0) return;
  if (status_failed(status)) {
    fprintf(stderr, "attnbench: results so far are kept: attnbench report %s\n", run->journal_path);
  } else if (!run->journal_kept) {
    unlink(run->journal_path);
  }
}

static struct status measure_and_report(struct run *run, enum exit_code *exit_code) {
  const struct status measured = do_cells(run);
  const int signal_number = supervise_interrupted();
  supervise_close(run->supervisor);
  run->supervisor = NULL;
  struct status status = end_journal(run, !status_failed(&measured) && signal_number == 0);
  if (!status_failed(&status)) status = report_journal(run, exit_code);
  drop_journal(run, &status);
  if (status_failed(&status)) return status;
  if (signal_number != 0) {
    *exit_code = signal_number == SIGINT ? EXIT_CODE_SIGINT : EXIT_CODE_SIGTERM;
    return status_ok();
  }
  return measured;
}

static struct status select_and_open(struct run *run, int argc, char **argv) {
  const struct options *o = run->options;
  /* Selected once for its errors, before a device is opened; what a sweep without variants means depends on the
   * device. */
  struct status status =
      cells_select(run->sweep, o->variants, o->filter, o->filter_count, DEVICE_CPU, NULL, &run->cells);
  struct variant_spec reference = {.variant = NULL};
  if (!status_failed(&status)) status = parse_reference(o->reference, &reference);
  if (!status_failed(&status)) status = open_device(o, &run->supervisor);
  if (!status_failed(&status)) status = choose_reference(run, &reference);
  if (status_failed(&status)) return status;
  cells_free(&run->cells);
  const struct device_info *device = supervise_device(run->supervisor);
  const struct device_info *gpu = device->kind == DEVICE_CUDA ? device : &run->planned->info;
  status = cells_select(run->sweep, o->variants, o->filter, o->filter_count, device->kind, gpu, &run->cells);
  return status_failed(&status) ? status : open_journal(run, argc, argv);
}

struct status command_run(const struct options *options, int argc, char **argv, enum exit_code *exit_code) {
  struct sweep sweep;
  struct run run = {.options = options, .sweep = &sweep, .start_s = measure_now_s()};
  struct status status = command_gpu_model(options->gpu != NULL ? options->gpu : "h200", &run.planned);
  if (!status_failed(&status)) status = load_objects(options->load, options->load_count);
  if (!status_failed(&status)) status = sweep_load(options->sweep, &sweep);
  if (status_failed(&status)) return status;
  status = command_probe_outputs(options);
  if (!status_failed(&status)) status = select_and_open(&run, argc, argv);
  if (!status_failed(&status)) status = measure_and_report(&run, exit_code);
  journal_close(run.journal);
  supervise_close(run.supervisor);
  cells_free(&run.cells);
  sweep_free(&sweep);
  return status;
}
