/* How times are taken and outputs checked, as JSON: for tools that must do both in the same way. */
#ifndef ATTNBENCH_CLI_MEASURE_POLICY_H
#define ATTNBENCH_CLI_MEASURE_POLICY_H

#include "cli/base/json.h"

/* Adds "timing": {"cuda": {...}, "cpu": {...}} and "check": the bounds of each dtype (results/README.md). False when
 * out of memory. */
bool policy_add(cJSON *object);

#endif
