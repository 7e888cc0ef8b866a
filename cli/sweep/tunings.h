/* The tunings of a variant that `attnbench tune` tries: every combination of values of its tunables that the variant
 * takes for a shape, or an even sample of the combinations when there are more than TUNINGS_MAX. */
#pragma once

#include "cli/sweep/variant_spec.h"

enum { TUNINGS_MAX = 512 };

/* Does the variant take this shape with these values? */
struct tunings_filter {
  bool (*takes)(const void *context, const struct attn_tuning *);
  const void *context;
};

struct tunings {
  struct variant_spec *items; /* the first is `base` */
  size_t count;
  size_t left_out; /* combinations that the variant takes, or may take, and that items lacks */
};

/* Tunables that `base` sets keep their values. With `takes` NULL every combination counts as one that the variant may
 * take. The list depends on the arguments alone. On success the caller frees items. */
struct status tunings_of(const struct variant_spec *base, const struct tunings_filter *, struct tunings *out);
