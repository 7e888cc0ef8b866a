/* plan: what a sweep would launch on a GPU that need not be here. */
#include <stdlib.h>

#include "cli/command/commands.h"
#include "cli/command/outputs.h"
#include "cli/command/planned.h"
#include "cli/command/sweep_source.h"
#include "cli/measure/load.h"

struct planning {
  const struct options *options;
  const struct gpu_model *gpu;
  struct sweep sweep;
  struct cells cells;
  struct supervisor *worker; /* plans loaded variants; NULL when there are none */
  struct journal_data data;  /* never touches a disk: nothing was measured that could be lost */
};

/* Loaded variants are planned by a worker, which needs no GPU for it. */
static struct status open_planner(const struct options *options, struct supervisor **out) {
  const double cell_timeout_s = 30.0;
  TRY(load_stand_ins(options->load.item, options->load.count));
  return options->load.count > 0 ? supervise_open("cpu", cell_timeout_s, out) : status_ok();
}

static struct status plan_cells(struct planning *p) {
  struct journal_data *out = &p->data;
  out->records = malloc(p->cells.count * sizeof *out->records);
  if (out->records == NULL) return status_make(STATUS_MEMORY, "no memory for %zu cells", p->cells.count);
  for (size_t i = 0; i < p->cells.count; ++i) {
    TRY(planned_cell(&p->cells.items[i], p->gpu, p->worker, &out->records[i]));
  }
  out->record_count = p->cells.count;
  out->has_planned_device = true;
  out->planned_device = p->gpu->info;
  snprintf(out->run.planned_gpu, sizeof out->run.planned_gpu, "%s", p->gpu->name);
  snprintf(out->state, sizeof out->state, "complete");
  return status_ok();
}

static struct status plan(struct planning *p, const struct invocation *invocation, struct outcome *outcome) {
  const struct options *o = p->options;
  TRY(open_planner(o, &p->worker));
  TRY(sweep_source_load(o, &p->sweep));
  TRY(outputs_probe(o));
  TRY(cells_select(&p->sweep, o->variants, o->filter.item, o->filter.count, DEVICE_CUDA, &p->gpu->info, &p->cells));
  describe_run(o, invocation, &p->sweep, p->cells.count, &p->data.run);
  TRY(plan_cells(p));
  return outputs_write(o, &p->data, outcome);
}

struct status verb_plan(const struct options *options, const struct invocation *invocation, struct outcome *outcome) {
  struct planning p = {.options = options};
  TRY(planned_gpu(options->gpu, &p.gpu));
  const struct status status = plan(&p, invocation, outcome);
  supervise_close(p.worker);
  free(p.data.records);
  cells_free(&p.cells);
  sweep_free(&p.sweep);
  return status;
}
