#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record_fields.h"
#include "cli/report_fields.h"

/* Every add_* returns false when memory is out; nothing else can go wrong. */

struct tool_view {
  const char *name, *version, *git_commit, *cuda, *cjson;
};

struct run_view {
  const char *started_utc, *command, *filter, *state;
  uint64_t seed, cells;
  double wall_s, gpu_s, overhead_s;
};

struct finding_view {
  const char *id, *severity, *pass, *measured, *meaning, *advice;
};

static const char no_end[] = "the run did not end in order";

static const struct field tool_fields[] = {
    FIELD("name", NAME, struct tool_view, name),
    FIELD("version", NAME, struct tool_view, version),
    FIELD("git_commit", NAME, struct tool_view, git_commit),
    FIELD("cuda", NAME, struct tool_view, cuda),
    FIELD("cjson", NAME, struct tool_view, cjson),
    {0},
};

static const struct field run_fields[] = {
    FIELD("started_utc", NAME, struct run_view, started_utc),
    FIELD("command", NAME, struct run_view, command),
    FIELD("seed", U64, struct run_view, seed),
    FIELD("filter", NAME, struct run_view, filter),
    FIELD("cells", U64, struct run_view, cells),
    FIELD("state", NAME, struct run_view, state),
    FIELD("wall_s", F64, struct run_view, wall_s, .null_reason = no_end),
    FIELD("gpu_s", F64, struct run_view, gpu_s),
    FIELD("overhead_s", F64, struct run_view, overhead_s, .null_reason = no_end),
    {0},
};

static const struct field sweep_fields[] = {
    FIELD_TEXT_OF("path", struct run_info, sweep_path),
    FIELD_TEXT_OF("name", struct run_info, sweep_name),
    FIELD_TEXT_OF("about", struct run_info, sweep_about),
    FIELD_TEXT_OF("hash", struct run_info, sweep_hash),
    {0},
};

static const struct field baseline_fields[] = {
    FIELD("B", U32, struct sweep_baseline, B),
    FIELD("Hq", U32, struct sweep_baseline, Hq),
    {0},
};

static const struct field times_fields[] = {
    FIELD("cold", OPTIONAL, struct record, time[TIME_COLD], .fields = report_time_fields,
          .flag_offset = offsetof(struct time_record, done)),
    FIELD("hot", OPTIONAL, struct record, time[TIME_HOT], .fields = report_time_fields,
          .flag_offset = offsetof(struct time_record, done)),
    {0},
};

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

static const struct field check_field[] = {
    FIELD("check", OPTIONAL, struct record, check, .fields = report_check_fields,
          .flag_offset = offsetof(struct check_record, done)),
    {0},
};

static const struct field shape_field[] = {
    FIELD("shape", OBJECT, struct record, attn_case.shape, .fields = record_shape_fields),
    {0},
};

static const struct field finding_fields[] = {
    FIELD("id", NAME, struct finding_view, id),
    FIELD("severity", NAME, struct finding_view, severity),
    FIELD("pass", NAME, struct finding_view, pass),
    FIELD("measured", NAME, struct finding_view, measured),
    FIELD("meaning", NAME, struct finding_view, meaning),
    FIELD("advice", NAME, struct finding_view, advice),
    {0},
};

/* ---- parts of a result --------------------------------------------------------------------------------------- */

static bool add_null(cJSON *object, const char *key) { return cJSON_AddNullToObject(object, key) != NULL; }

static bool add_text(cJSON *object, const char *key, const char *text) {
  json_add_string(object, key, text);
  return cJSON_HasObjectItem(object, key);
}

/* The object, or null when `known` is false. */
static bool add_object(cJSON *object, const char *key, bool known, const struct field *fields, const void *base) {
  if (!known) return add_null(object, key);
  return fields_write(cJSON_AddObjectToObject(object, key), fields, base);
}

static cJSON *add_element(cJSON *array) {
  cJSON *element = cJSON_CreateObject();
  if (cJSON_AddItemToArray(array, element)) return element;
  cJSON_Delete(element);
  return NULL;
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
    ok = add_object(roof, time_mode_name(mode), has_roof(row, mode), report_roof_fields, &row->metrics.mode[mode]);
  }
  if (!ok || any) return ok;
  return add_text(result, "roof_reason", measured ? "no peak rate is known for this device" : "not measured");
}

static bool add_speedup_modes(cJSON *object, const struct speedup_record *speedup) {
  bool ok = fields_write(object, report_reference_fields, speedup);
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && ok; ++mode) {
    const struct ratio_record *ratio = &speedup->mode[mode];
    ok = add_object(object, time_mode_name(mode), ratio->done, report_ratio_fields, ratio);
  }
  return ok;
}

static bool add_speedup(cJSON *result, const struct speedup_record *speedup) {
  if (report_has_speedup(speedup)) {
    return add_speedup_modes(cJSON_AddObjectToObject(result, "speedup_vs"), speedup);
  }
  return add_null(result, "speedup_vs") &&
         add_text(result, "speedup_vs_reason", speedup->reason[0] != '\0' ? speedup->reason : "not measured");
}

static bool add_speed(cJSON *result, const struct report_row *row) {
  const bool measured = row->record->status == CELL_ok;
  return add_object(result, "time", measured, times_fields, row->record) &&
         add_object(result, "tflop_per_s", measured, tflop_fields, &row->metrics) &&
         add_object(result, "gb_per_s", measured, gb_fields, &row->metrics) && add_roof(result, row) &&
         add_speedup(result, &row->record->speedup);
}

