/* Ends copies of a worker. When the code of a variant calls fork() and returns in both processes, the copy would go
 * on with our code and write into our pipes, and would fork again at its next launch. */
#ifndef ATTNBENCH_KERNELS_COPY_END_H
#define ATTNBENCH_KERNELS_COPY_END_H

#include <stdint.h>

/* Not 0 in the worker itself. It lies in a page that Linux fills with zeros in a copy of the process
 * (MADV_WIPEONFORK). */
extern const volatile uint32_t *copy_end_mark;

/* Call once, in a worker. Without it, or on a kernel older than 4.14, copies do not end. */
void copy_end_arm(void);
void copy_end_now(void) __attribute__((noreturn));

/* Ends the process if it is a copy of the one that called copy_end_arm. It costs one load, so it may be called at
 * each launch. */
static inline void copy_end(void) {
  if (__builtin_expect(*copy_end_mark == 0, 0)) copy_end_now();
}

#endif
