/* The tunings of a variant that a search tries: every combination of the values of its tunables that the variant
 * takes for a shape, thinned out where there are too many. */
#ifndef ATTNBENCH_CLI_SWEEP_TUNINGS_H
#define ATTNBENCH_CLI_SWEEP_TUNINGS_H

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
  size_t left_out; /* combinations that the variant takes, or may take, and that are not among them */
};

/* Tunables that `base` gives keep their values. takes NULL: not known here, all may be taken. The same arguments give
 * the same list. On success the caller frees items. */
struct status tunings_of(const struct variant_spec *base, const struct tunings_filter *, struct tunings *out);

#endif
