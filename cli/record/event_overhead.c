/* The constant inside cold times, and when it may be taken off them. */
#include "cli/record/record.h"

#include <math.h>

static const double most_of_a_time = 0.5;

/* 0 when launches are not hidden: a cold time then includes host time too, and the overhead is not all of the excess.
 */
double event_overhead_in(enum time_mode mode, const struct device_info *device, double event_overhead_us) {
  const bool known = device->kind == DEVICE_CUDA && device->hides_launches && isfinite(event_overhead_us);
  return mode == TIME_COLD && known ? fmax(event_overhead_us, 0) : 0;
}

double event_overhead_off(double overhead_us, double shortest_us) {
  return overhead_us <= most_of_a_time * shortest_us ? overhead_us : 0;
}

double event_overhead_most(double overhead_us, double shortest_us) {
  return fmin(overhead_us, most_of_a_time * shortest_us);
}

double event_overhead_shortest(const double *us, size_t count) {
  double shortest = INFINITY;
  for (size_t i = 0; i < count; ++i) {
    if (us[i] > 0 && us[i] < shortest) shortest = us[i];
  }
  return shortest;
}
