/* A variant with its tunables, as a user writes it: "split_kv:splits=4". */
#ifndef ATTNBENCH_CLI_SWEEP_VARIANT_SPEC_H
#define ATTNBENCH_CLI_SWEEP_VARIANT_SPEC_H

#include "kernels/status.h"
#include "kernels/variant.h"

enum { VARIANT_SPEC_MAX = 96, SWEEP_VARIANTS_MAX = 64 };

/* A variant with its tunables resolved. */
struct variant_spec {
  const struct attn_variant *variant;
  struct attn_tuning tuning;
  char text[VARIANT_SPEC_MAX]; /* canonical: name, then only the tunables that were given, in table order */
};

/* "name" or "name:key=value,key=value" -> spec. The message names the nearest known variant or tunable. `where` leads
 * the message ("--variants" or "file:line:column: variants[2]"); code is STATUS_USAGE or STATUS_INPUT. */
struct status variant_spec_parse(const char *text, const char *where, enum status_code code,
                                 struct variant_spec *out);

/* Does the spec's text set this tunable? */
bool variant_spec_gives(const struct variant_spec *, size_t tunable);
/* The spec with other values: its text has what `base` gave, and what differs from the default. False when that does
 * not fit in a spec. */
bool variant_spec_with(const struct variant_spec *base, const struct attn_tuning *, struct variant_spec *out);

/* The longest message that variant_spec_read writes. */
enum { VARIANT_SPEC_PROBLEM_MAX = 400 };

/* variant_spec_parse without a place: false writes what is wrong and what to do, to be put behind one. */
bool variant_spec_read(const char *text, struct variant_spec *out, char problem[VARIANT_SPEC_PROBLEM_MAX]);

#endif
