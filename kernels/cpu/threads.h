/* A parallel-for over independent tasks. Threads live for one call, so nothing outlives it and no state is shared
 * between calls; what a call costs (tens of microseconds per thread) is part of what a CPU variant measures. */
#ifndef ATTNBENCH_KERNELS_CPU_THREADS_H
#define ATTNBENCH_KERNELS_CPU_THREADS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CPU_THREADS_MAX = 256 };

/* Processors this process may run on, at least 1, at most CPU_THREADS_MAX. */
unsigned cpu_threads_available(void);

/* Calls task(context, index, worker) once for every index below tasks, in no promised order, and returns when all
 * have returned. worker is below threads and no two tasks run at once with the same worker, so it selects scratch
 * memory. The caller is worker 0; a thread that cannot be started leaves its share to the others. */
void cpu_parallel_for(unsigned threads, uint64_t tasks, void (*task)(void *context, uint64_t index, unsigned worker),
                      void *context);

#ifdef __cplusplus
}
#endif
#endif
