/* --filter: which cases of a sweep are kept. */
#ifndef ATTNBENCH_CLI_SWEEP_FILTER_H
#define ATTNBENCH_CLI_SWEEP_FILTER_H

#include "kernels/status.h"
#include "kernels/variant.h"

enum { FILTER_VALUES_MAX = 32 };

enum filter_test { FILTER_EQUAL, FILTER_UNEQUAL, FILTER_LESS, FILTER_AT_MOST, FILTER_MORE, FILTER_AT_LEAST };

struct filter {
  const struct filter_key *key; /* NULL: a whole case, the shape below */
  enum filter_test test;
  uint32_t value[FILTER_VALUES_MAX]; /* numbers, dtypes, or 0/1 for causal and lse */
  size_t count;                      /* one of them has to be met (FILTER_EQUAL), or none of them (FILTER_UNEQUAL) */
  struct attn_shape shape;
};

/* "S=512", "S=128,200", "S>=1024", "B!=1", "dtype=bf16", "causal", "lse", "f16", or the key of a case. STATUS_USAGE
 * names what is wrong. */
struct status filter_parse(const char *text, struct filter *out);
/* S and H want it of both of the fields that they stand for. */
bool filter_keeps(const struct filter *, const struct attn_shape *);

#endif
