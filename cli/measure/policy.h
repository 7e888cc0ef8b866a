/* How times are taken, as JSON: for tools that must take them in the same way. */
#ifndef ATTNBENCH_CLI_MEASURE_POLICY_H
#define ATTNBENCH_CLI_MEASURE_POLICY_H

#include "cli/base/json.h"

/* Adds "timing": {"cuda": {...}, "cpu": {...}}. False when out of memory. */
bool policy_add(cJSON *object);

#endif
