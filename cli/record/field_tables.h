/* The tables of all measured values: each field of a result is one row of one table. The journal, the report's JSON,
 * its reader and the CSV columns are made from the row. Keys and their order are those of the report. CONTRIBUTING.md
 * says how to add a row. Values derived from these are in cli/report/views.h. */
#pragma once

#include "cli/base/fields.h"
#include "cli/record/record.h"
#include "cli/record/run_info.h"
#include "kernels/timing.h"

/* The most that a field may say: beyond every machine that there is. */
enum {
  RECORD_SECONDS_MOST = 100000000,
  RECORD_WATTS_MOST = 5000,
  RECORD_CELSIUS_MOST = 150,
  RECORD_MHZ_MOST = 20000, /* of memory, too */
  RECORD_GB_PER_S_MOST = 100000,
  RECORD_FLOP_PER_CLK_MOST = 1000000,
  RECORD_OVERHEAD_US_MOST = TIMING_EVENT_OVERHEAD_MOST_US
};

/* struct record, in the order of a result; the three tables after it are parts of it. */
extern const struct field record_fields[];
extern const struct field record_case_fields[];       /* key, variant, shape */
extern const struct field record_outcome_fields[];    /* status, math, reason */
extern const struct field record_cost_fields[];       /* wall_s, gpu_s */
extern const struct field record_dependence_fields[]; /* struct record: data_dependence_ratio */

extern const struct field record_shape_fields[];     /* struct attn_problem */
extern const struct field record_check_fields[];     /* struct check_record */
extern const struct field record_tolerance_fields[]; /* struct tolerance */
extern const struct field record_times_fields[];     /* struct time_record[TIME_MODE_COUNT] */
extern const struct field record_time_fields[];      /* struct time_record */
extern const struct field record_processes_fields[]; /* struct process_record[TIME_MODE_COUNT] */
extern const struct field record_speedup_fields[];   /* struct speedup_record */
extern const struct field record_ratio_fields[];     /* struct ratio_record */
extern const struct field record_plan_fields[];      /* struct attn_plan */
extern const struct field record_pass_fields[];      /* struct pass_record; its parts: */
extern const struct field record_launch_fields[];    /* struct pass_record: what was launched */
extern const struct field record_pass_time_fields[]; /* struct pass_record: its own times */

extern const struct field record_counter_head_fields[];   /* struct counter_record: source, cache, launches */
extern const struct field record_counter_passes_fields[]; /* struct counter_record: passes */
extern const struct field record_counter_pass_fields[];   /* struct counter_pass */
extern const struct field record_counter_value_fields[];  /* struct counter_values */
extern const struct field record_counter_stall_fields[];  /* struct counter_stall */

extern const struct field record_tool_fields[];     /* struct run_info: the program that measured */
extern const struct field record_run_fields[];      /* struct run_info: what was asked for */
extern const struct field record_run_mode_fields[]; /* struct run_info: how it ran */
extern const struct field record_sweep_fields[];    /* struct run_info; its part that names the file: */
extern const struct field record_sweep_name_fields[];
extern const struct field record_baseline_fields[]; /* struct sweep_baseline */
extern const struct field record_gate_fields[];     /* struct sweep_gate */
extern const struct field record_device_fields[];   /* struct device_line; starts with those of struct device_info */

/* Names by index, NULL past the last. */
const char *record_device_kind_name(uint32_t index);
const char *record_oracle_name(uint32_t index);
const char *record_tensor_name(uint32_t index);
const char *record_math_name(uint32_t index);   /* of enum attn_math */
const char *record_throttle_name(uint32_t bit); /* of NVML's clocks-event reasons, "unknown" past those known */
