/* What a cold time holds besides the launch: the pair of events around it, which an empty kernel measures
 * (device.event_overhead_us). A hot time is the mean of a graph of launches and holds none of it. */
#ifndef ATTNBENCH_CLI_RECORD_EVENT_OVERHEAD_H
#define ATTNBENCH_CLI_RECORD_EVENT_OVERHEAD_H

#include "kernels/device.h"

/* Microseconds inside a time of this mode; 0 where there are none or the device does not tell. */
double event_overhead_in(enum time_mode, const struct device_info *, double event_overhead_us);

/* The same for verdicts on times of which shortest_us is the shortest: 0 where more than half of that would go, since
 * what remained would be noise. */
double event_overhead_off(double overhead_us, double shortest_us);

/* The same for a ratio that is shown: at most half of shortest_us, so that times near twice the constant do not give
 * one ratio in one run and quite another in the next. */
double event_overhead_most(double overhead_us, double shortest_us);

/* Of that many times. Those that are not above 0 are no times. */
double event_overhead_shortest(const double *us, size_t count);

#endif
