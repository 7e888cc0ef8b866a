/* Loads the sweep that the options name. */
#include "cli/command/sweep_source.h"

#include "cli/sweep/shape_spec.h"
#include "cli/sweep/shipped.h"

struct status sweep_source_load(const struct options *options, struct sweep *out) {
  *out = (struct sweep){.case_count = 0};
  if (options->shape.count > 0) return shape_spec_sweep(options->shape.item, options->shape.count, out);
  TRY(shipped_check(options->sweep));
  return sweep_load(options->sweep, out);
}
