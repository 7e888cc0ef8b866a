/* The field tables of the measured structs (record.c), for the journal and the JSON report. */
#ifndef ATTNBENCH_CLI_RECORD_FIELDS_H
#define ATTNBENCH_CLI_RECORD_FIELDS_H

#include "cli/fields.h"
#include "cli/record.h"

/* struct device_info with the timer's constant cost beside it, as one JSON object. */
struct device_line {
  struct device_info info;
  double event_overhead_us;
};

extern const struct field record_device_fields[]; /* struct device_line; starts with those of struct device_info */
extern const struct field record_shape_fields[];  /* struct attn_shape */

#endif
