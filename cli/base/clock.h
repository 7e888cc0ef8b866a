/* The clock that durations on the host are read from. */
#ifndef ATTNBENCH_CLI_BASE_CLOCK_H
#define ATTNBENCH_CLI_BASE_CLOCK_H

/* Seconds on the monotonic clock, from an arbitrary start. */
double clock_now_s(void);
/* A duration in the nanoseconds that the clock counts, without the digits that subtracting adds. */
double clock_whole_s(double duration_s);

#endif
