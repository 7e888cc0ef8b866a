/* A report as JSON. */
#include <math.h>
#include <string.h>

#include "cli/report/views.h"

struct run_cost {
  double wall_s, gpu_s, overhead_s;
};

struct finding_view {
  const char *id, *severity, *pass, *measured, *meaning, *advice, *change, *evidence, *evidence_file;
  double gain_ratio, saves_us;
};

static const char no_end[] = "the run did not end in order";

static const struct field cost_fields[] = {
    FIELD("wall_s", F64, struct run_cost, wall_s, .null_reason = no_end),
    FIELD("gpu_s", F64, struct run_cost, gpu_s),
    FIELD("overhead_s", F64, struct run_cost, overhead_s, .null_reason = no_end),
    {0},
};

static const struct field interval_fields[] = {
    FIELD("median_us", F64, struct process_interval, median_us),
    FIELD("ci_low_us", F64, struct process_interval, low_us),
    FIELD("ci_high_us", F64, struct process_interval, high_us),
    FIELD("confidence_ratio", F64, struct process_interval, confidence),
    {0},
};

static bool has_steady(const void *metrics) { return ((const struct metrics *)metrics)->mode[TIME_STEADY].known; }

static const struct field tflop_fields[] = {
    FIELD("cold", F64, struct metrics, mode[TIME_COLD].tflop_per_s),
    FIELD("hot", F64, struct metrics, mode[TIME_HOT].tflop_per_s),
    FIELD("steady", F64, struct metrics, mode[TIME_STEADY].tflop_per_s, .known = has_steady, .left_out = true),
    {0},
};

static const struct field gb_fields[] = {
    FIELD("cold", F64, struct metrics, mode[TIME_COLD].gb_per_s),
    FIELD("hot", F64, struct metrics, mode[TIME_HOT].gb_per_s),
    FIELD("steady", F64, struct metrics, mode[TIME_STEADY].gb_per_s, .known = has_steady, .left_out = true),
    {0},
};

/* Of an array with a number for each mode. */
static const struct field mode_fields[] = {
    {.key = "cold", .kind = FIELD_F64, .offset = TIME_COLD * sizeof(double)},
    {.key = "hot", .kind = FIELD_F64, .offset = TIME_HOT * sizeof(double)},
    {0},
};

static const struct field finding_fields[] = {
    FIELD("id", NAME, struct finding_view, id),
    FIELD("severity", NAME, struct finding_view, severity),
    FIELD("pass", NAME, struct finding_view, pass),
    FIELD("measured", NAME, struct finding_view, measured),
    FIELD("meaning", NAME, struct finding_view, meaning),
    FIELD("advice", NAME, struct finding_view, advice),
    FIELD("change", NAME, struct finding_view, change),
    FIELD("gain_ratio", F64, struct finding_view, gain_ratio),
    FIELD("saves_us", F64, struct finding_view, saves_us),
    FIELD("evidence", NAME, struct finding_view, evidence),
    FIELD("evidence_file", NAME, struct finding_view, evidence_file),
    {0},
};

/* ---- parts of a result --------------------------------------------------------------------------------------- */

/* Rows that attnbench measured are checked; times from elsewhere are not, and say so. */
static void add_model(cJSON *result, const struct report_row *row) {
  const struct traffic *traffic = &row->metrics.traffic;
  if (!row->record->check.done && row->record->status == CELL_ok)
    json_add_string(result, "check_reason", "the times were entered by hand; attnbench checked nothing");
  fields_write(result, report_model_fields, &row->metrics);
  fields_add(result, "traffic", traffic->known, report_traffic_fields, traffic);
}

static bool is_measured(const struct report_row *row) { return row->record->status == CELL_ok; }

static void add_time(cJSON *result, const struct report_row *row) {
  fields_add(result, "time", is_measured(row), record_times_fields, row->record->time);
}

static void add_roof(cJSON *result, const struct report_row *row) {
  const bool measured = is_measured(row);
  cJSON *roof = measured ? cJSON_AddObjectToObject(result, "roof") : cJSON_AddNullToObject(result, "roof");
  bool any = false;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && measured; ++mode) {
    const struct mode_metrics *metrics = &row->metrics.mode[mode];
    any = any || metrics_has_roof(metrics);
    if (mode == TIME_STEADY && !metrics->known) continue; /* a key of rows that have one */
    fields_add(roof, time_mode_name(mode), metrics_has_roof(metrics), report_roof_fields, metrics);
  }
  if (any) return;
  json_add_string(result, "roof_reason", measured ? "no peak rate is known for this device" : "not measured");
}

