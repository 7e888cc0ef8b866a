/* The columns of a report's CSV, and their values. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/report/views.h"

enum { CSV_TEXT_MAX = 1024 };

/* What one CSV row says beyond the report's own structs. */
struct csv_view {
  const char *device, *sweep, *card;
  const char *mode;
  uint32_t passes;
  char findings[CSV_TEXT_MAX];
  double net_us, time_ratio, residual, us_per_bh;
};

/* The structs that a row's cells come from; NULL: the cells stay empty. */
enum csv_source {
  CSV_RECORD,
  CSV_SHAPE,
  CSV_VIEW,
  CSV_TIME,
  CSV_MODE,
  CSV_ROOF,
  CSV_SPEEDUP,
  CSV_RATIO,
  CSV_METRICS,
  CSV_TRAFFIC,
  CSV_CHECK,
  CSV_PLAN,
  CSV_PASS,
  CSV_PASS_METRICS,
  CSV_SCALING,
  CSV_SCALED_TIME,
  CSV_COUNTERS,
  CSV_COUNTER_VALUES,
  CSV_COUNTER_STALL,
  CSV_COUNTER_METRICS,
  CSV_SOURCE_COUNT
};

struct csv_row {
  const void *source[CSV_SOURCE_COUNT];
  struct csv_view view;
};

/* ---- columns ------------------------------------------------------------------------------------------------- */

static const struct field name_fields[] = {
    FIELD("device", NAME, struct csv_view, device),
    FIELD("sweep", NAME, struct csv_view, sweep),
    {0},
};

static const struct field mode_fields[] = {
    FIELD("mode", NAME, struct csv_view, mode),
    {0},
};

static const struct field net_fields[] = {FIELD("net_us", F64, struct csv_view, net_us), {0}};

static const struct field passes_fields[] = {FIELD("passes", U32, struct csv_view, passes), {0}};

static const struct field scaled_time_fields[] = {
    FIELD("time_ratio", F64, struct csv_view, time_ratio),
    FIELD("residual", F64, struct csv_view, residual),
    FIELD("us_per_bh", F64, struct csv_view, us_per_bh),
    {0},
};

static const struct field findings_fields[] = {FIELD_TEXT_OF("findings", struct csv_view, findings), {0}};

static const struct field card_fields[] = {FIELD("card", NAME, struct csv_view, card), {0}};

static const struct csv_section {
  const char *prefix;
  enum csv_source source;
  const struct field *fields;
} sections[] = {
    {"", CSV_VIEW, name_fields},
    {"", CSV_RECORD, record_case_fields},
    {"", CSV_SHAPE, record_shape_fields},
    {"", CSV_RECORD, record_outcome_fields},
    {"", CSV_VIEW, mode_fields},
    {"time_", CSV_TIME, record_time_fields},
    {"time_", CSV_VIEW, net_fields},
    {"", CSV_MODE, report_rate_fields},
    {"roof_", CSV_ROOF, report_roof_fields},
    {"speedup_vs_", CSV_SPEEDUP, record_speedup_fields},
    {"speedup_vs_", CSV_RATIO, record_ratio_fields},
    {"", CSV_METRICS, report_model_fields},
    {"traffic_", CSV_TRAFFIC, report_traffic_fields},
    {"check_", CSV_CHECK, record_check_fields},
    {"plan_", CSV_PLAN, record_plan_fields},
    {"", CSV_VIEW, passes_fields},
    {"pass_", CSV_PASS, record_launch_fields},
    {"pass_", CSV_PASS_METRICS, report_pass_metrics_fields},
    {"pass_", CSV_PASS, record_pass_time_fields},
    {"scaling_", CSV_SCALING, report_scaling_fields},
    {"scaling_", CSV_SCALED_TIME, scaled_time_fields},
    {"", CSV_VIEW, findings_fields},
    {"", CSV_RECORD, record_cost_fields},
    {"counters_", CSV_COUNTERS, record_counter_head_fields},
    {"counters_", CSV_COUNTER_VALUES, record_counter_value_fields},
    {"counters_top_stall_", CSV_COUNTER_STALL, record_counter_stall_fields},
    {"counters_", CSV_COUNTER_METRICS, report_counter_fields},
    {"", CSV_VIEW, card_fields},
};

/* ---- cells --------------------------------------------------------------------------------------------------- */

/* A spreadsheet takes these for the start of a formula. */
static bool starts_formula(const char *text) { return text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL; }

