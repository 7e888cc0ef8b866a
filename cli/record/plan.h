/* Planning of a cell, which needs no GPU: does the variant take the shape, and what does it launch? Pure. */
#pragma once

#include "cli/record/record.h"

/* Starts the record of one cell: its names, plan and passes, and the facts of compiled kernels that the build knows.
 * The status is `skipped` when the variant does not take the shape on this device. It is `error` when a loaded
 * variant's plan exceeds the limits of a launch, or when the variant is a stand-in, whose code runs in workers only.
 * Else it is `planned`. The reason says why. */
void plan_record(const struct attn_case *, const struct variant_spec *, const struct device_info *,
                 struct record *out);

/* Sets the record's status and its reason. A character that is not printable ASCII becomes '?', since the text may
 * come from a loaded object. */
void plan_outcome(struct record *, enum cell_status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Fills record->pass from record->plan. A vendor's plan has passes only after it was bound. */
void plan_passes(const struct device_info *, struct record *);
