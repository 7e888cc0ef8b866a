/* plan: what a sweep would launch; report: outputs again from a journal, or reports side by side. */
#include <stdlib.h>

#include "cli/base/output.h"
#include "cli/command/commands.h"
#include "cli/measure/load.h"
#include "cli/report/merge.h"
#include "cli/sweep/cells.h"

/* A plan's "journal" never touches a disk: nothing was measured that could be lost. */
static struct status plan_cells(const struct cells *cells, const struct gpu_model *gpu, struct supervisor *worker,
                                struct journal_data *out) {
  struct status status = status_ok();
  out->records = malloc(cells->count * sizeof *out->records);
  if (out->records == NULL) return status_make(STATUS_MEMORY, "no memory for %zu cells", cells->count);
  for (size_t i = 0; i < cells->count && !status_failed(&status); ++i) {
    status = command_plan_cell(&cells->items[i], gpu, worker, &out->records[i]);
  }
  out->record_count = cells->count;
  out->has_planned_device = true;
  out->planned_device = gpu->info;
  snprintf(out->run.planned_gpu, sizeof out->run.planned_gpu, "%s", gpu->name);
  snprintf(out->state, sizeof out->state, "complete");
  return status;
}

/* Loaded variants are planned by a worker, which needs no GPU for it. */
static struct status open_planner(const struct options *options, struct supervisor **out) {
  const double cell_timeout_s = 30.0;
  const struct status status = load_objects(options->load.item, options->load.count);
  if (status_failed(&status) || options->load.count == 0) return status;
  return supervise_open("cpu", cell_timeout_s, out);
}

struct status verb_plan(const struct options *options, int argc, char **argv, enum exit_code *exit_code) {
  const struct gpu_model *gpu;
  struct sweep sweep;
  struct cells cells = {0};
  struct journal_data data = {0};
  struct supervisor *worker = NULL;
  struct status status = command_gpu_model(options->gpu, &gpu);
  if (!status_failed(&status)) status = open_planner(options, &worker);
  if (!status_failed(&status)) status = sweep_load(options->sweep, &sweep);
  if (status_failed(&status)) {
    supervise_close(worker);
    return status;
  }
  status = command_probe_outputs(options);
  if (!status_failed(&status)) {
    status = cells_select(&sweep, options->variants, options->filter.item, options->filter.count, DEVICE_CUDA,
                          &gpu->info, &cells);
  }
  if (!status_failed(&status)) {
    command_describe_run(options, argc, argv, &sweep, cells.count, &data.run);
    status = plan_cells(&cells, gpu, worker, &data);
  }
  if (!status_failed(&status)) status = command_write_outputs(options, &data, exit_code);
  supervise_close(worker);
  free(data.records);
  cells_free(&cells);
  sweep_free(&sweep);
  return status;
}

/* Saved reports, or several of anything: a table of them side by side. */
static struct status show_merged(const struct options *options, enum exit_code *exit_code) {
  struct merge merge;
  struct output output;
  if (options->json != NULL || options->csv != NULL || options->gbench != NULL) {
    return status_make(STATUS_USAGE,
                       "--json, --csv and --gbench are written from one journal, by diagnose from one saved report; "
                       "here saved reports are shown as a table");
  }
  struct status status = merge_load(options->reports.item, options->reports.count, options->across_devices, &merge);
  if (status_failed(&status)) return status;
  status = output_open("-", &output);
  if (!status_failed(&status)) status = output_end(&output, merge_text_write(&merge, output.stream));
  *exit_code = merge.exit_code;
  merge_free(&merge);
  return status;
}

struct status verb_report(const struct options *options, enum exit_code *exit_code) {
  struct journal_data data;
  if (options->counters != NULL) return verb_counters(options, exit_code);
  if (options->reports.count > 1 || merge_is_report(options->reports.item[0])) return show_merged(options, exit_code);
  struct status status = command_probe_outputs(options);
  if (!status_failed(&status)) status = journal_load(options->reports.item[0], &data);
  if (status_failed(&status)) return status;
  status = command_write_outputs(options, &data, exit_code);
  journal_free(&data);
  return status;
}
