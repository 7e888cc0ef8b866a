/* Readers of the parts of a sweep file, for the sources of sweep.h and for readers of other files with shapes. */
#pragma once

#include "cli/base/json.h"
#include "cli/sweep/sweep.h"

/* Expands "defaults", "shapes" and "grid" into out->cases, which the caller frees also on failure. */
struct status cases_read(const struct json_doc *, struct sweep *out);

/* Fills out->gate. out->cases and out->variants must be filled already. */
struct status gate_settings_read(const struct json_doc *, struct sweep *out);

/* Reads one shape: an entry of "shapes". A key that it lacks is taken from `defaults`, which may be NULL. */
struct status cases_read_shape(const struct json_doc *, const cJSON *defaults, const cJSON *entry,
                               struct attn_problem *out);
