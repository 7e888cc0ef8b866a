/* Binds a planned cell to memory on the device. */
#include "cli/measure/measure.h"

bool bind_library_missing(const struct variant_spec *spec, struct record *record) {
  const struct attn_vendor *vendor = spec->variant->vendor;
  const char *why = vendor != NULL ? vendor->missing() : NULL;
  if (why != NULL) plan_outcome(record, CELL_skipped, "%s", why);
  return why != NULL;
}

struct status bind_cell(struct device *device, struct bench *bench, const struct variant_spec *spec,
                        struct record *record) {
  struct pass_facts facts[ATTN_PASSES_MAX] = {0};
  MEASURE_RANGE(device, "bind");
  TRY(bench_bind(bench, spec->variant, &record->plan, facts));
  if (spec->variant->vendor != NULL) plan_passes(device_info(device), record);
  snprintf(record->uncaptured, sizeof record->uncaptured, "%s", bench_uncaptured(bench));
  for (uint32_t i = 0; i < record->plan.pass_count; ++i) record->pass[i].facts = facts[i];
  return status_ok();
}

struct status bind_settle(const struct status *status, struct record *record) {
  const bool refused = status->code == STATUS_UNSUPPORTED;
  if (status_failed(status)) plan_outcome(record, refused ? CELL_skipped : CELL_error, "%s", status->text);
  return refused ? status_ok() : *status;
}
