/* A comparison as JSON. */

#include "cli/gate/sinks.h"
#include "cli/report/views.h"

#define COMPARE_SCHEMA "attnbench.compare/1"

/* ---- tables -------------------------------------------------------------------------------------------------- */

static const struct field floor_fields[] = {
    FIELD("cold", F64, struct compare_settings, floor_us[TIME_COLD]),
    FIELD("hot", F64, struct compare_settings, floor_us[TIME_HOT]),
    {0},
};

static bool judges_steady(const void *settings) {
  return ((const struct compare_settings *)settings)->modes[TIME_STEADY];
}

static const struct field mode_fields[] = {
    FIELD("cold", BOOL, struct compare_settings, modes[TIME_COLD]),
    FIELD("hot", BOOL, struct compare_settings, modes[TIME_HOT]),
    FIELD("steady", BOOL, struct compare_settings, modes[TIME_STEADY], .known = judges_steady, .left_out = true),
    {0},
};

static const struct field override_fields[] = {
    FIELD_TEXT_OF("glob", struct compare_override, glob),
    FIELD("threshold_ratio", F64, struct compare_override, threshold),
    {0},
};

static const struct field settings_fields[] = {
    FIELD("threshold_ratio", F64, struct compare_settings, threshold),
    FIELD("paired", BOOL, struct compare_settings, paired),
    FIELD("once", BOOL, struct compare_settings, once),
    FIELD("order_seed", U64, struct compare_settings, order_seed),
    FIELD("allow_new", BOOL, struct compare_settings, allow_new),
    FIELD("noise_is_ok", BOOL, struct compare_settings, noise_is_ok),
    {.key = "floor_us", .kind = FIELD_OBJECT, .fields = floor_fields},
    {.key = "modes", .kind = FIELD_OBJECT, .fields = mode_fields},
    FIELD_ARRAY_OF("overrides", struct compare_settings, override, override_count, override_fields),
    {0},
};

static const struct field difference_fields[] = {
    FIELD_TEXT_OF("key", struct compare_difference, key),
    FIELD_TEXT_OF("base", struct compare_difference, base),
    FIELD_TEXT_OF("new", struct compare_difference, now),
    FIELD("fatal", BOOL, struct compare_difference, fatal),
    {0},
};

static const struct field identity_fields[] = {
    FIELD("comparable", BOOL, struct compare, comparable),
    FIELD_ARRAY_OF("differences", struct compare, difference, difference_count, difference_fields),
    {0},
};

static const struct field status_fields[] = {
    FIELD("status", ENUM, struct record, status, .name = cell_status_name),
    FIELD_LABEL_OF("reason", struct record, reason),
    {0},
};

static const struct field side_fields[] = {
    FIELD("processes", U32, struct compare_side, processes),
    FIELD("median_us", F64, struct compare_side, median_us),
    FIELD("spread_ratio", F64, struct compare_side, spread_ratio),
    FIELD("sm_clock_mhz", F64, struct compare_side, sm_clock_mhz),
    {0},
};

static const struct field verdict_fields[] = {
    FIELD("verdict", ENUM, struct compare_row, verdict, .name = verdict_at),
    FIELD_LABEL_OF("reason", struct compare_row, reason),
    FIELD("threshold_ratio", F64, struct compare_row, threshold),
    {0},
};

static const struct field ratio_fields[] = {
    FIELD("time_ratio", F64, struct compare_row, ratio),
    FIELD("bound_low_ratio", F64, struct compare_row, ci_low),
    FIELD("bound_high_ratio", F64, struct compare_row, ci_high),
    FIELD("confidence_ratio", F64, struct compare_row, confidence),
    FIELD("cycles_ratio", F64, struct compare_row, cycles_ratio),
    {0},
};

static const struct field suspect_fields[] = {
    FIELD("was_suspect", BOOL, struct compare_row, was_suspect),
    FIELD("first_time_ratio", F64, struct compare_row, first_ratio),
    {0},
};

static const struct field row_fields[] = {
    FIELD("key", NAME, struct compare_row, key),
    FIELD("variant", NAME, struct compare_row, variant),
    FIELD("mode", ENUM, struct compare_row, mode, .name = time_mode_name),
    FIELD_PART_OF("verdict", verdict_fields),
    FIELD("event_overhead_us", F64, struct compare_row, event_overhead_us),
    FIELD_PART_OF("ratios", ratio_fields),
    FIELD("rounds_needed", U32, struct compare_row, rounds_needed),
    FIELD_PART_OF("suspect", suspect_fields),
    {0},
};

