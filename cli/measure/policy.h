/* The parameters of timing and checking as JSON, for other tools that time or check in the same way. */
#pragma once

#include "cli/base/json.h"

/* Adds "timing": {"cuda": {...}, "cpu": {...}} and "check": the bounds of each dtype (results/check.md). */
void policy_add(cJSON *object);
