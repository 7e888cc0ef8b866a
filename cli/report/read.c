/* A JSON report back into the facts it was made from. Keys that are derived are not looked at. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/field_tables.h"
#include "cli/report/views.h"

/* ---- one result ---------------------------------------------------------------------------------------------- */

static const struct field residency_fields[] = {
    FIELD("resident_blocks", U32, struct pass_metrics, resident_blocks),
    FIELD("resident_exact", BOOL, struct pass_metrics, resident_exact),
    {0},
};

/* What is not known is 0 in the facts. */
static uint32_t count_of(double value) { return isnan(value) ? 0 : (uint32_t)value; }

/* The reverse of report_launch_view. A number of blocks that was only an upper bound is computed again. */
static void fill_facts(const struct launch_view *view, const struct pass_metrics *residency,
                       struct pass_record *out) {
  out->facts_known = !isnan(view->registers);
  if (out->facts_known) {
    out->facts.registers = count_of(view->registers);
    out->facts.static_smem_bytes = count_of(view->static_smem_bytes);
    out->facts.local_bytes = count_of(view->local_bytes);
  }
  if (residency->resident_exact) out->facts.resident_blocks = residency->resident_blocks;
  memcpy(out->facts.kernel_name, view->kernel, sizeof out->facts.kernel_name);
}

static bool is_count(double value) { return isnan(value) || (value >= 0 && value <= UINT32_MAX); }

static struct status read_launch(const struct json_doc *doc, const cJSON *item, struct pass_record *out) {
  struct launch_view view = {.registers = NAN};
  struct pass_metrics residency = {0};
  struct status status = fields_read_part(doc, item, report_pass_fields, out);
  if (!status_failed(&status)) status = fields_read_part(doc, item, report_cover_fields, out);
  if (!status_failed(&status)) status = fields_read_part(doc, item, report_launch_fields, &view);
  if (!status_failed(&status)) status = fields_read_part(doc, item, residency_fields, &residency);
  if (!status_failed(&status)) status = fields_read_part(doc, item, report_pass_cost_fields, out);
  if (status_failed(&status)) return status;
  if (!is_count(view.registers) || !is_count(view.static_smem_bytes) || !is_count(view.local_bytes))
    return json_error(doc, item, false, "has registers or bytes that no launch has");
  fill_facts(&view, &residency, out);
  return status;
}

static struct status read_launches(const struct json_doc *doc, const cJSON *list, struct record *out) {
  struct status status = status_ok();
  if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > ATTN_PASSES_MAX)
    return json_error(doc, list, false, "must be an array of at most %d launches", ATTN_PASSES_MAX);
  for (const cJSON *item = list->child; item != NULL && !status_failed(&status); item = item->next)
    status = read_launch(doc, item, &out->pass[out->plan.pass_count++]);
  return status;
}

/* A part that may be null: then nothing is known of it. */
static struct status read_nullable(const struct json_doc *doc, const cJSON *result, const char *key,
                                   const struct field *fields, void *base) {
  const cJSON *item = json_get(result, key);
  if (item == NULL) return json_error(doc, result, false, "has no \"%s\"", key);
  return cJSON_IsNull(item) ? status_ok() : fields_read(doc, item, fields, base);
}

static struct status read_speedup(const struct json_doc *doc, const cJSON *result, struct speedup_record *out) {
  const cJSON *reason = json_get(result, "speedup_vs_reason");
  if (cJSON_IsString(reason)) snprintf(out->reason, sizeof out->reason, "%s", reason->valuestring);
  return read_nullable(doc, result, "speedup_vs", report_speedup_fields, out);
}

static struct status read_counters(const struct json_doc *doc, const cJSON *result, struct counter_record *out) {
  const cJSON *item = json_get(result, "counters");
  if (item == NULL || cJSON_IsNull(item)) return status_ok();
  counter_record_start(out);
  out->done = true;
  struct status status = fields_read_part(doc, item, record_counter_head_fields, out);
  if (!status_failed(&status)) status = fields_read_part(doc, item, record_counter_passes_fields, out);
  if (status_failed(&status) || out->pass_count > 0) return status;
  return json_error(doc, item, false, "has no passes");
}

static struct status read_processes(const struct json_doc *doc, const cJSON *result, struct record *out) {
  const cJSON *processes = json_get(result, "processes");
  struct status status = status_ok();
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT && processes != NULL && !status_failed(&status); ++mode) {
    struct process_record *process = &out->process[mode];
    status = read_nullable(doc, processes, time_mode_name(mode), report_process_fields, process);
    if (status_failed(&status) || process->count == 0 || out->time[mode].done) continue;
    status = json_error(doc, processes, false, "has %s times beside no time.%s", time_mode_name(mode),
                        time_mode_name(mode));
  }
  return status;
}

