/* The two ways in which a cell is timed: cold and hot. */
#ifndef ATTNBENCH_CLI_RECORD_TIME_MODE_H
#define ATTNBENCH_CLI_RECORD_TIME_MODE_H

#include "kernels/device.h"

const char *time_mode_name(enum time_mode); /* "cold", "hot" */
/* "hot,cold": the modes named, in any order. STATUS_USAGE leads with --modes. */
struct status time_mode_parse_list(const char *text, bool out[TIME_MODE_COUNT]);

#endif
