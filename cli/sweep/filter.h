/* --filter: which cases of a sweep are kept. */
#pragma once

#include "kernels/problem/axes.h"
#include "kernels/status.h"

enum { FILTER_VALUES_MAX = 32 };

/* How a case's value must compare with the filter's, as bits: <= is FILTER_LESS | FILTER_EQUAL. */
enum filter_order { FILTER_LESS = 1, FILTER_EQUAL = 2, FILTER_MORE = 4 };

struct filter {
  const struct attn_axis *axis; /* NULL: the filter is the key of one case, in `problem` */
  unsigned orders;              /* bits of enum filter_order */
  struct axis_value value[FILTER_VALUES_MAX];
  size_t count; /* of value[]: one of them has to be met; with != all of them have to differ */
  struct attn_problem problem;
};

/* Reads "S=512", "S=128,200", "S>=1024", "B!=1", "dtype=bf16", "causal", "lse", "f16", or the key of a case.
 * STATUS_USAGE names what is wrong. */
struct status filter_parse(const char *text, struct filter *out);
/* Does the filter keep this problem? S (Sq and Skv) and H (Hq and Hkv) must hold for both axes. */
bool filter_keeps(const struct filter *, const struct attn_problem *);
