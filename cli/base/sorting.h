/* Helpers for comparators of qsort, whose results are negative, 0 or positive. */
#pragma once

#include <stddef.h>

/* The result for two numbers. */
#define SORTING_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static inline int sorting_first(const int *orders, size_t count) {
  size_t i = 0;
  while (i + 1 < count && orders[i] == 0) ++i;
  return orders[i];
}
/* The first of several results that is not 0; 0 if all are. */
#define SORTING_FIRST(...) sorting_first((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))
