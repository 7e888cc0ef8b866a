/* For functions that compare, as qsort calls them: an order is below 0, 0 or above 0. */
#pragma once

#include <stddef.h>

/* The order of two numbers. */
#define SORTING_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static inline int sorting_first(const int *orders, size_t count) {
  size_t i = 0;
  while (i + 1 < count && orders[i] == 0) ++i;
  return orders[i];
}
/* The first of several orders that is not 0. */
#define SORTING_FIRST(...) sorting_first((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))
