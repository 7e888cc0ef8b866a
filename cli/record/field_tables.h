/* The field tables of the measured structs (record.c), for the journal and the JSON report. */
#ifndef ATTNBENCH_CLI_RECORD_FIELD_TABLES_H
#define ATTNBENCH_CLI_RECORD_FIELD_TABLES_H

#include "cli/base/fields.h"
#include "cli/record/record.h"

/* struct device_info with the timer's constant cost and the device's policy beside it, as one JSON object. */
struct device_line {
  struct device_info info;
  double event_overhead_us;
  struct device_policy policy; /* no key at all when it is not known */
};

extern const struct field record_device_fields[];    /* struct device_line; starts with those of struct device_info */
extern const struct field record_shape_fields[];     /* struct attn_shape */
extern const struct field record_tolerance_fields[]; /* struct tolerance */
extern const struct field record_injected_fields[];  /* struct injected_record */
extern const struct field record_gate_fields[];      /* struct sweep_gate */

extern const struct field record_counter_head_fields[];   /* struct counter_record: source, cache, launches */
extern const struct field record_counter_passes_fields[]; /* struct counter_record: passes */
extern const struct field record_counter_pass_fields[];   /* struct counter_pass */
extern const struct field record_counter_value_fields[];  /* struct counter_values */
extern const struct field record_counter_stall_fields[];  /* struct counter_stall */

/* Names by index, NULL past the last. */
const char *record_oracle_name(uint32_t index);
const char *record_status_name(uint32_t index); /* of enum cell_status */
const char *record_mode_name(uint32_t index);   /* of enum time_mode */
const char *record_stop_name(uint32_t index);   /* of enum stats_stop */
const char *record_tensor_name(uint32_t index);
const char *record_math_name(uint32_t index); /* of enum attn_math */
const char *record_cover_name(uint32_t bit);  /* of enum attn_cover, by bit */

#endif
