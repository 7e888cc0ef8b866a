/* Descriptions of variants as JSON. */
#pragma once

#include "cli/base/json.h"
#include "kernels/variant.h"

/* A variant, and whether it can run on this machine. */
struct variant_here {
  const struct attn_variant *variant;
  const char *why_not; /* why it cannot run; NULL: it can */
};

/* Adds "variants": [...] of `attnbench list --json`. */
void variant_json_add(cJSON *object, const struct variant_here *, size_t count);
