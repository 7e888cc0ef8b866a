/* Plans cells for a known GPU by name. */
#include "cli/command/run.h"

#include <stdio.h>

struct status planned_gpu(const char *name, const struct gpu_model **out) {
  const char *names[32] = {0};
  *out = gpu_model_find(name);
  if (*out != NULL) return status_ok();
  for (size_t i = 0; i < gpu_model_count() && i < 31; ++i) names[i] = gpu_model_at(i)->name;
  const char *nearest = json_nearest(name, names);
  return status_make(STATUS_USAGE, "--gpu: \"%s\" is not a known GPU%s%s%s; give %s", name,
                     nearest != NULL ? " (did you mean " : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "?)" : "", gpu_model_names());
}

struct status planned_cell(const struct cell *cell, const struct gpu_model *gpu, struct supervisor *worker,
                           struct record *out) {
  if (!variant_is_stand_in(cell->spec.variant)) {
    plan_record(cell->attn_case, &cell->spec, &gpu->info, out);
    return status_ok();
  }
  struct cell_request request = {.attn_case = *cell->attn_case, .spec = cell->spec};
  snprintf(request.plan_gpu, sizeof request.plan_gpu, "%s", gpu->name);
  return supervise_cell(worker, &request, out);
}
