/* A comparison as JSON. */
#include <math.h>

#include "cli/gate/sinks.h"
#include "cli/record/field_tables.h"
#include "cli/report/views.h"

#define COMPARE_SCHEMA "attnbench.compare/1"

/* Every add_* returns false when memory is out; nothing else can go wrong. */

/* ---- tables -------------------------------------------------------------------------------------------------- */

static const struct field settings_fields[] = {
    FIELD("threshold_ratio", F64, struct compare_settings, threshold),
    FIELD("paired", BOOL, struct compare_settings, paired),
    FIELD("once", BOOL, struct compare_settings, once),
    FIELD("order_seed", U64, struct compare_settings, order_seed),
    FIELD("allow_new", BOOL, struct compare_settings, allow_new),
    FIELD("noise_is_ok", BOOL, struct compare_settings, noise_is_ok),
    {0},
};

static const struct field floor_fields[] = {
    FIELD("cold", F64, struct compare_settings, floor_us[TIME_COLD]),
    FIELD("hot", F64, struct compare_settings, floor_us[TIME_HOT]),
    {0},
};

static const struct field mode_fields[] = {
    FIELD("cold", BOOL, struct compare_settings, modes[TIME_COLD]),
    FIELD("hot", BOOL, struct compare_settings, modes[TIME_HOT]),
    {0},
};

static const struct field override_fields[] = {
    FIELD_TEXT_OF("glob", struct compare_override, glob),
    FIELD("threshold_ratio", F64, struct compare_override, threshold),
    {0},
};

static const struct field difference_fields[] = {
    FIELD_TEXT_OF("key", struct compare_difference, key),
    FIELD_TEXT_OF("base", struct compare_difference, base),
    FIELD_TEXT_OF("new", struct compare_difference, now),
    FIELD("fatal", BOOL, struct compare_difference, fatal),
    {0},
};

static const struct field status_fields[] = {
    FIELD("status", ENUM, struct record, status, .name = record_status_name),
    FIELD("reason", LABEL, struct record, reason, .capacity = RECORD_REASON_MAX),
    {0},
};

static const struct field side_fields[] = {
    FIELD("processes", U32, struct compare_side, processes),
    FIELD("median_us", F64, struct compare_side, median_us),
    FIELD("spread_ratio", F64, struct compare_side, spread_ratio),
    FIELD("sm_clock_mhz", F64, struct compare_side, sm_clock_mhz),
    {0},
};

static const struct field row_fields[] = {
    FIELD("key", NAME, struct compare_row, key),
    FIELD("variant", NAME, struct compare_row, variant),
    FIELD("mode", ENUM, struct compare_row, mode, .name = record_mode_name),
    FIELD("verdict", ENUM, struct compare_row, verdict, .name = verdict_at),
    FIELD("reason", LABEL, struct compare_row, reason, .capacity = COMPARE_TEXT_MAX),
    FIELD("threshold_ratio", F64, struct compare_row, threshold),
    FIELD("event_overhead_us", F64, struct compare_row, event_overhead_us),
    FIELD("time_ratio", F64, struct compare_row, ratio),
    FIELD("bound_low_ratio", F64, struct compare_row, ci_low),
    FIELD("bound_high_ratio", F64, struct compare_row, ci_high),
    FIELD("confidence_ratio", F64, struct compare_row, confidence),
    FIELD("cycles_ratio", F64, struct compare_row, cycles_ratio),
    FIELD("rounds_needed", U32, struct compare_row, rounds_needed),
    FIELD("was_suspect", BOOL, struct compare_row, was_suspect),
    FIELD("first_time_ratio", F64, struct compare_row, first_ratio),
    {0},
};

/* ---- parts --------------------------------------------------------------------------------------------------- */

static bool add_report(cJSON *root, const char *key, const struct journal_data *journal) {
  const struct device_line device = {
      .info = journal->device, .event_overhead_us = journal->event_overhead_us, .policy = journal->policy};
  cJSON *object = cJSON_AddObjectToObject(root, key);
  return object != NULL && fields_add(object, "tool", true, record_tool_fields, &journal->run) &&
         fields_add(object, "run", true, report_run_fields, journal) &&
         fields_add(object, "sweep", true, record_sweep_name_fields, &journal->run) &&
         fields_add(object, "device", journal->has_device, record_device_fields, &device);
}

static bool add_settings(cJSON *root, const struct compare_settings *settings) {
  cJSON *object = cJSON_AddObjectToObject(root, "settings");
  bool ok = object != NULL && fields_write(object, settings_fields, settings) &&
            fields_add(object, "floor_us", true, floor_fields, settings) &&
            fields_add(object, "modes", true, mode_fields, settings);
  cJSON *array = ok ? cJSON_AddArrayToObject(object, "overrides") : NULL;
  for (size_t i = 0; i < settings->override_count && array != NULL && ok; ++i) {
    ok = fields_write(json_add_element(array), override_fields, &settings->override[i]);
  }
  return ok && array != NULL;
}

