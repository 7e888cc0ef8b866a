/* Reads a table of times that was entered by hand. */
#include "cli/record/journal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/owned.h"
#include "cli/record/field_tables.h"
#include "cli/sweep/reading.h"
#include "kernels/gpu_models.h"

struct row {
  struct record record;
  char like[VARIANT_SPEC_MAX];
  double time_us[TIME_MODE_COUNT];
};

/* Keys of kind GONE are read apart. */
static const struct field header_fields[] = {
    FIELD_TEXT_OF("name", struct run_info, sweep_name),
    FIELD_TEXT_OF("about", struct run_info, sweep_about, .optional = true),
    FIELD("baseline", OBJECT, struct run_info, baseline, .fields = record_baseline_fields, .optional = true),
    {.key = "schema", .kind = FIELD_GONE},
    {.key = "gpu", .kind = FIELD_GONE},
    {.key = "defaults", .kind = FIELD_GONE},
    {.key = "rows", .kind = FIELD_GONE},
    {0},
};

static const struct field launch_fields[] = {
    FIELD_TEXT_OF("name", struct pass_record, name, .optional = true),
    FIELD("grid", U32X3, struct pass_record, pass.grid, .min = 1),
    FIELD("block", U32X3, struct pass_record, pass.block, .min = 1),
    FIELD("axis_covers", SETX3, struct pass_record, pass.covers, .name = attn_cover_name),
    FIELD("dynamic_smem_bytes", U32, struct pass_record, pass.dynamic_smem_bytes, .optional = true),
    FIELD("static_smem_bytes", U32, struct pass_record, facts.static_smem_bytes, .optional = true),
    FIELD("row_threads", U32, struct pass_record, pass.row_threads, .optional = true),
    FIELD("producer_threads", U32, struct pass_record, pass.producer_threads, .optional = true),
    FIELD("registers", U32, struct pass_record, facts.registers, .optional = true),
    FIELD("local_bytes", U32, struct pass_record, facts.local_bytes, .optional = true),
    FIELD("cold_us", F64, struct pass_record, cold_us, .optional = true),
    {0},
};

static const struct field row_fields[] = {
    FIELD_TEXT_OF("variant", struct row, record.variant),
    FIELD("math", ENUM, struct row, record.math, .name = record_math_name, .optional = true),
    {.key = "shape", .kind = FIELD_GONE},
    FIELD_TEXT_OF("like", struct row, like, .optional = true),
    FIELD("cold_us", F64, struct row, time_us[TIME_COLD], .optional = true),
    FIELD("hot_us", F64, struct row, time_us[TIME_HOT], .optional = true),
    FIELD("steady_us", F64, struct row, time_us[TIME_STEADY], .optional = true),
    FIELD("tile_q", U32, struct row, record.plan.tile_q, .min = 1, .optional = true),
    FIELD("tile_kv", U32, struct row, record.plan.tile_kv, .min = 1, .optional = true),
    FIELD("splits", U32, struct row, record.plan.splits, .min = 1, .optional = true),
    FIELD("stages", U32, struct row, record.plan.stages, .min = 1, .optional = true),
    FIELD("workspace_bytes", U64, struct row, record.plan.workspace_bytes, .optional = true),
    FIELD_ARRAY_OF("launches", struct row, record.pass, record.plan.pass_count, launch_fields, .optional = true),
    {0},
};

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static struct time_record time_of(double us) {
  struct time_record out = record_time_unknown();
  out.done = true;
  out.us = (struct stats){
      .n = 1, .min = us, .p25 = us, .median = us, .p75 = us, .p95 = us, .max = us, .ci_low = us, .ci_high = us};
  out.stop = STATS_STOP_SAMPLES;
  out.launches_per_sample = 1;
  out.warmup_s = out.elapsed_s = 0;
  return out;
}

/* Geometry that is given by naming a variant of the registry. */
static struct status plan_like(const struct json_doc *doc, const cJSON *item, const char *like,
                               const struct device_info *device, struct record *out) {
  struct variant_spec spec;
  char problem[VARIANT_SPEC_PROBLEM_MAX];
  const struct attn_case attn_case = out->attn_case;
  if (json_get(item, "launches") != NULL || json_get(item, "math") != NULL)
    return json_error(doc, item, false, "has \"like\" beside \"launches\" or \"math\"; give the one or the other");
  if (!variant_spec_read(like, &spec, problem)) return json_error(doc, json_get(item, "like"), false, "%s", problem);
  plan_record(&attn_case, &spec, device, out);
  if (out->status == CELL_planned) return status_ok();
  return json_error(doc, item, false, "is like %s, which does not take this shape: %s", like, out->reason);
}

