/* Holds what a file says of its device against the table of known GPUs. Pure. */
#pragma once

#include "kernels/device.h"

/* NULL, or what no such device has. What is not in the table is not judged. */
const char *machine_problem(const struct device_info *);

/* Is the clock unknown (NAN), or one that the device can have? */
bool machine_is_clock(const struct device_info *, double sm_clock_mhz);