static bool add_identity(cJSON *root, const struct compare *compare) {
  cJSON *object = cJSON_AddObjectToObject(root, "identity");
  json_add_bool(object, "comparable", compare->comparable);
  cJSON *array = cJSON_AddArrayToObject(object, "differences");
  bool ok = array != NULL && cJSON_GetArraySize(object) == 2;
  for (size_t i = 0; i < compare->difference_count && ok; ++i) {
    ok = fields_write(json_add_element(array), difference_fields, &compare->difference[i]);
  }
  return ok;
}

static bool add_medians(cJSON *object, const struct process_record *process) {
  cJSON *array = cJSON_AddArrayToObject(object, "process_median_us");
  bool ok = array != NULL;
  for (uint32_t i = 0; i < process->count && i < PROCESSES_MAX && ok; ++i) {
    char number[32];
    json_format_number(process->median_us[i], number);
    cJSON *item = isfinite(process->median_us[i]) ? cJSON_CreateRaw(number) : cJSON_CreateNull();
    ok = cJSON_AddItemToArray(array, item);
    if (!ok) cJSON_Delete(item);
  }
  return ok;
}

static bool add_side(cJSON *row, const char *key, const struct compare_side *side, enum time_mode mode) {
  if (side->record == NULL) return cJSON_AddNullToObject(row, key) != NULL;
  cJSON *object = cJSON_AddObjectToObject(row, key);
  return fields_write(object, status_fields, side->record) && fields_write(object, side_fields, side) &&
         add_medians(object, &side->record->process[mode]);
}

static bool add_row(cJSON *object, const struct compare *compare, const struct compare_row *row) {
  char command[COMPARE_COMMAND_MAX];
  again_command(compare, row, command, sizeof command);
  if (!fields_write(object, row_fields, row) || !add_side(object, "base", &row->base, row->mode) ||
      !add_side(object, "new", &row->now, row->mode)) {
    return false;
  }
  json_add_string(object, "command", command);
  return cJSON_HasObjectItem(object, "command");
}

/* Empty: json_write_list has its elements. */
static bool add_rows(cJSON *root) { return cJSON_AddArrayToObject(root, "rows") != NULL; }

static cJSON *row_at(const void *of, size_t index) {
  const struct compare *compare = of;
  cJSON *object = cJSON_CreateObject();
  if (object != NULL && add_row(object, compare, &compare->rows[index])) return object;
  cJSON_Delete(object);
  return NULL;
}

static const struct field suite_fields[] = {
    FIELD("verdict", ENUM, struct compare_row, verdict, .name = verdict_at),
    FIELD("reason", LABEL, struct compare_row, reason, .capacity = COMPARE_TEXT_MAX),
    FIELD("threshold_ratio", F64, struct compare_row, threshold),
    FIELD("time_ratio", F64, struct compare_row, ratio),
    FIELD("bound_low_ratio", F64, struct compare_row, ci_low),
    FIELD("bound_high_ratio", F64, struct compare_row, ci_high),
    FIELD("confidence_ratio", F64, struct compare_row, confidence),
    FIELD("cycles_ratio", F64, struct compare_row, cycles_ratio),
    FIELD("was_suspect", BOOL, struct compare_row, was_suspect),
    FIELD("first_time_ratio", F64, struct compare_row, first_ratio),
    {0},
};

static bool add_suite(cJSON *root, const struct compare *compare) {
  if (!sinks_has_suite(compare)) return cJSON_AddNullToObject(root, "suite") != NULL;
  cJSON *object = cJSON_AddObjectToObject(root, "suite");
  json_add_uint(object, "rows", compare->suite_rows);
  return cJSON_HasObjectItem(object, "rows") && fields_write(object, suite_fields, &compare->suite);
}

static bool add_summary(cJSON *root, const struct compare *compare) {
  cJSON *summary = cJSON_AddObjectToObject(root, "summary");
  json_add_uint(summary, "rows", compare->row_count);
  json_add_uint(summary, "expected", sinks_expected(compare));
  json_add_uint(summary, "compared", compare->compared);
  for (enum compare_verdict verdict = 0; verdict < COMPARE_VERDICT_COUNT; ++verdict) {
    json_add_uint(summary, verdict_name(verdict), compare->verdict_count[verdict]);
  }
  json_add_uint(summary, "exit_code", (uint64_t)compare->exit_code);
  return cJSON_GetArraySize(summary) == COMPARE_VERDICT_COUNT + 4;
}

static bool add_compare(cJSON *root, const struct compare *compare) {
  json_add_string(root, "schema", COMPARE_SCHEMA);
  return cJSON_HasObjectItem(root, "schema") && add_report(root, "base", compare->base) &&
         add_report(root, "new", compare->now) && add_settings(root, &compare->settings) &&
         add_identity(root, compare) && add_suite(root, compare) && add_rows(root) && add_summary(root, compare);
}

struct status verdict_json_write(const struct compare *compare, FILE *file) {
  const struct json_list rows = {.key = "rows", .count = compare->row_count, .element = row_at, .of = compare};
  cJSON *root = cJSON_CreateObject();
  return json_write_list(root, root != NULL && add_compare(root, compare), &rows, "a comparison", file);
}