static void add_rates(cJSON *result, const struct report_row *row) {
  if (process_count(row->record) >= 2) {
    cJSON *between = cJSON_AddObjectToObject(result, "between_processes");
    for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
      if (mode == TIME_STEADY && row->between[mode].processes == 0) continue;
      fields_add(between, time_mode_name(mode), row->between[mode].processes > 0, interval_fields,
                 &row->between[mode]);
    }
  }
  /* Only where the device tells what the events take. */
  if (!isnan(row->cold_net_us)) json_add_number(result, "cold_net_us", row->cold_net_us);
  if (!isnan(row->energy_pj_per_flop)) json_add_number(result, "energy_pj_per_flop", row->energy_pj_per_flop);
  if (!isnan(row->energy_over_idle_pj_per_flop))
    json_add_number(result, "energy_over_idle_pj_per_flop", row->energy_over_idle_pj_per_flop);
  fields_add(result, "tflop_per_s", is_measured(row), tflop_fields, &row->metrics);
  fields_add(result, "gb_per_s", is_measured(row), gb_fields, &row->metrics);
  add_roof(result, row);
}

static void add_speedup_reason(cJSON *result, const struct report_row *row) {
  const struct speedup_record *speedup = &row->record->speedup;
  if (!isnan(row->kernel_ratio)) json_add_number(result, "kernel_speedup_ratio", row->kernel_ratio);
  if (report_has_speedup(row)) return;
  json_add_string(result, "speedup_vs_reason", speedup->reason[0] != '\0' ? speedup->reason : "not measured");
}

/* The number of resident blocks is derived with the rest: measured where it could be, else computed. */
static void add_launch(cJSON *object, const struct pass_record *pass, const struct pass_metrics *metrics) {
  for (const struct field *field = record_pass_fields; field->key != NULL; ++field) {
    if (strcmp(field->key, "resident_blocks") == 0) {
      fields_write(object, report_pass_metrics_fields, metrics);
    } else {
      fields_write_one(object, field, pass);
    }
  }
}

static void add_launches(cJSON *result, const struct report_row *row) {
  cJSON *array = cJSON_AddArrayToObject(result, "launches");
  for (uint32_t i = 0; i < row->record->plan.pass_count; ++i)
    add_launch(json_add_element(array), &row->record->pass[i], &row->metrics.pass[i]);
}

static void add_findings(cJSON *result, const struct report_row *row) {
  cJSON *array = cJSON_AddArrayToObject(result, "findings");
  for (size_t i = 0; i < row->findings.count; ++i) {
    const struct finding *finding = &row->findings.item[i];
    const struct finding_view view = {
        .id = finding_name(finding->id),
        .severity = finding_severity_name(finding_severity(finding->id)),
        .pass = finding->pass < row->record->plan.pass_count ? row->record->pass[finding->pass].name : NULL,
        .measured = finding->measured,
        .meaning = finding_help(finding->id),
        .advice = finding->advice,
        .change = finding->change != CHANGE_none ? finding_change_name(finding->change) : NULL,
        .evidence = finding->evidence[0] != '\0' ? finding->evidence : NULL,
        .evidence_file = finding->evidence_file,
        .gain_ratio = finding->gain_ratio,
        .saves_us = finding->saves_us};
    fields_write(json_add_element(array), finding_fields, &view);
  }
}

static void add_scaling(cJSON *result, const struct report_row *row) {
  const struct scaling *scaling = &row->scaling;
  if (!scaling->known) {
    cJSON_AddNullToObject(result, "scaling");
    return;
  }
  cJSON *object = cJSON_AddObjectToObject(result, "scaling");
  fields_write(object, report_scaling_fields, scaling);
  fields_add(object, "time_ratio", scaling->timed, mode_fields, scaling->time_ratio);
  fields_add(object, "residual", scaling->timed, mode_fields, scaling->residual);
  fields_add(object, "us_per_bh", scaling->timed, mode_fields, scaling->us_per_bh);
}

/* Only rows that a profiler counted have the key. */
static void add_counters(cJSON *result, const struct report_row *row) {
  const struct counter_record *counters = &row->record->counters;
  const struct counted *counted = &row->metrics.counted;
  if (!counters->done) return;
  cJSON *object = cJSON_AddObjectToObject(result, "counters");
  fields_write(object, record_counter_head_fields, counters);
  fields_write(object, record_counter_value_fields, &counted->total);
  fields_add(object, "top_stall", counted->top_stall.known, record_counter_stall_fields, &counted->top_stall);
  fields_write(object, report_counter_fields, &counted->metrics);
  fields_write(object, record_counter_passes_fields, counters);
}

static void add_conclusions(cJSON *result, const struct report_row *row) {
  if (row->bound_by.known) fields_add(result, "bound_by", true, report_bound_by_fields, &row->bound_by);
  add_findings(result, row);
  add_scaling(result, row);
}

