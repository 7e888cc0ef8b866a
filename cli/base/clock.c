/* Reads the system's monotonic clock. */
#include "cli/base/clock.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

double clock_now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct clock_cpu clock_cpu_of(pid_t pid) {
  struct clock_cpu times = {NAN, NAN};
  unsigned long long ran_ns, waited_ns;
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/schedstat", (long)pid); /* and the number of times it ran */
  FILE *file = fopen(path, "re");
  if (file == NULL) return times;
  if (fscanf(file, "%llu %llu", &ran_ns, &waited_ns) == 2)
    times = (struct clock_cpu){1e-9 * (double)ran_ns, 1e-9 * (double)waited_ns};
  fclose(file);
  return times;
}

double clock_waited_s(void) { return clock_cpu_of(getpid()).waited_s; }

double clock_whole_s(double duration_s) { return round(duration_s * 1e9) / 1e9; }
