/* Ends copies of a worker: a variant's code that forks and returns would let a second process run our code, with our
 * pipes, and a third one at its next launch. */
#ifndef ATTNBENCH_KERNELS_COPY_END_H
#define ATTNBENCH_KERNELS_COPY_END_H

#include <stdint.h>

/* A page that the kernel fills with zeros in a copy of the process; else a word of this one. */
extern const volatile uint32_t *copy_end_mark;

/* Call once, in a worker. Without it, or on a kernel older than 4.14, copies do not end. */
void copy_end_arm(void);
void copy_end_now(void) __attribute__((noreturn));

/* Ends the process if it is a copy of the one that called copy_end_arm. One load, so that it may stand beside a
 * launch. */
static inline void copy_end(void) {
  if (__builtin_expect(*copy_end_mark == 0, 0)) copy_end_now();
}

#endif
