#include <stdlib.h>

#include "cli/cells.h"
#include "cli/commands.h"
#include "cli/plan.h"

/* A plan's "journal" never touches a disk: nothing was measured that could be lost. */
static struct status plan_cells(const struct cells *cells, const struct gpu_model *gpu, struct journal_data *out) {
  out->records = malloc(cells->count * sizeof *out->records);
  if (out->records == NULL) return status_make(STATUS_MEMORY, "no memory for %zu cells", cells->count);
  for (size_t i = 0; i < cells->count; ++i) {
    plan_record(cells->items[i].attn_case, &cells->items[i].spec, &gpu->info, &out->records[i]);
  }
  out->record_count = cells->count;
  out->has_planned_device = true;
  out->planned_device = gpu->info;
  snprintf(out->run.planned_gpu, sizeof out->run.planned_gpu, "%s", gpu->name);
  snprintf(out->state, sizeof out->state, "complete");
  return status_ok();
}

struct status command_plan(const struct options *options, int argc, char **argv, enum exit_code *exit_code) {
  const struct gpu_model *gpu;
  struct sweep sweep;
  struct cells cells = {0};
  struct journal_data data = {0};
  struct status status = command_gpu_model(options->gpu, &gpu);
  if (!status_failed(&status)) status = sweep_load(options->sweep, &sweep);
  if (status_failed(&status)) return status;
  status = command_probe_outputs(options);
  if (!status_failed(&status)) {
    status = cells_select(&sweep, options->variants, options->filter, options->filter_count, DEVICE_CUDA, &cells);
  }
  if (!status_failed(&status)) {
    command_describe_run(options, argc, argv, &sweep, cells.count, &data.run);
    status = plan_cells(&cells, gpu, &data);
  }
  if (!status_failed(&status)) status = command_write_outputs(options, &data, exit_code);
  free(data.records);
  cells_free(&cells);
  sweep_free(&sweep);
  return status;
}

struct status command_report(const struct options *options, enum exit_code *exit_code) {
  struct journal_data data;
  struct status status = command_probe_outputs(options);
  if (!status_failed(&status)) status = journal_load(options->positional, &data);
  if (status_failed(&status)) return status;
  status = command_write_outputs(options, &data, exit_code);
  journal_free(&data);
  return status;
}
