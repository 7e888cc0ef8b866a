/* The field tables of a profiler's counters, and their totals over passes. */

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "cli/record/field_tables.h"

/* ---- tables -------------------------------------------------------------------------------------------------- */

const struct field record_counter_stall_fields[] = {
    FIELD_TEXT_OF("name", struct counter_stall, name),
    FIELD("ratio", F64, struct counter_stall, ratio, .required = true),
    {0},
};

const struct field record_counter_pass_fields[] = {
    FIELD_LABEL_OF("kernel", struct counter_pass, kernel),
    FIELD("grid", U32X3, struct counter_pass, grid, .min = 1),
    FIELD("block", U32X3, struct counter_pass, block, .min = 1),
#define COUNTER_FIELD(name, how) FIELD(#name, F64, struct counter_pass, values.name),
    COUNTER_MAP(COUNTER_FIELD)
#undef COUNTER_FIELD
        FIELD_IF("top_stall", struct counter_pass, top_stall, top_stall.known, record_counter_stall_fields,
                 .left_out = true),
    {0},
};

const struct field record_counter_head_fields[] = {
    FIELD_TEXT_OF("source", struct counter_record, source),
    FIELD_TEXT_OF("cache", struct counter_record, cache),
    FIELD("launches", U32, struct counter_record, launches, .min = 1),
    {0},
};

const struct field record_counter_passes_fields[] = {
    FIELD_ARRAY_OF("passes", struct counter_record, pass, pass_count, record_counter_pass_fields),
    {0},
};

const struct field record_counter_value_fields[] = {
#define COUNTER_FIELD(name, how) FIELD(#name, F64, struct counter_values, name),
    COUNTER_MAP(COUNTER_FIELD)
#undef COUNTER_FIELD
        {0},
};

/* ---- totals -------------------------------------------------------------------------------------------------- */

static const struct {
  size_t offset;
  enum counter_total how;
} counters[] = {
#define COUNTER_ROW(name, how) {offsetof(struct counter_values, name), COUNTER_##how},
    COUNTER_MAP(COUNTER_ROW)
#undef COUNTER_ROW
};
enum { COUNTER_COUNT = sizeof counters / sizeof *counters };

static double *value_of(const struct counter_values *values, size_t index) {
  return (double *)((char *)(uintptr_t)values + counters[index].offset);
}

void counter_record_start(struct counter_record *record) {
  memset(record, 0, sizeof *record);
  fields_unknown(record_counter_passes_fields, record);
}

static double weight_of(const struct counter_values *values, enum counter_total how) {
  return how == COUNTER_BY_TIME ? values->gpu_time_us : how == COUNTER_BY_L2_BYTES ? values->l2_bytes : 1;
}

/* A NAN anywhere makes the total NAN. */
static double total_of(const struct counter_record *record, size_t index) {
  const enum counter_total how = counters[index].how;
  if (record->pass_count == 1) return *value_of(&record->pass[0].values, index);
  double sum = 0, weights = 0;
  for (uint32_t pass = 0; pass < record->pass_count; ++pass) {
    const struct counter_values *values = &record->pass[pass].values;
    const double weight = weight_of(values, how);
    sum += weight * *value_of(values, index);
    weights += weight;
  }
  if (how == COUNTER_SUM) return record->pass_count > 0 ? sum : (double)NAN;
  return weights > 0 ? sum / weights : (double)NAN;
}

struct counter_values counter_record_totals(const struct counter_record *record) {
  struct counter_values out;
  for (size_t i = 0; i < COUNTER_COUNT; ++i) *value_of(&out, i) = total_of(record, i);
  return out;
}

struct counter_stall counter_record_top_stall(const struct counter_record *record) {
  const struct counter_pass *longest = &record->pass[0];
  for (uint32_t pass = 1; pass < record->pass_count; ++pass) {
    if (record->pass[pass].values.gpu_time_us > longest->values.gpu_time_us) longest = &record->pass[pass];
  }
  return longest->top_stall;
}
