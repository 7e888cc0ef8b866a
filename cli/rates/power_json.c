/* The rates of the gate as JSON. */

#include "cli/rates/power.h"
#include "cli/record/field_tables.h"

#define SELFTEST_SCHEMA "attnbench.selftest/1"

static const struct field row_fields[] = {
    FIELD("key", NAME, struct compare_power_row, key),
    FIELD("variant", NAME, struct compare_power_row, variant),
    FIELD("mode", ENUM, struct compare_power_row, mode, .name = time_mode_name),
    FIELD("median_us", F64, struct compare_power_row, median_us),
    FIELD("spread_ratio", F64, struct compare_power_row, spread_ratio),
    FIELD("threshold", F64, struct compare_power_row, threshold),
    FIELD("false_alarms", U64, struct compare_power_row, false_alarms),
    FIELD("inconclusive", U64, struct compare_power_row, inconclusive),
    FIELD("found_2_percent", F64, struct compare_power_row, found_2_percent),
    FIELD("found_3_percent", F64, struct compare_power_row, found_3_percent),
    FIELD("slowdown_80", F64, struct compare_power_row, slowdown_80),
    FIELD("slowdown_99", F64, struct compare_power_row, slowdown_99),
    {0},
};

static const struct field suite_fields[] = {
    FIELD("paired", BOOL, struct compare_power, settings.compare.paired),
    FIELD("suites", U64, struct compare_power, suites),
    FIELD("false_alarms", U64, struct compare_power, failed),
    FIELD("false_alarms_upper", F64, struct compare_power, failed_upper),
    FIELD("inconclusive", U64, struct compare_power, undecided),
    FIELD("inconclusive_upper", F64, struct compare_power, undecided_upper),
    FIELD("least_found_2_percent", F64, struct compare_power, least_2_percent),
    FIELD("least_found_3_percent", F64, struct compare_power, least_3_percent),
    FIELD("least_found_2_percent_lower", F64, struct compare_power, least_2_percent_lower),
    FIELD("least_found_3_percent_lower", F64, struct compare_power, least_3_percent_lower),
    FIELD("whole_found_2_percent", F64, struct compare_power, whole_2_percent),
    FIELD("whole_found_3_percent", F64, struct compare_power, whole_3_percent),
    FIELD("whole_suites", U64, struct compare_power, whole_suites),
    FIELD("suite_false_alarms", U64, struct compare_power, suite_failed),
    FIELD("uniform_1_percent_found", F64, struct compare_power, uniform_1_percent),
    FIELD("uniform_1_percent_lower", F64, struct compare_power, uniform_1_percent_lower),
    FIELD("uniform_suites", U64, struct compare_power, uniform_suites),
    FIELD("leftover", BOOL, struct compare_power, leftover),
    FIELD("pairs", U64, struct compare_power, pairs),
    FIELD("pairs_of_row", F64, struct compare_power, pairs_of_row),
    {0},
};

static const struct field control_fields[] = {
    FIELD("key", NAME, struct compare_power_control, key),
    FIELD("variant", NAME, struct compare_power_control, variant),
    FIELD("mode", ENUM, struct compare_power_control, mode, .name = time_mode_name),
    FIELD("percent", F64, struct compare_power_control, percent),
    FIELD("injected_ratio", F64, struct compare_power_control, injected_ratio),
    FIELD("time_ratio", F64, struct compare_power_control, time_ratio),
    FIELD("verdict", ENUM, struct compare_power_control, verdict, .name = verdict_at),
    FIELD_LABEL_OF("reason", struct compare_power_control, reason),
    {0},
};

static const struct field method_fields[] = {
    FIELD("processes", U32, struct compare_power, processes),
    FIELD("rounds", U32, struct compare_power, settings.rounds),
    FIELD("trials", U32, struct compare_power, trials),
    FIELD("rows_tried", U64, struct compare_power, rows_tried),
    FIELD("seed", U64, struct compare_power, settings.seed),
    FIELD("threshold", F64, struct compare_power, settings.compare.threshold),
    {0},
};

static const struct field source_fields[] = {
    FIELD_TEXT_OF("device", struct journal_data, device.name),
    FIELD_TEXT_OF("driver", struct journal_data, device.driver),
    FIELD_TEXT_OF("sweep", struct journal_data, run.sweep_name),
    FIELD_TEXT_OF("sweep_hash", struct journal_data, run.sweep_hash),
    FIELD_TEXT_OF("version", struct journal_data, run.version),
    FIELD_TEXT_OF("git_commit", struct journal_data, run.git_commit),
    FIELD_TEXT_OF("started_utc", struct journal_data, run.started_utc),
    {0},
};

struct status power_json_write(const struct compare_power_report *report, FILE *file) {
  const struct compare_power *power = report->power;
  cJSON *root = cJSON_CreateObject();
  json_add_string(root, "schema", SELFTEST_SCHEMA);
  fields_add(root, "evidence", true, source_fields, report->evidence);
  fields_add(root, "method", true, method_fields, power);
  cJSON *suites = cJSON_AddArrayToObject(root, "suites"), *controls = cJSON_AddArrayToObject(root, "controls");
  cJSON *rows = cJSON_AddArrayToObject(root, "cases");
  for (size_t i = 0; i < report->power_count; ++i) fields_write(json_add_element(suites), suite_fields, &power[i]);
  for (size_t i = 0; i < report->control_count; ++i)
    fields_write(json_add_element(controls), control_fields, &report->control[i]);
  for (size_t i = 0; i < power->row_count; ++i) fields_write(json_add_element(rows), row_fields, &power->rows[i]);
  return json_write(root, "the self-test's JSON", file);
}
