/* The clock that durations on the host are read from. */
#pragma once

#include <sys/types.h>

/* Seconds on the monotonic clock, from an arbitrary start. May be called in a signal handler. */
double clock_now_s(void);
/* Seconds that the first thread of a process ran, and was ready to run and waited for a processor, since it started;
 * NAN when the system does not tell. */
struct clock_cpu {
  double ran_s, waited_s;
};
struct clock_cpu clock_cpu_of(pid_t pid);
/* How long the first thread of this process waited. */
double clock_waited_s(void);
/* The duration rounded to whole nanoseconds, the clock's resolution: the rounding error of a subtraction is removed.
 */
double clock_whole_s(double duration_s);
