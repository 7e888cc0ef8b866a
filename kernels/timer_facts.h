/* Measurements of a device's timer where the right answer is known: launches that spin for a while and record how
 * long, launches that do nothing, and reads of memory that is or is not in the caches. cli/measure/selftest.h judges
 * them. */
#ifndef ATTNBENCH_KERNELS_TIMER_FACTS_H
#define ATTNBENCH_KERNELS_TIMER_FACTS_H

#include "kernels/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SELFTEST_SPINS = 9, SELFTEST_SAMPLES = 31 };

/* The target durations of the spinning launches, 20 to 10000 microseconds. */
extern const double selftest_spin_us[SELFTEST_SPINS];

/* One sample, in microseconds per launch. time_us is what the timer measured, as in bench_sample. truth_us is the
 * mean of (end - start) that the launches recorded by the device's global timer (on a CPU: the monotonic clock). */
struct selftest_sample {
  double time_us, truth_us;
};

struct selftest_timing {
  uint32_t launches; /* per sample */
  uint32_t count;
  struct selftest_sample sample[SELFTEST_SAMPLES];
  /* The time of an empty launch in the same mode: cold device_event_overhead_us; hot that of an empty kernel in a
   * graph of as many launches. */
  double constant_us;
};

struct selftest_spin {
  double target_us;
  struct selftest_timing timing[TIME_HOT + 1]; /* by mode, cold and hot */
};

/* A value is NAN when this kind of device has no such quantity or does not report it. */
struct selftest_facts {
  uint32_t spin_count;
  struct selftest_spin spin[SELFTEST_SPINS];
  double tick_us;          /* smallest step between two readings of the clock behind truth_us */
  double event_step_us;    /* smallest step between two different times of an event pair */
  double event_pair_us;    /* two events with nothing between */
  double event_kernel_us;  /* two events with an empty kernel between, measured now */
  double graph_launch_us;  /* two events with a graph of one empty kernel between */
  double graph_node_us;    /* each further empty kernel in that graph */
  double read_bytes;       /* read by one launch; fits in the cache: half of a GPU's L2 */
  double flushed_us;       /* time of that launch after a flush, as in every cold sample */
  double unflushed_us;     /* time of that launch after another one like it */
  double read_constant_us; /* overhead in both times; subtracted before they are compared */
  double spin_mhz;         /* SM clock: cycles that a spin counted / time that it recorded */
  double stamp_mhz;        /* SM clock as rows report it: from time stamps of all SMs before and after */
  double nvml_mhz;         /* SM clock that NVML reports right after */
};

/* Runs the self-test, which takes a few seconds. No bench has to be open. */
struct status device_selftest(struct device *, struct selftest_facts *out);

#ifdef __cplusplus
}
#endif
#endif
