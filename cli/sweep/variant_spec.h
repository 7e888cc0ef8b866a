/* A variant with its tunables, as a user writes it: "split_kv:splits=4". */
#pragma once

#include "kernels/status.h"
#include "kernels/variant.h"

enum { VARIANT_SPEC_MAX = 96, SWEEP_VARIANTS_MAX = 64 };

/* A variant with its tunables resolved. */
struct variant_spec {
  const struct attn_variant *variant;
  struct attn_tuning tuning;
  char text[VARIANT_SPEC_MAX]; /* canonical: name, then only the tunables that were given, in table order */
};

/* Reads "name" or "name:key=value,key=value". The error message begins with `where` ("--variants" or
 * "file:line:column: variants[2]") and names the nearest known variant or tunable; its code is `code`, STATUS_USAGE
 * or STATUS_INPUT. */
struct status variant_spec_parse(const char *text, const char *where, enum status_code code,
                                 struct variant_spec *out);

/* Does the spec's text set this tunable? */
bool variant_spec_gives(const struct variant_spec *, size_t tunable);
/* The spec of the same variant with other tunables. Its text has the tunables that `base` sets and those that differ
 * from their defaults. False when the text does not fit. */
bool variant_spec_with(const struct variant_spec *base, const struct attn_tuning *, struct variant_spec *out);

/* The longest message that variant_spec_read writes. */
enum { VARIANT_SPEC_PROBLEM_MAX = 400 };

/* As variant_spec_parse, but on failure returns false and writes the message without the leading `where`. */
bool variant_spec_read(const char *text, struct variant_spec *out, char problem[VARIANT_SPEC_PROBLEM_MAX]);

/* The length of the first spec of a list with commas between them; commas separate tunables too. */
size_t variant_spec_length(const char *list);
