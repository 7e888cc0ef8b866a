/* A JSON report back into the facts it was made from. Derived keys are not looked at, except between_processes. */
#include "cli/base/owned.h"
#include "cli/report/views.h"

/* *known arrives as false. */
static struct status read_device(const struct json_doc *doc, const char *key, bool *known, struct device_line *out) {
  const cJSON *item = json_get(doc->root, key);
  if (item == NULL) return json_error(doc, doc->root, false, "has no \"%s\"", key);
  if (cJSON_IsNull(item)) return status_ok();
  *known = true;
  fields_unknown(record_device_fields, out);
  return fields_read(doc, item, record_device_fields, out);
}

static struct status read_card(const struct json_doc *doc, const cJSON *item, struct journal_data *out) {
  struct device_line card = {.event_overhead_us = 0};
  fields_unknown(record_device_fields, &card);
  TRY(fields_read(doc, item, record_device_fields, &card));
  const struct status status = cards_add(out, &card);
  return status_failed(&status) ? json_error(doc, item, false, "%s", status.text) : status;
}

static struct status read_cards(const struct json_doc *doc, struct journal_data *out) {
  const cJSON *list = json_get(doc->root, "cards");
  if (list == NULL) return status_ok();
  if (!cJSON_IsArray(list)) return json_error(doc, list, false, "is no array");
  for (const cJSON *item = list->child; item != NULL; item = item->next) TRY(read_card(doc, item, out));
  return status_ok();
}

static struct status read_devices(const struct json_doc *doc, struct journal_data *out) {
  struct device_line device = {.event_overhead_us = 0}, planned = {.event_overhead_us = 0};
  struct status status = read_device(doc, "device", &out->has_device, &device);
  if (!status_failed(&status)) status = read_device(doc, "planned_device", &out->has_planned_device, &planned);
  out->device = device.info;
  out->policy = device.policy;
  out->event_overhead_us = device.event_overhead_us;
  out->planned_device = planned.info;
  return status_failed(&status) ? status : read_cards(doc, out);
}

static bool is_threshold(double percent) {
  return percent >= SWEEP_GATE_PERCENT_MIN && percent <= SWEEP_GATE_PERCENT_MAX;
}

static struct status check_gate(const struct json_doc *doc, const cJSON *sweep, const struct sweep_gate *gate) {
  bool is_sound = gate->threshold_percent == 0 || is_threshold(gate->threshold_percent);
  for (uint32_t i = 0; i < gate->case_count; ++i)
    is_sound = is_sound && is_threshold(gate->cases[i].threshold_percent);
  if (is_sound) return status_ok();
  return json_error(doc, json_get(sweep, "gate"), false, "has a threshold that is not from %g to %g percent",
                    SWEEP_GATE_PERCENT_MIN, SWEEP_GATE_PERCENT_MAX);
}

static struct status read_run(const struct json_doc *doc, struct journal_data *out) {
  const cJSON *tool = json_get(doc->root, "tool"), *run = json_get(doc->root, "run"), *wall = json_get(run, "wall_s"),
              *sweep = json_get(doc->root, "sweep");
  const struct {
    const char *key;
    const cJSON *item;
    const struct field *fields;
    void *base;
  } parts[] = {{"tool", tool, report_tool_fields, &out->run},
               {"run", run, report_run_fields, out},
               {"sweep", sweep, record_sweep_fields, &out->run}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (parts[i].item == NULL) return json_error(doc, doc->root, false, "has no \"%s\"", parts[i].key);
    TRY(fields_read_part(doc, parts[i].item, parts[i].fields, parts[i].base));
  }
  if (cJSON_IsNumber(wall)) out->wall_s = wall->valuedouble;
  return check_gate(doc, sweep, &out->run.gate);
}

/* Derived values are computed anew. The interval between processes is read only to be compared: a difference means
 * that the file was changed. */
static struct status check_between(const struct json_doc *doc, const cJSON *item, const struct record *record) {
  static const char *const keys[] = {"median_us", "ci_low_us", "ci_high_us"};
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    const cJSON *between = json_get(json_get(item, "between_processes"), time_mode_name(mode));
    if (between == NULL) continue;
    const struct process_interval interval = process_interval_of(&record->process[mode]);
    const double own_us[] = {interval.median_us, interval.low_us, interval.high_us};
    for (size_t i = 0; interval.processes > 0 && i < sizeof keys / sizeof *keys; ++i) {
      const cJSON *us = json_get(between, keys[i]);
      if (!derived_follows(us, own_us[i]))
        return json_error(doc, us, false, "does not follow from the %s times of the row's processes, which give %.9g",
                          time_mode_name(mode), own_us[i]);
    }
  }
  return status_ok();
}

static struct status read_results(const struct json_doc *doc, struct journal_data *out) {
  const cJSON *list = json_get(doc->root, "results");
  if (!cJSON_IsArray(list)) return json_error(doc, doc->root, false, "has no array \"results\"");
  TRY(owned_array(&out->records, (size_t)cJSON_GetArraySize(list), sizeof *out->records, "results"));
  for (const cJSON *item = list->child; item != NULL; item = item->next) {
    struct record *record = &out->records[out->record_count++];
    TRY(record_read(doc, item, record));
    TRY(check_between(doc, item, record));
  }
  return journal_check_unique(out, doc, list);
}

static struct status read_all(const struct json_doc *doc, struct journal_data *out) {
  TRY(json_check_unique(doc));
  TRY(read_run(doc, out));
  TRY(read_devices(doc, out));
  TRY(read_results(doc, out));
  if (out->record_count > 0 && !out->has_device && !out->has_planned_device)
    return json_error(doc, doc->root, false, "has results but no device");
  TRY(validate_summary(doc, out));
  out->is_complete_as_is = json_get(json_get(doc->root, "summary"), "exit_code")->valuedouble == EXIT_CODE_OK;
  return validate_data(doc->path, out);
}

struct status report_read(const struct json_doc *doc, struct journal_data *out) {
  *out = (struct journal_data){0};
  const struct status status = read_all(doc, out);
  if (status_failed(&status)) journal_free(out);
  return status;
}
