/* Values of a problem's axes as JSON: numbers, booleans and names, in sweep files and in the shape of a result. */
#pragma once

#include "cli/base/json.h"
#include "kernels/problem/axes.h"

/* Reads one value and checks its limits. STATUS_INPUT says where, what is wrong and what to give. */
struct status axis_json_read(const struct json_doc *, const struct attn_axis *, const cJSON *item,
                             struct axis_value *out);
/* Is the array a list of values of the axis? False when it is one value that is written as an array. */
bool axis_json_is_list(const struct attn_axis *, const cJSON *array);
/* The reverse of axis_json_read: a new item that the caller owns; NULL without memory. */
cJSON *axis_json_new(const struct attn_axis *, struct axis_value);
