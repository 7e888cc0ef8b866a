/* What a device's timer says of things whose truth is known: launches that spin for a while and write down how long,
 * launches that do nothing, reads of memory that the caches hold or do not hold. Facts only; cli/selftest/selftest.h
 * judges.
 */
#ifndef ATTNBENCH_KERNELS_TIMER_FACTS_H
#define ATTNBENCH_KERNELS_TIMER_FACTS_H

#include "kernels/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SELFTEST_SPINS = 9, SELFTEST_SAMPLES = 31 };

/* How long the spinning launches are to last, microseconds: 20 to 10000. */
extern const double selftest_spin_us[SELFTEST_SPINS];

/* One sample of problem_sample, with what the launches in it wrote down themselves: the mean of (end - start) by the
 * device's global timer (a CPU: the monotonic clock), read inside the launch. Microseconds per launch. */
struct selftest_sample {
  double time_us, truth_us;
};

struct selftest_timing {
  uint32_t launches; /* that a sample averages over */
  uint32_t count;
  struct selftest_sample sample[SELFTEST_SAMPLES];
  /* What a launch costs that does nothing, in the same place: cold the documented cost of an event pair
   * (device_event_overhead_us), hot an empty kernel in a graph of as many launches, per launch. */
  double constant_us;
};

struct selftest_spin {
  double target_us;
  struct selftest_timing timing[TIME_MODE_COUNT];
};

/* NAN: this kind of device has no such thing, or does not tell. */
struct selftest_facts {
  uint32_t spin_count;
  struct selftest_spin spin[SELFTEST_SPINS];
  double tick_us;          /* smallest step between two readings of the clock that is the truth */
  double event_step_us;    /* smallest step between two different times of an event pair */
  double event_pair_us;    /* two events with nothing between */
  double event_kernel_us;  /* two events with an empty kernel between, measured now */
  double graph_launch_us;  /* two events with a graph of one empty kernel between */
  double graph_node_us;    /* each further empty kernel in that graph */
  double read_bytes;       /* that one launch reads; they fit the cache: half of a GPU's L2 */
  double flushed_us;       /* that launch after a flush, as in every cold sample */
  double unflushed_us;     /* that launch after another one like it */
  double read_constant_us; /* in both; taken off before they are compared */
  double spin_mhz;         /* SM clock from the cycles that a spin counted, over the time that it wrote down */
  double stamp_mhz;        /* the same, as rows report it: from stamps of all SMs before and after */
  double nvml_mhz;         /* as NVML says it right after */
};

/* Takes a few seconds. Needs no problem to be open. */
struct status device_selftest(struct device *, struct selftest_facts *out);

#ifdef __cplusplus
}
#endif
#endif