static struct status read_result(const struct json_doc *doc, const cJSON *item, struct record *out) {
  record_start(out);
  struct status status = fields_read_part(doc, item, report_case_fields, out);
  if (!status_failed(&status)) status = fields_read_part(doc, item, report_cell_fields, out);
  if (!status_failed(&status)) status = fields_read_part(doc, item, report_checked_fields, out);
  if (!status_failed(&status)) status = fields_read_part(doc, item, report_wall_fields, out);
  if (!status_failed(&status)) status = fields_read_part(doc, item, report_injected_fields, out);
  if (!status_failed(&status)) status = read_nullable(doc, item, "time", report_times_fields, out);
  if (!status_failed(&status)) status = read_processes(doc, item, out);
  if (!status_failed(&status)) status = read_speedup(doc, item, &out->speedup);
  if (!status_failed(&status)) status = read_nullable(doc, item, "plan", report_plan_fields, &out->plan);
  if (!status_failed(&status)) status = read_counters(doc, item, &out->counters);
  const cJSON *launches = json_get(item, "launches");
  if (!status_failed(&status))
    status =
        launches != NULL ? read_launches(doc, launches, out) : json_error(doc, item, false, "has no \"launches\"");
  if (status_failed(&status)) return status;
  snprintf(out->variant_name, sizeof out->variant_name, "%.*s", (int)strcspn(out->variant, ":"), out->variant);
  status = record_finish(out);
  return status_failed(&status) ? json_error(doc, item, false, "%s", status.text) : status;
}

/* ---- the report ---------------------------------------------------------------------------------------------- */

static struct status read_device(const struct json_doc *doc, const char *key, bool *known, struct device_info *info,
                                 struct device_policy *policy, double *event_overhead_us) {
  struct device_line line = {.event_overhead_us = 0};
  const struct status status = read_nullable(doc, doc->root, key, record_device_fields, &line);
  const cJSON *item = json_get(doc->root, key);
  *known = !status_failed(&status) && cJSON_IsObject(item);
  *info = line.info;
  *policy = line.policy;
  *event_overhead_us = line.event_overhead_us;
  return status;
}

static bool is_threshold(double percent) {
  return percent >= SWEEP_GATE_PERCENT_MIN && percent <= SWEEP_GATE_PERCENT_MAX;
}

static struct status read_gate(const struct json_doc *doc, const cJSON *item, struct sweep_gate *out) {
  out->known = true;
  const struct status status = fields_read(doc, item, record_gate_fields, out);
  if (status_failed(&status)) return status;
  bool is_sound = out->threshold_percent == 0 || is_threshold(out->threshold_percent);
  for (uint32_t i = 0; i < out->case_count; ++i) is_sound = is_sound && is_threshold(out->cases[i].threshold_percent);
  if (is_sound) return status;
  return json_error(doc, item, false, "has a threshold that is not from %g to %g percent", SWEEP_GATE_PERCENT_MIN,
                    SWEEP_GATE_PERCENT_MAX);
}

static struct status read_sweep(const struct json_doc *doc, struct run_info *out) {
  const cJSON *sweep = json_get(doc->root, "sweep"), *baseline = json_get(sweep, "baseline");
  if (sweep == NULL) return json_error(doc, doc->root, false, "has no \"sweep\"");
  const cJSON *gate = json_get(sweep, "gate");
  struct status status = fields_read_part(doc, sweep, report_sweep_fields, out);
  out->has_baseline = cJSON_IsObject(baseline);
  if (!status_failed(&status) && gate != NULL) status = read_gate(doc, gate, &out->gate);
  if (status_failed(&status) || !out->has_baseline) return status;
  return fields_read(doc, baseline, report_baseline_fields, &out->baseline);
}

static struct status read_run(const struct json_doc *doc, struct journal_data *out) {
  const cJSON *tool = json_get(doc->root, "tool"), *run = json_get(doc->root, "run"), *wall = json_get(run, "wall_s");
  if (tool == NULL || run == NULL) return json_error(doc, doc->root, false, "has no \"tool\" or no \"run\"");
  struct status status = fields_read_part(doc, tool, report_tool_fields, &out->run);
  if (!status_failed(&status)) status = fields_read_part(doc, run, report_run_fields, out);
  if (cJSON_IsNumber(wall)) out->wall_s = wall->valuedouble;
  return status;
}

static struct status read_results(const struct json_doc *doc, struct journal_data *out) {
  const cJSON *list = json_get(doc->root, "results");
  if (!cJSON_IsArray(list)) return json_error(doc, doc->root, false, "has no array \"results\"");
  /* One allocation of the final size: a record points into itself and must not move. */
  out->records = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *out->records);
  if (out->records == NULL) return status_make(STATUS_MEMORY, "%s: no memory for its results", doc->path);
  struct status status = status_ok();
  for (const cJSON *item = list->child; item != NULL && !status_failed(&status); item = item->next)
    status = read_result(doc, item, &out->records[out->record_count++]);
  return status_failed(&status) ? status : journal_check_unique(out, doc, list);
}

struct status report_read(const struct json_doc *doc, struct journal_data *out) {
  double no_overhead_us;
  struct device_policy no_policy;
  *out = (struct journal_data){0};
  struct status status = json_check_unique(doc);
  if (!status_failed(&status)) status = read_run(doc, out);
  if (!status_failed(&status))
    status = read_device(doc, "device", &out->has_device, &out->device, &out->policy, &out->event_overhead_us);
  if (!status_failed(&status))
    status = read_device(doc, "planned_device", &out->has_planned_device, &out->planned_device, &no_policy,
                         &no_overhead_us);
  if (!status_failed(&status)) status = read_sweep(doc, &out->run);
  if (!status_failed(&status)) status = read_results(doc, out);
  if (!status_failed(&status) && out->record_count > 0 && !out->has_device && !out->has_planned_device)
    status = json_error(doc, doc->root, false, "has results but no device");
  if (status_failed(&status)) journal_free(out);
  return status;
}
