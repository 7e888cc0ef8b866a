/* Reads the system's monotonic clock. */
#include "cli/base/clock.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

double clock_now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double clock_waited_s(void) {
  unsigned long long waited_ns = 0;
  FILE *file = fopen("/proc/self/schedstat", "re"); /* nanoseconds run and waited, and the number of times it ran */
  const bool is_known = file != NULL && fscanf(file, "%*u %llu", &waited_ns) == 1;
  if (file != NULL) fclose(file);
  return is_known ? 1e-9 * (double)waited_ns : (double)NAN;
}

double clock_whole_s(double duration_s) { return round(duration_s * 1e9) / 1e9; }
