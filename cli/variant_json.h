/* What variants say of themselves, as JSON. */
#ifndef ATTNBENCH_CLI_VARIANT_JSON_H
#define ATTNBENCH_CLI_VARIANT_JSON_H

#include "cli/json.h"
#include "kernels/variant.h"

/* Adds "tunables": [{"name", "min", "max", "default", "help"}], empty when there are none. */
void variant_json_add_tunables(cJSON *object, const struct attn_variant *);

#endif