static void put_text(FILE *file, const char *text) {
  const bool quoted = strpbrk(text, "\",\r\n") != NULL;
  if (quoted) fputc('"', file);
  if (starts_formula(text)) fputc('\'', file);
  for (const char *c = text; *c != '\0'; ++c) {
    if (*c == '"') fputc('"', file);
    fputc(*c, file);
  }
  if (quoted) fputc('"', file);
}

static void put_f64(FILE *file, double value) {
  char text[32];
  if (!isfinite(value)) return;
  json_format_number(value, text);
  fputs(text, file);
}

static void put_bits(FILE *file, const struct field *field, uint64_t bits) {
  bool any = false;
  for (uint32_t i = 0; bits != 0 && field->name(i) != NULL; ++i, bits >>= 1) {
    if ((bits & 1) == 0 && field->name(i + 1) != NULL) continue;
    fprintf(file, "%s%s", any ? ";" : "", field->name(i));
    any = true;
  }
}

static void put_name(FILE *file, const char *name) {
  if (name != NULL) put_text(file, name);
}

static void put_enum(FILE *file, const struct field *field, const void *member) {
  uint32_t value;
  memcpy(&value, member, sizeof value);
  put_name(file, field->name(value));
}

static void put_set(FILE *file, const struct field *field, unsigned bits) {
  char text[FIELDS_SET_TEXT_MAX];
  fields_set_text(bits, field->name, text);
  put_text(file, text);
}

/* The scalar kinds; the others are taken apart by put_columns. */
static void put_value(FILE *file, const struct field *field, const void *member) {
  switch (field->kind) {
    case FIELD_BOOL: fputs(*(const bool *)member ? "true" : "false", file); break;
    case FIELD_U32:
    case FIELD_U32X3: fprintf(file, "%" PRIu32, *(const uint32_t *)member); break;
    case FIELD_SETX3: put_set(file, field, *(const unsigned *)member); break;
    case FIELD_U64:
    case FIELD_INDEX: fprintf(file, "%" PRIu64, *(const uint64_t *)member); break;
    case FIELD_F64: put_f64(file, *(const double *)member); break;
    case FIELD_TEXT:
    case FIELD_LABEL: put_text(file, member); break;
    case FIELD_NAME: put_name(file, *(const char *const *)member); break;
    case FIELD_ENUM: put_enum(file, field, member); break;
    case FIELD_BITS: put_bits(file, field, *(const uint64_t *)member); break;
    default: break;
  }
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct field *field) { return field->column != NULL ? field->column : field->key; }

/* Either the header cell or the value; member NULL leaves the value empty. */
struct csv_writer {
  FILE *file;
  bool header, any;
};

static void put_cell(struct csv_writer *writer, const char *prefix, const char *suffix, const struct field *field,
                     const void *member) {
  if (writer->any) fputc(',', writer->file);
  writer->any = true;
  if (writer->header) {
    fprintf(writer->file, "%s%s%s", prefix, name_of(field), suffix);
  } else if (member != NULL) {
    put_value(writer->file, field, member);
  }
}

static void put_columns(struct csv_writer *writer, const char *prefix, const struct field *fields, const void *base);

static void put_struct(struct csv_writer *writer, const char *prefix, const struct field *field, const char *member) {
  char nested[64];
  snprintf(nested, sizeof nested, "%s%s_", prefix, name_of(field));
  put_columns(writer, nested, field->fields, member);
}

/* One column for each of three axes. */
static void put_axes(struct csv_writer *writer, const char *prefix, const struct field *field, const char *member) {
  static const char *const axes[] = {"_x", "_y", "_z"};
  for (size_t i = 0; i < 3; ++i) {
    put_cell(writer, prefix, axes[i], field, member != NULL ? member + i * sizeof(uint32_t) : NULL);
  }
}

static bool has_columns(const struct field *field) {
  const bool is_list = field->kind == FIELD_ARRAY || field->kind == FIELD_LIST;
  const bool is_old = field->kind == FIELD_GONE || field->read_only;
  return !is_list && !is_old && (field->column == NULL || field->column[0] != '\0');
}

/* base NULL: the cells stay empty. */
static void put_column(struct csv_writer *writer, const char *prefix, const struct field *field, const void *base) {
  const bool is_known = base != NULL && (field->kind == FIELD_PART || !fields_is_null(field, base));
  const char *member = is_known ? (const char *)base + field->offset : NULL;
  switch (field->kind) {
    case FIELD_PART: put_columns(writer, prefix, field->fields, member); break;
    case FIELD_OBJECT:
    case FIELD_OPTIONAL: put_struct(writer, prefix, field, member); break;
    case FIELD_U32X3:
    case FIELD_SETX3: put_axes(writer, prefix, field, member); break;
    default: put_cell(writer, prefix, "", field, member); break;
  }
}

