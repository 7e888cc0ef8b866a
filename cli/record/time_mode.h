/* The ways in which a cell is timed: cold, hot and steady. */
#pragma once

#include "kernels/device.h"

const char *time_mode_name(enum time_mode); /* "cold", "hot", "steady" */
/* Reads a list such as "hot,cold,steady", in any order; out[mode] says whether the list names the mode. The message
 * of STATUS_USAGE begins with "--modes". */
struct status time_mode_parse_list(const char *text, bool out[TIME_MODE_COUNT]);
