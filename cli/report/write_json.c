/* A report as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/views.h"

/* Every add_* returns false when memory is out; nothing else can go wrong. */

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

static const struct field kernel_fields[] = {
    FIELD("kernel_speedup_ratio", F64, struct report_row, kernel_ratio),
    {0},
};

static const struct field net_fields[] = {FIELD("cold_net_us", F64, struct report_row, cold_net_us), {0}};

static const struct field tflop_fields[] = {
    FIELD("cold", F64, struct metrics, mode[TIME_COLD].tflop_per_s),
    FIELD("hot", F64, struct metrics, mode[TIME_HOT].tflop_per_s),
    {0},
};

static const struct field gb_fields[] = {
    FIELD("cold", F64, struct metrics, mode[TIME_COLD].gb_per_s),
    FIELD("hot", F64, struct metrics, mode[TIME_HOT].gb_per_s),
    {0},
};

static const struct field time_ratio_fields[] = {
    FIELD("cold", F64, struct scaling, time_ratio[TIME_COLD]),
    FIELD("hot", F64, struct scaling, time_ratio[TIME_HOT]),
    {0},
};

static const struct field residual_fields[] = {
    FIELD("cold", F64, struct scaling, residual[TIME_COLD]),
    FIELD("hot", F64, struct scaling, residual[TIME_HOT]),
    {0},
};

static const struct field us_per_bh_fields[] = {
    FIELD("cold", F64, struct scaling, us_per_bh[TIME_COLD]),
    FIELD("hot", F64, struct scaling, us_per_bh[TIME_HOT]),
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

static bool add_null(cJSON *object, const char *key) { return cJSON_AddNullToObject(object, key) != NULL; }

static bool add_text(cJSON *object, const char *key, const char *text) {
  json_add_string(object, key, text);
  return cJSON_HasObjectItem(object, key);
}

/* Rows that attnbench measured are checked; times from elsewhere are not, and say so. */
static bool add_check_reason(cJSON *result, const struct record *record) {
  return record->check.done || record->status != CELL_ok ||
         add_text(result, "check_reason", "the times were entered by hand; attnbench checked nothing");
}

static bool add_model(cJSON *result, const struct report_row *row) {
  const struct traffic *traffic = &row->metrics.traffic;
  return add_check_reason(result, row->record) && fields_write(result, report_model_fields, &row->metrics) &&
         fields_add(result, "traffic", traffic->known, report_traffic_fields, traffic);
}

static bool is_measured(const struct report_row *row) { return row->record->status == CELL_ok; }

static bool add_time(cJSON *result, const struct report_row *row) {
  return fields_add(result, "time", is_measured(row), record_times_fields, row->record->time);
}

static bool has_roof(const struct report_row *row, enum time_mode mode) {
  return row->metrics.mode[mode].known && row->metrics.mode[mode].roof != ROOF_NONE;
}

static bool add_roof(cJSON *result, const struct report_row *row) {
  const bool measured = row->record->status == CELL_ok;
  cJSON *roof = measured ? cJSON_AddObjectToObject(result, "roof") : cJSON_AddNullToObject(result, "roof");
  bool ok = roof != NULL, any = false;
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && ok && measured; ++mode) {
    any = any || has_roof(row, mode);
    ok = fields_add(roof, time_mode_name(mode), has_roof(row, mode), report_roof_fields, &row->metrics.mode[mode]);
  }
  if (!ok || any) return ok;
  return add_text(result, "roof_reason", measured ? "no peak rate is known for this device" : "not measured");
}

/* Only where the device tells what the events take. */
static bool add_net(cJSON *result, const struct report_row *row) {
  return isnan(row->cold_net_us) || fields_write(result, net_fields, row);
}

static bool add_interval(cJSON *object, const struct record *record, enum time_mode mode) {
  const struct process_interval interval = process_interval_of(&record->process[mode]);
  return fields_add(object, time_mode_name(mode), interval.processes > 0, interval_fields, &interval);
}

