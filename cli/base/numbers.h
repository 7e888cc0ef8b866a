/* Lists of numbers that structs point at without owning them: structs may be copied freely, and a list stays until
 * all are dropped. */
#ifndef ATTNBENCH_CLI_BASE_NUMBERS_H
#define ATTNBENCH_CLI_BASE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

struct numbers {
  uint32_t count;
  const double *value; /* NULL: there are none */
};

/* Room for `count` numbers; NULL without memory. From any thread. */
double *numbers_keep(size_t count);
/* Frees every list, while no other thread keeps any. What still points at one must not look there any more. */
void numbers_drop(void);

#endif
