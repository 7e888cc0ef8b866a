/* The clock that durations on the host are read from. */
#pragma once

/* Seconds on the monotonic clock, from an arbitrary start. May be called in a signal handler. */
double clock_now_s(void);
/* Seconds that the first thread of this process was ready to run and waited for a processor, since it started; NAN
 * when the system does not tell. */
double clock_waited_s(void);
/* The duration rounded to whole nanoseconds, the clock's resolution: the rounding error of a subtraction is removed.
 */
double clock_whole_s(double duration_s);
