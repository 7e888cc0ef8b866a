/* From a planned cell to one that can be launched: what every process that owns a device does before it checks. */
#ifndef ATTNBENCH_CLI_MEASURE_BIND_H
#define ATTNBENCH_CLI_MEASURE_BIND_H

#include "cli/record/record.h"

/* True when the variant is a vendor's whose library is not here: the record is then `skipped` with the reason. */
bool bind_library_missing(const struct variant_spec *, struct record *);

/* Binds record->plan in the problem, and fills in what the runtime and a vendor's library say of its passes. */
struct status bind_cell(struct device *, struct problem *, const struct variant_spec *, struct record *);

/* What a failure makes of the record: `skipped` when the library refused the shape, which is no failure any more,
 * else `error`. Returns the failure that is left. */
struct status bind_settle(const struct status *, struct record *);

#endif
