/* The cells of a run: the sweep's cases that the filters keep, times the variants that are asked for. */
#ifndef ATTNBENCH_CLI_SWEEP_CELLS_H
#define ATTNBENCH_CLI_SWEEP_CELLS_H

#include "cli/sweep/sweep.h"

struct cell {
  const struct attn_case *attn_case; /* in the sweep */
  struct variant_spec spec;
};

struct cells {
  struct cell *items; /* case by case, all variants of a case next to each other */
  size_t count;
};

/* variants: the text of --variants ("a,b:key=value,key=value", or groups). NULL takes what was loaded beside the
 * vendor's library, unless the sweep names a loaded variant; else the sweep's list; and when there is neither the
 * group "all". gpu: the GPU that runs or is planned for; of variants that nobody named one by one, those that take
 * none of the selected shapes on it are left out. Elsewhere a variant that does not take a shape stays, to be
 * reported as skipped. NULL: not known yet, all stay. filters: what filter_parse reads. An empty selection is an
 * error. The sweep must outlive *out; free with cells_free. */
struct status cells_select(const struct sweep *, const char *variants, const char *const *filters,
                           size_t filter_count, enum device_kind kind, const struct device_info *gpu,
                           struct cells *out);
void cells_free(struct cells *);

/* Keeps the cells that are named, "KEY/VARIANT" or "KEY" for all of a case, in the order they have; none named keeps
 * all. STATUS_USAGE when a name is no cell. */
struct status cells_keep_only(struct cells *, const char *const *only, size_t only_count);

#endif
