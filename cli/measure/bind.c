/* Binds a planned cell to memory on the device. */
#include "cli/measure/bind.h"

#include "cli/record/plan.h"

bool bind_library_missing(const struct variant_spec *spec, struct record *record) {
  const struct attn_vendor *vendor = spec->variant->vendor;
  const char *why = vendor != NULL ? vendor->missing() : NULL;
  if (why != NULL) plan_outcome(record, CELL_skipped, why);
  return why != NULL;
}

struct status bind_cell(struct device *device, struct problem *problem, const struct variant_spec *spec,
                        struct record *record) {
  struct pass_facts facts[ATTN_PASSES_MAX] = {0};
  device_range_push(device, "bind");
  const struct status status = problem_bind(problem, spec->variant, &record->plan, facts);
  device_range_pop(device);
  if (spec->variant->vendor != NULL && !status_failed(&status)) plan_passes(device_info(device), record);
  for (uint32_t i = 0; i < record->plan.pass_count && !status_failed(&status); ++i) record->pass[i].facts = facts[i];
  return status;
}

struct status bind_settle(const struct status *status, struct record *record) {
  const bool refused = status->code == STATUS_UNSUPPORTED;
  if (status_failed(status)) plan_outcome(record, refused ? CELL_skipped : CELL_error, status->text);
  return refused ? status_ok() : *status;
}