static bool add_axis_covers(cJSON *launch, const struct attn_pass *pass) {
  cJSON *array = cJSON_AddArrayToObject(launch, "axis_covers");
  bool ok = array != NULL;
  for (size_t axis = 0; axis < 3 && ok; ++axis) {
    char text[16];
    report_covers_text(pass->covers[axis], text);
    ok = cJSON_AddItemToArray(array, cJSON_CreateString(text));
  }
  return ok;
}

static bool add_launches(cJSON *result, const struct report_row *row) {
  cJSON *array = cJSON_AddArrayToObject(result, "launches");
  bool ok = array != NULL;
  for (uint32_t i = 0; i < row->record->plan.pass_count && ok; ++i) {
    const struct pass_record *pass = &row->record->pass[i];
    const struct launch_view launch = report_launch_view(pass);
    cJSON *object = add_element(array);
    ok = fields_write(object, report_pass_fields, pass) && fields_write(object, report_launch_fields, &launch) &&
         add_axis_covers(object, &pass->pass) &&
         fields_write(object, report_pass_metrics_fields, &row->metrics.pass[i]) &&
         fields_write(object, report_pass_cost_fields, pass);
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
        .advice = finding->advice};
    ok = fields_write(add_element(array), finding_fields, &view);
  }
  return ok;
}

static bool add_scaling(cJSON *result, const struct scaling *scaling) {
  if (!scaling->known) return add_null(result, "scaling");
  cJSON *object = cJSON_AddObjectToObject(result, "scaling");
  return fields_write(object, report_scaling_fields, scaling) &&
         add_object(object, "time_ratio", scaling->timed, time_ratio_fields, scaling) &&
         add_object(object, "residual", scaling->timed, residual_fields, scaling);
}

static bool add_result(cJSON *result, const struct report_row *row) {
  const struct record *record = row->record;
  return add_text(result, "key", record->attn_case.key) && add_text(result, "variant", record->variant) &&
         fields_write(result, shape_field, record) && fields_write(result, report_cell_fields, record) &&
         (record->reason[0] != '\0' ? add_text(result, "reason", record->reason) : add_null(result, "reason")) &&
         fields_write(result, check_field, record) && fields_write(result, report_model_fields, &row->metrics) &&
         add_speed(result, row) &&
         add_object(result, "plan", record->plan.pass_count > 0 || record->plan.tile_q > 0, report_plan_fields,
                    &record->plan) &&
         add_launches(result, row) && add_findings(result, row) && add_scaling(result, &row->scaling) &&
         fields_write(result, report_wall_fields, record);
}

/* ---- parts of the report ------------------------------------------------------------------------------------- */

/* The tool that measured, which need not be the one that writes this report. */
static bool add_tool(cJSON *root, const struct run_info *run) {
  const struct tool_view tool = {.name = "attnbench",
                                 .version = run->version,
                                 .git_commit = run->git_commit,
                                 .cuda = run->cuda,
                                 .cjson = run->cjson};
  return add_object(root, "tool", true, tool_fields, &tool);
}

static bool add_run(cJSON *root, const struct report *report) {
  const struct journal_data *journal = report->journal;
  struct run_view run = {.started_utc = journal->run.started_utc,
                         .command = journal->run.command,
                         .filter = journal->run.filter[0] != '\0' ? journal->run.filter : NULL,
                         .state = journal->state,
                         .seed = journal->run.seed,
                         .cells = journal->run.cell_count,
                         .wall_s = strcmp(journal->state, "partial") != 0 ? journal->wall_s : NAN};
  for (size_t i = 0; i < report->row_count; ++i) run.gpu_s += report->rows[i].record->gpu_s;
  run.overhead_s = run.wall_s - run.gpu_s;
  return add_object(root, "run", true, run_fields, &run);
}

static bool add_devices(cJSON *root, const struct journal_data *journal) {
  const struct device_line device = {.info = journal->device, .event_overhead_us = journal->event_overhead_us};
  const struct device_line planned = {.info = journal->planned_device};
  return add_object(root, "device", journal->has_device, record_device_fields, &device) &&
         add_object(root, "planned_device", journal->has_planned_device, record_device_fields, &planned);
}

static bool add_sweep(cJSON *root, const struct run_info *run) {
  cJSON *sweep = cJSON_AddObjectToObject(root, "sweep");
  return fields_write(sweep, sweep_fields, run) &&
         add_object(sweep, "baseline", run->has_baseline, baseline_fields, &run->baseline);
}

static bool add_results(cJSON *root, const struct report *report) {
  cJSON *results = cJSON_AddArrayToObject(root, "results");
  bool ok = results != NULL;
  for (size_t i = 0; i < report->row_count && ok; ++i) {
    cJSON *result = add_element(results);
    ok = result != NULL && add_result(result, &report->rows[i]);
  }
  return ok;
}

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
         add_devices(root, report->journal) && add_sweep(root, &report->journal->run) && add_results(root, report) &&
         add_summary(root, report);
}

struct status report_write_json(const struct report *report, FILE *file) {
  cJSON *root = cJSON_CreateObject();
  char *text = root != NULL && add_report(root, report) ? cJSON_Print(root) : NULL;
  cJSON_Delete(root);
  if (text == NULL) return status_make(STATUS_MEMORY, "no memory for a report of %zu rows", report->row_count);
  fputs(text, file);
  fputc('\n', file);
  free(text);
  return status_ok();
}
