/* How many launches the timers put into one sample. Tools that time in the same way read these values from
 * `attnbench list --json`. */
#ifndef ATTNBENCH_KERNELS_TIMING_H
#define ATTNBENCH_KERNELS_TIMING_H

enum {
  TIMING_CUDA_HOT_LAUNCHES_MAX = 200,
  TIMING_CPU_HOT_LAUNCHES_MAX = 10000,
  TIMING_CUDA_STEADY_CHAIN = 256, /* steady samples that are queued at once */
  TIMING_FLUSH_OVER_L2 = 3,       /* a flush reads this many times the size of L2 */
};

/* The events around a launch take less on every GPU. Only tools that stop launches, such as sanitizers, make it more.
 */
#define TIMING_EVENT_OVERHEAD_MOST_US 10000

/* The approximate duration of a hot sample. */
#define TIMING_CUDA_HOT_SAMPLE_US 700.0
#define TIMING_CPU_HOT_SAMPLE_US  2000.0

#endif