/* Only rows that several processes measured. */
static bool add_between(cJSON *result, const struct report_row *row) {
  if (process_count(row->record) < 2) return true;
  cJSON *object = cJSON_AddObjectToObject(result, "between_processes");
  return object != NULL && add_interval(object, row->record, TIME_COLD) &&
         add_interval(object, row->record, TIME_HOT);
}

static bool add_rates(cJSON *result, const struct report_row *row) {
  return add_between(result, row) && add_net(result, row) &&
         fields_add(result, "tflop_per_s", is_measured(row), tflop_fields, &row->metrics) &&
         fields_add(result, "gb_per_s", is_measured(row), gb_fields, &row->metrics) && add_roof(result, row);
}

static bool add_speedup_reason(cJSON *result, const struct report_row *row) {
  const struct speedup_record *speedup = &row->record->speedup;
  if (!isnan(row->kernel_ratio) && !fields_write(result, kernel_fields, row)) return false;
  if (report_has_speedup(speedup)) return true;
  return add_text(result, "speedup_vs_reason", speedup->reason[0] != '\0' ? speedup->reason : "not measured");
}

/* The number of resident blocks is derived with the rest: measured where it could be, else computed. */
static bool add_launch(cJSON *object, const struct pass_record *pass, const struct pass_metrics *metrics) {
  bool ok = object != NULL;
  for (const struct field *field = record_pass_fields; field->key != NULL && ok; ++field) {
    ok = strcmp(field->key, "resident_blocks") == 0 ? fields_write(object, report_pass_metrics_fields, metrics)
                                                    : fields_write_one(object, field, pass);
  }
  return ok;
}

static bool add_launches(cJSON *result, const struct report_row *row) {
  cJSON *array = cJSON_AddArrayToObject(result, "launches");
  bool ok = array != NULL;
  for (uint32_t i = 0; i < row->record->plan.pass_count && ok; ++i) {
    ok = add_launch(json_add_element(array), &row->record->pass[i], &row->metrics.pass[i]);
  }
  return ok;
}

static bool add_findings(cJSON *result, const struct report_row *row) {
  cJSON *array = cJSON_AddArrayToObject(result, "findings");
  bool ok = array != NULL;
  for (size_t i = 0; i < row->findings.count && ok; ++i) {
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
    ok = fields_write(json_add_element(array), finding_fields, &view);
  }
  return ok;
}

static bool add_scaling(cJSON *result, const struct report_row *row) {
  const struct scaling *scaling = &row->scaling;
  if (!scaling->known) return add_null(result, "scaling");
  cJSON *object = cJSON_AddObjectToObject(result, "scaling");
  return fields_write(object, report_scaling_fields, scaling) &&
         fields_add(object, "time_ratio", scaling->timed, time_ratio_fields, scaling) &&
         fields_add(object, "residual", scaling->timed, residual_fields, scaling) &&
         fields_add(object, "us_per_bh", scaling->timed, us_per_bh_fields, scaling);
}

/* Only rows that a profiler counted have the key. */
static bool add_counters(cJSON *result, const struct report_row *row) {
  const struct counter_record *counters = &row->record->counters;
  const struct counted *counted = &row->metrics.counted;
  if (!counters->done) return true;
  cJSON *object = cJSON_AddObjectToObject(result, "counters");
  return fields_write(object, record_counter_head_fields, counters) &&
         fields_write(object, record_counter_value_fields, &counted->total) &&
         fields_add(object, "top_stall", counted->top_stall.known, record_counter_stall_fields,
                    &counted->top_stall) &&
         fields_write(object, report_counter_fields, &counted->metrics) &&
         fields_write(object, record_counter_passes_fields, counters);
}

static bool add_conclusions(cJSON *result, const struct report_row *row) {
  return add_findings(result, row) && add_scaling(result, row);
}

