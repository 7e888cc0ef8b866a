/* A device with what belongs to it, as the journal and the worker's greeting have it: one line of JSON. */
#ifndef ATTNBENCH_CLI_RECORD_DEVICE_LINE_H
#define ATTNBENCH_CLI_RECORD_DEVICE_LINE_H

#include <stddef.h>

#include "kernels/device.h"

struct device_line {
  struct device_info info;
  double event_overhead_us;    /* the timer's constant cost */
  struct device_policy policy; /* no key at all when it is not known */
};

/* One JSON object without newline, malloc'ed, the caller's; NULL without memory. And the reverse. */
char *device_line_to_text(const struct device_line *);
struct status device_line_from_text(const char *text, size_t length, struct device_line *out);

#endif
