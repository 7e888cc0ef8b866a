/* The part of a cell that needs no GPU: does the variant take the shape, and what would it launch? Pure. */
#ifndef ATTNBENCH_CLI_RECORD_PLAN_H
#define ATTNBENCH_CLI_RECORD_PLAN_H

#include "cli/record/record.h"

/* Starts the record of one cell: identity, plan, passes, static kernel facts where the build knows them. Its status
 * is `skipped` with the reason when the variant does not take the shape on this device, `error` when a loaded
 * variant's plan breaks the limits of a launch or the variant is a stand-in, whose code runs in workers only, else
 * `planned`. */
void plan_record(const struct attn_case *, const struct variant_spec *, const struct device_info *,
                 struct record *out);

/* The status and why: the text may come from a loaded object, and a record holds printable text only. */
void plan_outcome(struct record *, enum cell_status, const char *reason);

/* Writes record->pass from record->plan: a vendor's plan has no passes before it is bound. */
void plan_passes(const struct device_info *, struct record *);

#endif
