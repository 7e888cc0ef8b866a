/* The field tables of the derived values in a report; cli/record/field_tables.h has those of the measured facts. A
 * CSV column is the JSON path joined by underscores. */
#pragma once

#include "cli/record/field_tables.h"
#include "cli/report/report.h"

/* A line of CSV that is being written: the names of its columns, or a row. */
struct csv_writer {
  FILE *file;
  bool is_header, any;
};
/* Writes a column for each value of the table. base NULL: the cells stay empty. */
void write_csv_columns(struct csv_writer *, const char *prefix, const struct field *fields, const void *base);

extern const struct field report_tool_fields[];         /* struct run_info: name, then as recorded */
extern const struct field report_run_fields[];          /* struct journal_data: as recorded, and how it ended */
extern const struct field report_model_fields[];        /* struct metrics */
extern const struct field report_traffic_fields[];      /* struct traffic */
extern const struct field report_rate_fields[];         /* struct mode_metrics */
extern const struct field report_roof_fields[];         /* struct mode_metrics */
extern const struct field report_pass_metrics_fields[]; /* struct pass_metrics */
extern const struct field report_scaling_fields[];      /* struct scaling */
extern const struct field report_counter_fields[];      /* struct counter_metrics */
extern const struct field report_bound_by_fields[];     /* struct bound_by */