static const struct field suite_fields[] = {
    FIELD_PART_OF("verdict", verdict_fields),
    FIELD_PART_OF("ratios", ratio_fields),
    FIELD_PART_OF("suspect", suspect_fields),
    {0},
};

/* ---- parts --------------------------------------------------------------------------------------------------- */

static void add_report(cJSON *root, const char *key, const struct journal_data *journal) {
  const struct device_line device = {
      .info = journal->device, .event_overhead_us = journal->event_overhead_us, .policy = journal->policy};
  cJSON *object = cJSON_AddObjectToObject(root, key);
  fields_add(object, "tool", true, record_tool_fields, &journal->run);
  fields_add(object, "run", true, report_run_fields, journal);
  fields_add(object, "sweep", true, record_sweep_name_fields, &journal->run);
  fields_add(object, "device", journal->has_device, record_device_fields, &device);
}

static void add_side(cJSON *row, const char *key, const struct compare_side *side, enum time_mode mode) {
  if (side->record == NULL) {
    cJSON_AddNullToObject(row, key);
    return;
  }
  const struct process_record *process = &side->record->process[mode];
  cJSON *object = cJSON_AddObjectToObject(row, key);
  fields_write(object, status_fields, side->record);
  fields_write(object, side_fields, side);
  cJSON *medians = cJSON_AddArrayToObject(object, "process_median_us");
  for (uint32_t i = 0; i < process->count && i < PROCESSES_MAX; ++i)
    json_append(medians, json_new_number(process->median_us[i]));
}

static cJSON *row_at(const void *of, size_t index) {
  const struct compare *compare = of;
  const struct compare_row *row = &compare->rows[index];
  cJSON *object = cJSON_CreateObject();
  char command[COMPARE_COMMAND_MAX];
  again_command(compare, row, command, sizeof command);
  fields_write(object, row_fields, row);
  add_side(object, "base", &row->base, row->mode);
  add_side(object, "new", &row->now, row->mode);
  json_add_string(object, "command", command);
  return object;
}

static void add_suite(cJSON *root, const struct compare *compare) {
  if (!sinks_has_suite(compare)) {
    cJSON_AddNullToObject(root, "suite");
    return;
  }
  cJSON *object = cJSON_AddObjectToObject(root, "suite");
  json_add_uint(object, "rows", compare->suite_rows);
  fields_write(object, suite_fields, &compare->suite);
}

static void add_pairs(cJSON *root, const struct compare *compare) {
  if (compare->pairs == 0) return;
  cJSON *object = cJSON_AddObjectToObject(root, "pairs");
  json_add_uint(object, "measured", compare->pairs);
  json_add_uint(object, "most", compare->pairs_most);
  json_add_uint(object, "rows_clear_before", sinks_clear_before(compare));
  json_add_string(object, "stopped", sinks_stop(compare));
}

static void add_summary(cJSON *root, const struct compare *compare) {
  cJSON *summary = cJSON_AddObjectToObject(root, "summary");
  json_add_uint(summary, "rows", compare->row_count);
  json_add_uint(summary, "expected", sinks_expected(compare));
  json_add_uint(summary, "compared", compare->compared);
  for (enum compare_verdict verdict = 0; verdict < COMPARE_VERDICT_COUNT; ++verdict)
    json_add_uint(summary, verdict_name(verdict), compare->verdict_count[verdict]);
  json_add_uint(summary, "exit_code", (uint64_t)compare->exit_code);
}

struct status verdict_json_write(const struct compare *compare, FILE *file) {
  const struct json_list rows = {.key = "rows", .count = compare->row_count, .element = row_at, .of = compare};
  cJSON *root = cJSON_CreateObject();
  json_add_string(root, "schema", COMPARE_SCHEMA);
  add_report(root, "base", compare->base);
  add_report(root, "new", compare->now);
  fields_add(root, "settings", true, settings_fields, &compare->settings);
  add_pairs(root, compare);
  fields_add(root, "identity", true, identity_fields, compare);
  add_suite(root, compare);
  cJSON_AddArrayToObject(root, "rows"); /* json_write_list has its elements */
  add_summary(root, compare);
  return json_write_list(root, &rows, "a comparison", file);
}
