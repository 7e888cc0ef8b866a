/* Lists of numbers for structs that are copied freely: a struct points at its list without owning it, and all lists
 * are freed together. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct numbers {
  uint32_t count;
  const double *value; /* NULL: there are none */
};

/* Allocates a list of `count` numbers; NULL without memory. Any thread may call it. */
double *numbers_keep(size_t count);
/* Frees every list. No other thread may be in numbers_keep meanwhile, and no list may be read afterwards. */
void numbers_drop(void);
