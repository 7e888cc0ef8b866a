/* What variants say of themselves, as JSON. */
#ifndef ATTNBENCH_CLI_SWEEP_VARIANT_JSON_H
#define ATTNBENCH_CLI_SWEEP_VARIANT_JSON_H

#include "cli/base/json.h"
#include "kernels/variant.h"

/* A variant, and what it meets on this machine. */
struct variant_here {
  const struct attn_variant *variant;
  const char *why_not; /* NULL: it can run */
};

/* Adds "tunables": [{"name", "min", "max", "default", "help"}], empty when there are none. False when out of
 * memory. */
bool variant_json_add_tunables(cJSON *object, const struct attn_variant *);

/* Adds "variants": [...] of `attnbench list --json`. False when out of memory. */
bool variant_json_add(cJSON *object, const struct variant_here *, size_t count);

#endif
