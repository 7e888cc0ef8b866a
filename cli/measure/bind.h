/* Binds planned cells: makes them ready to be launched in a process that owns the device. */
#pragma once

#include "cli/record/record.h"

/* True when the variant needs a vendor's library that cannot be loaded; the record is then `skipped` with the reason.
 */
bool bind_library_missing(const struct variant_spec *, struct record *);

/* Binds record->plan in the bench, and fills in the resources of its passes as the runtime reports them, or the
 * launches of a vendor's library. */
struct status bind_cell(struct device *, struct bench *, const struct variant_spec *, struct record *);

/* Sets the record's status after a bind: `skipped` for STATUS_UNSUPPORTED, `error` for other failures, unchanged
 * without a failure. Returns the failure, but success for STATUS_UNSUPPORTED. */
struct status bind_settle(const struct status *, struct record *);
