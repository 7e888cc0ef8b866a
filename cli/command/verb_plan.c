/* plan: what a sweep would launch on a GPU that need not be here. */
#include "cli/command/run.h"

static void close_worker(struct supervisor **worker) { supervise_close(*worker); }

/* What is planned never touches a disk: nothing was measured that could be lost. */
static struct status plan_cells(const struct cells *cells, const struct gpu_model *gpu, struct supervisor *worker,
                                struct journal_data *out) {
  TRY(owned_array(&out->records, cells->count, sizeof *out->records, "cells"));
  for (size_t i = 0; i < cells->count; ++i) TRY(planned_cell(&cells->items[i], gpu, worker, &out->records[i]));
  out->record_count = cells->count;
  out->has_planned_device = true;
  out->planned_device = gpu->info;
  snprintf(out->run.planned_gpu, sizeof out->run.planned_gpu, "%s", gpu->name);
  snprintf(out->state, sizeof out->state, "complete");
  return status_ok();
}

struct status verb_plan(const struct options *o, const struct invocation *invocation, struct outcome *outcome) {
  const double cell_timeout_s = 30.0;
  const struct gpu_model *gpu;
  OWNED(close_worker) struct supervisor *worker = NULL; /* plans loaded variants, and needs no GPU for it */
  OWNED(sweep_free) struct sweep sweep = {.case_count = 0};
  OWNED(cells_free) struct cells cells = {.count = 0};
  OWNED(journal_free) struct journal_data data = {.records = NULL};
  TRY(planned_gpu(o->gpu, &gpu));
  TRY(load_stand_ins(o->load.item, o->load.count));
  if (o->load.count > 0) TRY(supervise_open("cpu", cell_timeout_s, &worker));
  TRY(sweep_source_load(o, &sweep));
  TRY(outputs_probe(o));
  TRY(cells_select(&sweep, o->variants, o->filter.item, o->filter.count, DEVICE_CUDA, &gpu->info, &cells));
  describe_run(o, invocation, &sweep, cells.count, &data.run);
  TRY(plan_cells(&cells, gpu, worker, &data));
  return outputs_write(o, &data, outcome);
}