/* A result is the record with what is derived from it: in the place of some rows of its table, and behind others. */
static const struct derived {
  const char *key; /* of record_fields */
  bool (*instead)(cJSON *result, const struct report_row *), (*behind)(cJSON *result, const struct report_row *);
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

static bool add_result(cJSON *result, const struct report_row *row) {
  bool ok = true;
  for (const struct field *field = record_fields; field->key != NULL && ok; ++field) {
    const struct derived *more = derived_of(field->key);
    ok = more->instead != NULL ? more->instead(result, row) : fields_write_one(result, field, row->record);
    if (ok && more->behind != NULL) ok = more->behind(result, row);
  }
  return ok;
}

/* ---- parts of the report ------------------------------------------------------------------------------------- */

/* The tool that measured, which need not be the one that writes this report. */
static bool add_tool(cJSON *root, const struct run_info *run) {
  struct run_info named = *run;
  if (named.tool[0] == '\0') snprintf(named.tool, sizeof named.tool, "attnbench");
  return fields_write(cJSON_AddObjectToObject(root, "tool"), report_tool_fields, &named);
}

static bool add_run(cJSON *root, const struct report *report) {
  const struct journal_data *journal = report->journal;
  struct run_cost cost = {.wall_s = strcmp(journal->state, "partial") != 0 ? journal->wall_s : NAN};
  for (size_t i = 0; i < report->row_count; ++i) cost.gpu_s += report->rows[i].record->gpu_s;
  cost.overhead_s = cost.wall_s - cost.gpu_s;
  cJSON *run = cJSON_AddObjectToObject(root, "run");
  return fields_write(run, report_run_fields, journal) && fields_write(run, cost_fields, &cost);
}

/* All cards of a run with --devices, the first one too. */
static bool add_cards(cJSON *root, const struct journal_data *journal) {
  if (journal->card_count == 0) return true;
  cJSON *list = cJSON_AddArrayToObject(root, "cards");
  bool ok = list != NULL;
  for (size_t i = 0; i < journal->card_count && ok; ++i)
    ok = fields_write(json_add_element(list), record_device_fields, &journal->card[i]);
  return ok;
}

static bool add_devices(cJSON *root, const struct journal_data *journal) {
  const struct device_line device = {
      .info = journal->device, .event_overhead_us = journal->event_overhead_us, .policy = journal->policy};
  const struct device_line planned = {.info = journal->planned_device};
  return fields_add(root, "device", journal->has_device, record_device_fields, &device) && add_cards(root, journal) &&
         fields_add(root, "planned_device", journal->has_planned_device, record_device_fields, &planned);
}

static bool add_sweep(cJSON *root, const struct run_info *run) {
  return fields_write(cJSON_AddObjectToObject(root, "sweep"), record_sweep_fields, run);
}

/* Empty: json_write_list has its elements. */
static bool add_results(cJSON *root) { return cJSON_AddArrayToObject(root, "results") != NULL; }

static bool add_summary(cJSON *root, const struct report *report) {
  cJSON *summary = cJSON_AddObjectToObject(root, "summary");
  json_add_uint(summary, "cells", report->row_count);
  for (enum cell_status status = 0; status < CELL_STATUS_COUNT; ++status) {
    json_add_uint(summary, cell_status_name(status), report->status_count[status]);
  }
  json_add_uint(summary, "exit_code", report->exit_code);
  return cJSON_GetArraySize(summary) == CELL_STATUS_COUNT + 2;
}

static bool add_report(cJSON *root, const struct report *report) {
  return add_text(root, "schema", REPORT_SCHEMA) && add_tool(root, &report->journal->run) && add_run(root, report) &&
         add_devices(root, report->journal) && add_sweep(root, &report->journal->run) && add_results(root) &&
         add_summary(root, report);
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

static cJSON *result_at(const void *report, size_t index) {
  const struct report_row *row = &((const struct report *)report)->rows[index];
  cJSON *result = cJSON_CreateObject();
  if (result != NULL && add_result(result, row)) return result;
  cJSON_Delete(result);
  return NULL;
}

struct status report_write_json(const struct report *report, FILE *file) {
  const struct json_list results = {.key = "results", .count = report->row_count, .element = result_at, .of = report};
  cJSON *root = cJSON_CreateObject();
  return json_write_list(root, root != NULL && add_report(root, report), &results, "a report", file);
}
