/* The columns of a report's CSV, and their values. */
#include "cli/base/markup.h"
#include "cli/base/text.h"
#include "cli/report/views.h"

enum { CSV_TEXT_MAX = 1024 };

/* What one CSV row says beyond the report's own structs. */
struct csv_view {
  const char *device, *sweep;
  const char *commit, *date, *driver, *version;
  const char *mode;
  char findings[CSV_TEXT_MAX];
  double time_ratio, residual, us_per_bh;
};

/* ---- columns of this file alone ------------------------------------------------------------------------------- */

static const struct field name_fields[] = {
    FIELD("device", NAME, struct csv_view, device),
    FIELD("sweep", NAME, struct csv_view, sweep),
    {0},
};

static const struct field mode_fields[] = {FIELD("mode", NAME, struct csv_view, mode), {0}};

static const struct field net_fields[] = {FIELD("net_us", F64, struct report_row, cold_net_us), {0}};

static const struct field passes_fields[] = {FIELD("passes", U32, struct record, plan.pass_count), {0}};

static const struct field scaled_time_fields[] = {
    FIELD("time_ratio", F64, struct csv_view, time_ratio),
    FIELD("residual", F64, struct csv_view, residual),
    FIELD("us_per_bh", F64, struct csv_view, us_per_bh),
    {0},
};

static const struct field findings_fields[] = {FIELD_TEXT_OF("findings", struct csv_view, findings), {0}};

static const struct field energy_fields[] = {
    FIELD("energy_pj_per_flop", F64, struct report_row, energy_pj_per_flop),
    FIELD("energy_over_idle_pj_per_flop", F64, struct report_row, energy_over_idle_pj_per_flop),
    {0},
};

static const struct field last_fields[] = {
    FIELD_TEXT_OF("left", struct record, left),
    FIELD_TEXT_OF("card", struct record, card),
    {0},
};

/* Named as in the CSV of a history. */
static const struct field run_fields[] = {
    FIELD("commit", NAME, struct csv_view, commit),
    FIELD("date", NAME, struct csv_view, date),
    FIELD("driver", NAME, struct csv_view, driver),
    FIELD("version", NAME, struct csv_view, version),
    {0},
};

/* ---- cells --------------------------------------------------------------------------------------------------- */

static void put_item(FILE *file, const cJSON *item) {
  if (cJSON_IsString(item)) markup_csv(file, item->valuestring, markup_put_char);
  if (cJSON_IsRaw(item)) fputs(item->valuestring, file); /* a number */
  if (cJSON_IsBool(item)) fputs(cJSON_IsTrue(item) ? "true" : "false", file);
  for (const cJSON *element = item->child; element != NULL; element = element->next) {
    put_item(file, element);
    if (element->next != NULL) fputc(';', file);
  }
}

static cJSON *item_of(const struct field *field, const void *base) {
  char text[CSV_TEXT_MAX];
  if (field->kind != FIELD_HOOKED) return fields_item(field, base);
  field->hooks->text(field, base, text, sizeof text);
  return json_new_string(text);
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct field *field) { return field->column != NULL ? field->column : field->key; }

/* item NULL: the cell is empty. */
static void put_cell(struct csv_writer *writer, const char *prefix, const struct field *field, const char *suffix,
                     const cJSON *item) {
  if (writer->any) fputc(',', writer->file);
  writer->any = true;
  if (writer->is_header) {
    fprintf(writer->file, "%s%s%s", prefix, name_of(field), suffix);
  } else if (item != NULL) {
    put_item(writer->file, item);
  }
}

static void put_struct(struct csv_writer *writer, const char *prefix, const struct field *field, const char *member) {
  char nested[64];
  snprintf(nested, sizeof nested, "%s%s_", prefix, name_of(field));
  write_csv_columns(writer, nested, field->fields, member);
}

/* A value of three axes has a column for each. */
static void put_value(struct csv_writer *writer, const char *prefix, const struct field *field, const void *base) {
  static const char *const axes[] = {"_x", "_y", "_z"};
  const bool has_axes = field->kind == FIELD_U32X3 || field->kind == FIELD_SETX3;
  cJSON *item = base != NULL && !writer->is_header ? item_of(field, base) : NULL;
  if (!has_axes) put_cell(writer, prefix, field, "", item);
  for (int i = 0; i < 3 && has_axes; ++i) put_cell(writer, prefix, field, axes[i], cJSON_GetArrayItem(item, i));
  cJSON_Delete(item);
}

static bool has_columns(const struct field *field) {
  const bool is_list = field->kind == FIELD_ARRAY || field->kind == FIELD_LIST;
  const bool is_old = field->kind == FIELD_GONE || field->read_only;
  return !is_list && !is_old && (field->column == NULL || field->column[0] != '\0');
}

void write_csv_columns(struct csv_writer *writer, const char *prefix, const struct field *fields, const void *base) {
  for (const struct field *field = fields; field->key != NULL; ++field) {
    const bool is_known = base != NULL && (field->kind == FIELD_PART || !fields_is_null(field, base));
    const char *member = is_known ? (const char *)base + field->offset : NULL;
    if (!has_columns(field)) continue;
    switch (field->kind) {
      case FIELD_PART: write_csv_columns(writer, prefix, field->fields, member); break;
      case FIELD_OBJECT:
      case FIELD_OPTIONAL: put_struct(writer, prefix, field, member); break;
      default: put_value(writer, prefix, field, is_known ? base : NULL); break;
    }
  }
}

