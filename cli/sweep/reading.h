/* What the files behind sweep.h share with one another and with readers of other files that name shapes. */
#ifndef ATTNBENCH_CLI_SWEEP_READING_H
#define ATTNBENCH_CLI_SWEEP_READING_H

#include "cli/base/json.h"
#include "cli/sweep/sweep.h"

/* Expands "defaults", "shapes" and "grid" into out->cases, which the caller frees also on failure. */
struct status cases_read(const struct json_doc *, struct sweep *out);

/* Fills out->gate; wants the cases and variants. */
struct status gate_settings_read(const struct json_doc *, struct sweep *out);

/* Is a case of this shape allowed? False writes why not and what to do, to be put behind the place. */
enum { CASES_PROBLEM_MAX = 256 };
bool cases_are_sound(const struct attn_shape *, char problem[CASES_PROBLEM_MAX]);

/* One shape: an entry of "shapes" with the keys of `defaults` merged in; defaults may be NULL. */
struct status cases_read_shape(const struct json_doc *, const cJSON *defaults, const cJSON *entry,
                               struct attn_shape *out);

#endif
