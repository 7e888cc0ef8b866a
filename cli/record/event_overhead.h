/* The event overhead: the time that the pair of events around a launch adds to a cold time. It is measured with an
 * empty kernel (event_overhead_us of the device line). A hot time is the mean of a graph of launches and has none. */
#pragma once

#include "kernels/device.h"

/* The overhead in a time of this mode, in microseconds; 0 when there is none or it is not known. */
double event_overhead_in(enum time_mode, const struct device_info *, double event_overhead_us);

/* The overhead to subtract from times for a verdict. shortest_us is the shortest of these times. 0 when the overhead
 * is more than half of shortest_us, since the remainder would be noise. */
double event_overhead_off(double overhead_us, double shortest_us);

/* The overhead to subtract from times for a ratio that is shown: at most half of shortest_us. Unlike
 * event_overhead_off it does not jump to 0, so that ratios of times near twice the overhead agree from run to run. */
double event_overhead_most(double overhead_us, double shortest_us);

/* The shortest of `count` times; times that are not above 0 are ignored. Infinite when there is none. */
double event_overhead_shortest(const double *us, size_t count);