/* Geometry that is given in full, or not at all. */
static struct status take_launches(const struct json_doc *doc, const cJSON *item, struct record *out) {
  if (json_get(item, "math") == NULL)
    return json_error(doc, item, false,
                      "has neither \"math\" (fp32 or tensor: the pipe of its products) nor \"like\"");
  if (out->plan.pass_count > 0 && (out->plan.tile_q == 0 || out->plan.tile_kv == 0))
    return json_error(doc, item, false, "has \"launches\" without \"tile_q\" and \"tile_kv\"; add both");
  if (out->plan.tile_q > 0 && out->plan.splits == 0) out->plan.splits = 1;
  if (out->plan.tile_q > 0 && out->plan.stages == 0) out->plan.stages = 1;
  for (uint32_t i = 0; i < out->plan.pass_count; ++i) {
    struct pass_record *pass = &out->pass[i];
    if (pass->name[0] == '\0') snprintf(pass->name, sizeof pass->name, "main");
    for (size_t axis = 0; axis < 3; ++axis) pass->pass.cluster[axis] = 1;
  }
  return status_ok();
}

static struct status take_times(const struct json_doc *doc, const cJSON *item, const struct row *row,
                                struct record *out) {
  out->status = CELL_planned;
  snprintf(out->reason, sizeof out->reason, "entered by hand without a time");
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    if (isnan(row->time_us[mode])) continue;
    if (!validate_is_time(row->time_us[mode]))
      return json_error(doc, item, false,
                        "has a time that cannot be; give microseconds, from 0.001 to those of a day");
    out->time[mode] = time_of(row->time_us[mode]);
    out->status = CELL_ok;
    out->reason[0] = '\0';
  }
  return status_ok();
}

static struct status read_row(const struct json_doc *doc, const cJSON *item, const struct device_info *device,
                              struct record *out) {
  struct row row = {.time_us = {NAN, NAN, NAN}};
  const cJSON *shape = json_get(item, "shape");
  record_start(&row.record);
  TRY(fields_read(doc, item, row_fields, &row));
  *out = row.record;
  if (shape == NULL) return json_error(doc, item, false, "has no \"shape\"");
  TRY(cases_read_shape(doc, json_get(doc->root, "defaults"), shape, &out->attn_case.shape));
  axes_key(&out->attn_case.shape, out->attn_case.key);
  TRY(row.like[0] != '\0' ? plan_like(doc, item, row.like, device, out) : take_launches(doc, item, out));
  TRY(take_times(doc, item, &row, out));
  memcpy(out->variant, row.record.variant, sizeof out->variant); /* not that of "like" */
  return record_finish(out);
}

/* ---- the file ------------------------------------------------------------------------------------------------ */

static struct status read_header(const struct json_doc *doc, struct journal_data *out) {
  const cJSON *gpu = json_get(doc->root, "gpu");
  TRY(fields_read(doc, doc->root, header_fields, &out->run));
  const struct gpu_model *model = cJSON_IsString(gpu) ? gpu_model_find(gpu->valuestring) : NULL;
  if (model == NULL)
    return json_error(doc, gpu != NULL ? gpu : doc->root, false, "needs \"gpu\": %s", gpu_model_names());
  out->run.has_baseline = json_get(doc->root, "baseline") != NULL;
  out->has_device = true;
  out->device = model->info;
  snprintf(out->run.version, sizeof out->run.version, "by hand");
  snprintf(out->run.git_commit, sizeof out->run.git_commit, "none");
  snprintf(out->run.cuda, sizeof out->run.cuda, "none");
  snprintf(out->run.cjson, sizeof out->run.cjson, "none");
  snprintf(out->run.sweep_path, sizeof out->run.sweep_path, "%s", doc->path);
  snprintf(out->state, sizeof out->state, "complete");
  return status_ok();
}

static struct status read_rows(const struct json_doc *doc, struct journal_data *out) {
  const cJSON *rows = json_get(doc->root, "rows");
  if (!cJSON_IsArray(rows) || rows->child == NULL)
    return json_error(doc, rows != NULL ? rows : doc->root, false, "needs \"rows\", an array of at least one row");
  out->run.cell_count = (uint64_t)cJSON_GetArraySize(rows);
  TRY(owned_array(&out->records, out->run.cell_count, sizeof *out->records, "rows"));
  for (const cJSON *item = rows->child; item != NULL; item = item->next)
    TRY(read_row(doc, item, &out->device, &out->records[out->record_count++]));
  return journal_check_unique(out, doc, rows);
}

struct status times_read(const struct json_doc *doc, struct journal_data *out) {
  *out = (struct journal_data){0};
  struct status status = read_header(doc, out);
  if (!status_failed(&status)) status = read_rows(doc, out);
  if (status_failed(&status)) journal_free(out);
  return status;
}
