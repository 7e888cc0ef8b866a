/* Plans cells for a GPU model without measuring them. */
#pragma once

#include "cli/measure/supervise.h"
#include "cli/sweep/cells.h"
#include "kernels/gpu_models.h"

/* The GPU model that --gpu names; STATUS_USAGE when attnbench does not know it. */
struct status planned_gpu(const char *name, const struct gpu_model **out);
/* Makes the record of a planned cell. `worker`, on any device, plans variants from shared objects, whose code does
 * not run in this process; NULL when no object was loaded. */
struct status planned_cell(const struct cell *, const struct gpu_model *, struct supervisor *worker,
                           struct record *out);
