/* Cells that are only planned, for a GPU that is not here. */
#ifndef ATTNBENCH_CLI_COMMAND_PLANNED_H
#define ATTNBENCH_CLI_COMMAND_PLANNED_H

#include "cli/measure/supervise.h"
#include "cli/sweep/cells.h"
#include "kernels/gpu_models.h"

/* The GPU that --gpu names. */
struct status planned_gpu(const char *name, const struct gpu_model **out);
/* worker: of whatever device, for loaded variants, whose code does not run in this process; NULL when nothing was
 * loaded. */
struct status planned_cell(const struct cell *, const struct gpu_model *, struct supervisor *worker,
                           struct record *out);

#endif
