/* What the files behind sweep.h share with one another and with readers of other files that name shapes. */
#ifndef ATTNBENCH_CLI_SWEEP_PARTS_H
#define ATTNBENCH_CLI_SWEEP_PARTS_H

#include "cli/json.h"
#include "cli/sweep.h"

/* Expands "defaults", "shapes" and "grid" into out->cases, which the caller frees also on failure. */
struct status sweep_read_cases(const struct json_doc *, struct sweep *out);

/* Fills out->gate; wants the cases and variants. */
struct status sweep_read_gate(const struct json_doc *, struct sweep *out);

/* One shape: an entry of "shapes" with the keys of `defaults` merged in; defaults may be NULL. */
struct status sweep_read_shape(const struct json_doc *, const cJSON *defaults, const cJSON *entry,
                               struct attn_shape *out);

/* The longest message that variant_spec_read writes. */
enum { VARIANT_SPEC_PROBLEM_MAX = 400 };

/* variant_spec_parse without a place: false writes what is wrong and what to do, to be put behind one. */
bool variant_spec_read(const char *text, struct variant_spec *out, char problem[VARIANT_SPEC_PROBLEM_MAX]);

#endif
