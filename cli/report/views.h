/* The field tables that the JSON and the CSV report share: a CSV column is the JSON path joined by underscores. */
#ifndef ATTNBENCH_CLI_REPORT_VIEWS_H
#define ATTNBENCH_CLI_REPORT_VIEWS_H

#include "cli/base/fields.h"
#include "cli/record/process.h"
#include "cli/report/report.h"

/* A launch as it is reported: what is not known is NAN rather than 0. */
struct launch_view {
  char kernel[sizeof((struct pass_facts *)0)->kernel_name];
  double static_smem_bytes, registers, local_bytes;
};

extern const struct field report_tool_fields[];         /* struct run_info */
extern const struct field report_run_fields[];          /* struct journal_data */
extern const struct field report_sweep_fields[];        /* struct run_info */
extern const struct field report_baseline_fields[];     /* struct sweep_baseline */
extern const struct field report_case_fields[];         /* struct record: key, variant, shape */
extern const struct field report_cell_fields[];         /* struct record: status, math, reason */
extern const struct field report_checked_fields[];      /* struct record: check */
extern const struct field report_check_fields[];        /* struct check_record */
extern const struct field report_injected_fields[];     /* struct record: injected */
extern const struct field report_model_fields[];        /* struct metrics */
extern const struct field report_traffic_fields[];      /* struct traffic */
extern const struct field report_times_fields[];        /* struct record */
extern const struct field report_time_fields[];         /* struct time_record */
extern const struct field report_rate_fields[];         /* struct mode_metrics */
extern const struct field report_roof_fields[];         /* struct mode_metrics */
extern const struct field report_process_fields[];      /* struct process_record */
extern const struct field report_ratio_fields[];        /* struct ratio_record */
extern const struct field report_reference_fields[];    /* struct speedup_record */
extern const struct field report_speedup_fields[];      /* struct speedup_record, as in JSON */
extern const struct field report_plan_fields[];         /* struct attn_plan */
extern const struct field report_pass_fields[];         /* struct pass_record */
extern const struct field report_cover_fields[];        /* struct pass_record */
extern const struct field report_launch_fields[];       /* struct launch_view */
extern const struct field report_pass_metrics_fields[]; /* struct pass_metrics */
extern const struct field report_pass_cost_fields[];    /* struct pass_record */
extern const struct field report_scaling_fields[];      /* struct scaling */
extern const struct field report_wall_fields[];         /* struct record */
extern const struct field report_counter_fields[];      /* struct counter_metrics */

struct launch_view report_launch_view(const struct pass_record *);

/* Name of an NVML clocks-event-reason bit; "unknown" past those that are known, then NULL. */
const char *report_throttle_name(uint32_t bit);

#endif