/* A result is the record with what is derived from it: in the place of some rows of its table, and behind others. */
static const struct derived {
  const char *key; /* of record_fields */
  void (*instead)(cJSON *result, const struct report_row *), (*behind)(cJSON *result, const struct report_row *);
} derived[] = {
    {"check", NULL, add_model},       {"time", add_time, NULL},
    {"processes", NULL, add_rates},   {"speedup_vs_reason", add_speedup_reason, NULL},
    {"launches", add_launches, NULL}, {"counters", add_counters, add_conclusions},
};

static const struct derived *derived_of(const char *key) {
  static const struct derived none = {.key = ""};
  for (size_t i = 0; i < sizeof derived / sizeof *derived; ++i) {
    if (strcmp(derived[i].key, key) == 0) return &derived[i];
  }
  return &none;
}

static cJSON *result_at(const void *report, size_t index) {
  const struct report_row *row = &((const struct report *)report)->rows[index];
  cJSON *result = cJSON_CreateObject();
  for (const struct field *field = record_fields; field->key != NULL; ++field) {
    const struct derived *more = derived_of(field->key);
    if (more->instead != NULL) {
      more->instead(result, row);
    } else {
      fields_write_one(result, field, row->record);
    }
    if (more->behind != NULL) more->behind(result, row);
  }
  return result;
}

/* ---- parts of the report ------------------------------------------------------------------------------------- */

/* The tool that measured, which need not be the one that writes this report. */
static void add_tool(cJSON *root, const struct run_info *run) {
  struct run_info named = *run;
  if (named.tool[0] == '\0') snprintf(named.tool, sizeof named.tool, "attnbench");
  fields_add(root, "tool", true, report_tool_fields, &named);
}

static void add_run(cJSON *root, const struct report *report) {
  const struct journal_data *journal = report->journal;
  struct run_cost cost = {.wall_s = strcmp(journal->state, "partial") != 0 ? journal->wall_s : NAN};
  for (size_t i = 0; i < report->row_count; ++i) cost.gpu_s += report->rows[i].record->gpu_s;
  cost.overhead_s = cost.wall_s - cost.gpu_s;
  cJSON *run = cJSON_AddObjectToObject(root, "run");
  fields_write(run, report_run_fields, journal);
  fields_write(run, cost_fields, &cost);
}

/* All cards of a run with --devices, the first one too. */
static void add_cards(cJSON *root, const struct journal_data *journal) {
  if (journal->card_count == 0) return;
  cJSON *list = cJSON_AddArrayToObject(root, "cards");
  for (size_t i = 0; i < journal->card_count; ++i)
    fields_write(json_add_element(list), record_device_fields, &journal->card[i]);
}

static void add_devices(cJSON *root, const struct journal_data *journal) {
  const struct device_line device = {
      .info = journal->device, .event_overhead_us = journal->event_overhead_us, .policy = journal->policy};
  const struct device_line planned = {.info = journal->planned_device};
  fields_add(root, "device", journal->has_device, record_device_fields, &device);
  add_cards(root, journal);
  fields_add(root, "planned_device", journal->has_planned_device, record_device_fields, &planned);
}

/* Only of axes that have a value which needs one. */
static void add_conventions(cJSON *root, const struct report *report) {
  cJSON *conventions = NULL;
  EACH_CONVENTION(axis, report) {
    if (conventions == NULL) conventions = cJSON_AddObjectToObject(root, "conventions");
    json_add_string(conventions, axis->name, axis->convention);
  }
}

static void add_summary(cJSON *root, const struct report *report) {
  cJSON *summary = cJSON_AddObjectToObject(root, "summary");
  json_add_uint(summary, "cells", report->row_count);
  for (enum cell_status status = 0; status < CELL_STATUS_COUNT; ++status)
    json_add_uint(summary, cell_status_name(status), report->status_count[status]);
  json_add_uint(summary, "exit_code", report->exit_code);
}

struct status report_write_json(const struct report *report, FILE *file) {
  const struct json_list results = {.key = "results", .count = report->row_count, .element = result_at, .of = report};
  cJSON *root = cJSON_CreateObject();
  json_add_string(root, "schema", REPORT_SCHEMA);
  json_add_bool(root, JSON_HAS_CHECKSUM, true);
  add_tool(root, &report->journal->run);
  add_run(root, report);
  add_devices(root, report->journal);
  add_conventions(root, report);
  fields_add(root, "sweep", true, record_sweep_fields, &report->journal->run);
  cJSON_AddArrayToObject(root, "results"); /* json_write_list has its elements */
  add_summary(root, report);
  return json_write_list(root, &results, "a report", file);
}