static void put_columns(struct csv_writer *writer, const char *prefix, const struct field *fields, const void *base) {
  for (const struct field *field = fields; field->key != NULL; ++field) {
    if (has_columns(field)) put_column(writer, prefix, field, base);
  }
}

/* row NULL writes the header. */
static void put_row(FILE *file, const struct csv_row *row) {
  struct csv_writer writer = {.file = file, .header = row == NULL};
  for (size_t i = 0; i < sizeof sections / sizeof *sections; ++i) {
    const void *base = row != NULL ? row->source[sections[i].source] : NULL;
    put_columns(&writer, sections[i].prefix, sections[i].fields, base);
  }
  fputs("\r\n", file);
}

static void join_findings(const struct report_row *row, char out[CSV_TEXT_MAX]) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < row->findings.count && used < CSV_TEXT_MAX; ++i) {
    const char *name = finding_name(row->findings.item[i].id);
    used += (size_t)snprintf(out + used, CSV_TEXT_MAX - used, "%s%s", i > 0 ? ";" : "", name);
  }
}

static void fill_view(const struct report *report, const struct report_row *row, enum time_mode mode,
                      struct csv_view *view) {
  const struct record *record = row->record;
  *view = (struct csv_view){.device = row->device->name,
                            .sweep = report->journal->run.sweep_name,
                            .card = record->card,
                            .mode = time_mode_name(mode),
                            .passes = record->plan.pass_count,
                            .net_us = mode == TIME_COLD ? row->cold_net_us : (double)NAN,
                            .time_ratio = row->scaling.time_ratio[mode],
                            .residual = row->scaling.residual[mode],
                            .us_per_bh = row->scaling.us_per_bh[mode]};
  join_findings(row, view->findings);
}

static void put_mode(FILE *file, const struct report *report, const struct report_row *row, enum time_mode mode) {
  const struct record *record = row->record;
  const struct mode_metrics *metrics = &row->metrics.mode[mode];
  const struct counted *counted = &row->metrics.counted;
  const bool has_pass = record->plan.pass_count > 0, has_plan = has_pass || record->plan.tile_q > 0;
  struct csv_row csv;
  fill_view(report, row, mode, &csv.view);
  const void *const source[CSV_SOURCE_COUNT] = {
      [CSV_RECORD] = record,
      [CSV_SHAPE] = &record->attn_case.shape,
      [CSV_VIEW] = &csv.view,
      [CSV_TIME] = record->time[mode].done ? &record->time[mode] : NULL,
      [CSV_MODE] = metrics->known ? metrics : NULL,
      [CSV_ROOF] = metrics->known && metrics->roof != ROOF_NONE ? metrics : NULL,
      [CSV_SPEEDUP] = record->speedup.mode[mode].done ? &record->speedup : NULL,
      [CSV_RATIO] = record->speedup.mode[mode].done ? &record->speedup.mode[mode] : NULL,
      [CSV_METRICS] = &row->metrics,
      [CSV_TRAFFIC] = row->metrics.traffic.known ? &row->metrics.traffic : NULL,
      [CSV_CHECK] = record->check.done ? &record->check : NULL,
      [CSV_PLAN] = has_plan ? &record->plan : NULL,
      [CSV_PASS] = has_pass ? &record->pass[0] : NULL,
      [CSV_PASS_METRICS] = has_pass ? &row->metrics.pass[0] : NULL,
      [CSV_SCALING] = row->scaling.known ? &row->scaling : NULL,
      [CSV_SCALED_TIME] = row->scaling.known && row->scaling.timed ? &csv.view : NULL,
      [CSV_COUNTERS] = counted->known ? &record->counters : NULL,
      [CSV_COUNTER_VALUES] = counted->known ? &counted->total : NULL,
      [CSV_COUNTER_STALL] = counted->known && counted->top_stall.known ? &counted->top_stall : NULL,
      [CSV_COUNTER_METRICS] = counted->known ? &counted->metrics : NULL,
  };
  memcpy(csv.source, source, sizeof source);
  put_row(file, &csv);
}

struct status report_write_csv(const struct report *report, FILE *file) {
  put_row(file, NULL);
  for (size_t i = 0; i < report->row_count; ++i) {
    for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) put_mode(file, report, &report->rows[i], mode);
  }
  return status_ok();
}
