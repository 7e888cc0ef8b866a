/* The floating-point mode of a thread: rounding, traps, and whether denormals are flushed to zero. A variant's code
 * may leave it changed; what attnbench computes afterwards, inputs and bounds, must not depend on that. */
#ifndef ATTNBENCH_KERNELS_FLOAT_MODE_H
#define ATTNBENCH_KERNELS_FLOAT_MODE_H

#include <stdbool.h>

/* Gives this thread the default mode back, and notes it when the mode was another one. */
void float_mode_restore(void);
/* The same; true when another mode was noted since the last call. */
bool float_mode_strayed(void);

#endif