static struct csv_view view_of(const struct run_info *run, const struct report_row *row, enum time_mode mode) {
  struct csv_view view = {.device = row->device->name,
                          .sweep = run->sweep_name,
                          .commit = run->commit[0] != '\0' ? run->commit : run->git_commit,
                          .date = run->started_utc,
                          .driver = row->device->driver,
                          .version = run->version,
                          .mode = time_mode_name(mode),
                          .time_ratio = row->scaling.time_ratio[mode],
                          .residual = row->scaling.residual[mode],
                          .us_per_bh = row->scaling.us_per_bh[mode]};
  for (size_t i = 0; i < row->findings.count; ++i)
    text_append(view.findings, CSV_TEXT_MAX, "%s%s", i > 0 ? ";" : "", finding_name(row->findings.item[i].id));
  return view;
}

/* The columns are the same whatever the row, so that any row makes the header. */
static void put_row(FILE *file, bool is_header, const struct run_info *run, const struct report_row *row,
                    enum time_mode mode) {
  const struct record *r = row->record;
  const struct mode_metrics *rates = row->metrics.mode[mode].known ? &row->metrics.mode[mode] : NULL;
  const struct counted *counted = row->metrics.counted.known ? &row->metrics.counted : NULL;
  const struct scaling *scaling = row->scaling.known ? &row->scaling : NULL;
  const struct pass_record *pass = r->plan.pass_count > 0 ? &r->pass[0] : NULL;
  const struct bound_by *bound_by = row->bound_by.known && row->bound_by.mode == mode ? &row->bound_by : NULL;
  const bool has_ratio = r->speedup.mode[mode].done;
  const struct csv_view view = view_of(run, row, mode);
  const struct {
    const char *prefix;
    const struct field *fields;
    const void *base;
  } sections[] = {
      {"", name_fields, &view},
      {"", record_case_fields, r},
      {"", record_shape_fields, &r->attn_case.shape},
      {"", record_outcome_fields, r},
      {"", mode_fields, &view},
      {"time_", record_time_fields, r->time[mode].done ? &r->time[mode] : NULL},
      {"time_", net_fields, mode == TIME_COLD ? row : NULL},
      {"", report_rate_fields, rates},
      {"roof_", report_roof_fields, rates != NULL && metrics_has_roof(rates) ? rates : NULL},
      {"speedup_vs_", record_speedup_fields, has_ratio ? &r->speedup : NULL},
      {"speedup_vs_", record_ratio_fields, has_ratio ? &r->speedup.mode[mode] : NULL},
      {"", report_model_fields, &row->metrics},
      {"traffic_", report_traffic_fields, row->metrics.traffic.known ? &row->metrics.traffic : NULL},
      {"check_", record_check_fields, r->check.done ? &r->check : NULL},
      {"plan_", record_plan_fields, pass != NULL || r->plan.tile_q > 0 ? &r->plan : NULL},
      {"", passes_fields, r},
      {"pass_", record_launch_fields, pass},
      {"pass_", report_pass_metrics_fields, pass != NULL ? &row->metrics.pass[0] : NULL},
      {"pass_", record_pass_time_fields, pass},
      {"scaling_", report_scaling_fields, scaling},
      {"scaling_", scaled_time_fields, scaling != NULL && scaling->timed ? &view : NULL},
      {"", findings_fields, &view},
      {"", record_cost_fields, r},
      {"counters_", record_counter_head_fields, counted != NULL ? &r->counters : NULL},
      {"counters_", record_counter_value_fields, counted != NULL ? &counted->total : NULL},
      {"counters_top_stall_", record_counter_stall_fields,
       counted != NULL && counted->top_stall.known ? &counted->top_stall : NULL},
      {"counters_", report_counter_fields, counted != NULL ? &counted->metrics : NULL},
      {"", energy_fields, mode == TIME_STEADY ? row : NULL},
      {"bound_by_", report_bound_by_fields, bound_by},
      {"", record_dependence_fields, mode == TIME_HOT ? r : NULL},
      {"", last_fields, r},
      {"", run_fields, &view},
  };
  struct csv_writer writer = {.file = file, .is_header = is_header};
  for (size_t i = 0; i < sizeof sections / sizeof *sections; ++i)
    write_csv_columns(&writer, sections[i].prefix, sections[i].fields, sections[i].base);
  fputs("\r\n", file);
}

struct status report_write_csv(const struct report *report, FILE *file) {
  static const struct record no_record;
  static const struct device_info no_device;
  const struct report_row no_row = {.record = &no_record, .device = &no_device};
  const struct run_info *run = &report->journal->run;
  put_row(file, true, run, &no_row, TIME_COLD);
  for (size_t i = 0; i < report->row_count; ++i) {
    for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
      /* Rows of the other two modes are there in every report, timed or not. */
      if (mode == TIME_STEADY && !report->records[i].time[mode].done) continue;
      put_row(file, false, run, &report->rows[i], mode);
    }
  }
  return json_check_memory("a report");
}
