/* How much the timers put into one sample. What times in the same way elsewhere reads these from `attnbench list
 * --json`. */
#ifndef ATTNBENCH_KERNELS_TIMING_H
#define ATTNBENCH_KERNELS_TIMING_H

enum {
  TIMING_CUDA_HOT_LAUNCHES_MAX = 200,
  TIMING_CPU_HOT_LAUNCHES_MAX = 10000,
  TIMING_FLUSH_OVER_L2 = 3, /* a flush reads so many times what L2 holds */
};

/* A hot sample lasts about this long. */
#define TIMING_CUDA_HOT_SAMPLE_US 700.0
#define TIMING_CPU_HOT_SAMPLE_US  2000.0

#endif
