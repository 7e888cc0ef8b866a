/* The cells of a run: the sweep's cases that the filters keep, times the variants that are asked for. */
#pragma once

#include "cli/sweep/sweep.h"

struct cell {
  const struct attn_case *attn_case; /* in the sweep */
  struct variant_spec spec;
};

struct cells {
  struct cell *items; /* case by case, all variants of a case next to each other */
  size_t count;
};

/* Selects the cells of a run.
 *
 * variants: the text of --variants ("a,b:key=value,key=value", or groups). Without it (NULL), the variants are: the
 * loaded variants and the vendor's library, if any variant was loaded and the sweep names none of these; else the
 * sweep's list; else the group "all".
 *
 * gpu: the GPU that measures or is planned for; NULL: not known yet. A variant that was not named itself, but came
 * with a group or by default, is left out when it takes none of the selected shapes on this GPU. Every other variant
 * stays, and its cells of shapes that it does not take are reported as skipped.
 *
 * The sweep's "only" holds for its own list of variants.
 *
 * filters: texts for filter_parse. STATUS_USAGE when no cell is left. The sweep must outlive *out; free with
 * cells_free. */
struct status cells_select(const struct sweep *, const char *variants, const char *const *filters,
                           size_t filter_count, enum device_kind kind, const struct device_info *gpu,
                           struct cells *out);
void cells_free(struct cells *);

/* Keeps the named cells in their present order. A name is "KEY/VARIANT", or "KEY" for all cells of a case; without
 * names all cells stay. STATUS_USAGE when a name is of no cell. */
struct status cells_keep_only(struct cells *, const char *const *only, size_t only_count);
