/* Reads the system's monotonic clock. */
#include "cli/base/clock.h"

#include <math.h>
#include <time.h>

double clock_now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double clock_whole_s(double duration_s) { return round(duration_s * 1e9) / 1e9; }
