/* Readers of the parts of a sweep file, for the sources of sweep.h and for readers of other files with shapes, and
 * the values of a problem's axes as JSON. */
#pragma once

#include "cli/sweep/sweep.h"

/* Values of a problem's axes as JSON: numbers, booleans and names, in sweep files and in the shape of a result. */

/* Reads one value and checks its limits. STATUS_INPUT says where, what is wrong and what to give. */
struct status axis_json_read(const struct json_doc *, const struct attn_axis *, const cJSON *item,
                             struct axis_value *out);
/* Is the array a list of values of the axis? False when it is one value that is written as an array. */
bool axis_json_is_list(const struct attn_axis *, const cJSON *array);
/* The reverse of axis_json_read: a new item that the caller owns; NULL without memory. */
cJSON *axis_json_new(const struct attn_axis *, struct axis_value);

/* Expands "defaults", "shapes" and "grid" into out->cases, which the caller frees also on failure. */
struct status cases_read(const struct json_doc *, struct sweep *out);

/* Fills out->gate. out->cases and out->variants must be filled already. */
struct status gate_settings_read(const struct json_doc *, struct sweep *out);

/* Reads one shape: an entry of "shapes". A key that it lacks is taken from `defaults`, which may be NULL. */
struct status cases_read_shape(const struct json_doc *, const cJSON *defaults, const cJSON *entry,
                               struct attn_problem *out);
