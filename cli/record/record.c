/* A record as one line of JSON, the names in it, and a record in which nothing is known. */
#include "cli/record/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/field_tables.h"

/* ---- names --------------------------------------------------------------------------------------------------- */

const char *record_status_name(uint32_t i) {
  return i < CELL_STATUS_COUNT ? cell_status_name((enum cell_status)i) : NULL;
}
const char *record_dtype_name(uint32_t i) {
  return i < ATTN_DTYPE_COUNT ? attn_dtype_name((enum attn_dtype)i) : NULL;
}
const char *record_mode_name(uint32_t i) { return i < TIME_MODE_COUNT ? time_mode_name((enum time_mode)i) : NULL; }

const char *record_stop_name(uint32_t i) { return i < STATS_STOP_COUNT ? stats_stop_name((enum stats_stop)i) : NULL; }

const char *record_math_name(uint32_t i) {
  static const char *const names[] = {[ATTN_MATH_FP32] = "fp32",
                                      [ATTN_MATH_TENSOR] = "tensor",
                                      [ATTN_MATH_FP64_HOST] = "fp64_host",
                                      [ATTN_MATH_FP32_HOST] = "fp32_host",
                                      [ATTN_MATH_WGMMA] = "wgmma"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

const char *record_device_kind_name(uint32_t i) {
  static const char *const names[] = {[DEVICE_CPU] = "cpu", [DEVICE_CUDA] = "cuda"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

const char *record_oracle_name(uint32_t i) {
  static const char *const names[] = {"cpu_fp64", "gpu_fp64", "torch_fp64", "other"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

const char *record_tensor_name(uint32_t i) {
  static const char *const names[] = {"q", "k", "v", "o", "lse", "workspace", "other"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

const char *record_throttle_name(uint32_t bit) {
  static const char *const names[] = {"gpu_idle",
                                      "applications_clocks_setting",
                                      "sw_power_cap",
                                      "hw_slowdown",
                                      "sync_boost",
                                      "sw_thermal_slowdown",
                                      "hw_thermal_slowdown",
                                      "hw_power_brake_slowdown",
                                      "display_clock_setting",
                                      "unknown"};
  return bit < sizeof names / sizeof *names ? names[bit] : NULL;
}

/* ---- what is unknown ----------------------------------------------------------------------------------------- */

void record_start(struct record *record) {
  memset(record, 0, sizeof *record);
  fields_unknown(record_fields, record);
  record->wall_s = record->gpu_s = 0;
}

bool record_same_card(const struct record *a, const struct record *b) { return strcmp(a->card, b->card) == 0; }

bool record_is_cell(const struct record *record, const char *key, const char *variant) {
  return strcmp(record->attn_case.key, key) == 0 && strcmp(record->variant, variant) == 0;
}

int record_order(const void *a, const void *b) {
  const struct record *left = *(const struct record *const *)a, *right = *(const struct record *const *)b;
  const int by_key = strcmp(left->attn_case.key, right->attn_case.key);
  return by_key != 0 ? by_key : strcmp(left->variant, right->variant);
}

const struct record **record_sorted(const struct record *records, size_t count) {
  const struct record **sorted = malloc((count + 1) * sizeof *sorted);
  if (sorted == NULL) return NULL;
  for (size_t i = 0; i < count; ++i) sorted[i] = &records[i];
  qsort(sorted, count, sizeof *sorted, record_order);
  return sorted;
}

const struct record *record_find(const struct record *const *sorted, size_t count, const char *key,
                                 const char *variant) {
  for (size_t low = 0, high = count; low < high;) {
    const size_t middle = low + (high - low) / 2;
    const struct record *record = sorted[middle];
    int order = strcmp(key, record->attn_case.key);
    if (order == 0) order = strcmp(variant, record->variant);
    if (order == 0) return record;
    if (order < 0) high = middle;
    if (order > 0) low = middle + 1;
  }
  return NULL;
}

struct time_record record_time_unknown(void) {
  struct time_record out = {.done = false};
  fields_unknown(record_time_fields, &out);
  return out;
}

/* ---- lines --------------------------------------------------------------------------------------------------- */

char *record_to_line(const struct record *record) { return fields_to_line(record_fields, record); }

static struct status check_processes(const struct record *record) {
  for (enum time_mode mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    if (record->process[mode].count == 0 || record->time[mode].done) continue;
    return status_make(STATUS_INPUT, "has processes.%s, but no time.%s", time_mode_name(mode), time_mode_name(mode));
  }
  return status_ok();
}

static void point_into_itself(struct record *record) {
  for (uint32_t i = 0; i < record->plan.pass_count; ++i) {
    record->pass[i].pass.name = record->pass[i].name;
    record->plan.pass[i] = record->pass[i].pass;
  }
}

void record_copy(struct record *to, const struct record *from) {
  *to = *from;
  point_into_itself(to);
}

/* What the tables cannot say: the key is the shape's, and pass names point into the record. */
struct status record_finish(struct record *record) {
  char key[CASE_KEY_MAX];
  case_key(&record->attn_case.shape, key);
  if (strcmp(key, record->attn_case.key) != 0) {
    return status_make(STATUS_INPUT, "key \"%s\" does not name its shape, which is %s", record->attn_case.key, key);
  }
  if (record->attn_case.shape.Hq % record->attn_case.shape.Hkv != 0) {
    return status_make(STATUS_INPUT, "shape %s: Hkv does not divide Hq", key);
  }
  if (record->counters.done && record->counters.pass_count == 0) {
    return status_make(STATUS_INPUT, "counters has no passes");
  }
  snprintf(record->variant_name, sizeof record->variant_name, "%.*s", (int)strcspn(record->variant, ":"),
           record->variant);
  point_into_itself(record);
  return check_processes(record);
}

/* A number of resident blocks that a report computed is not a fact: it is computed again. */
static void drop_computed_blocks(const cJSON *object, struct record *out) {
  const cJSON *launch = json_get(object, "launches");
  launch = launch != NULL ? launch->child : NULL;
  for (uint32_t i = 0; i < out->plan.pass_count && launch != NULL; ++i, launch = launch->next) {
    if (cJSON_IsFalse(json_get(launch, "resident_exact"))) out->pass[i].facts.resident_blocks = 0;
  }
}

struct status record_read(const struct json_doc *doc, const cJSON *object, struct record *out) {
  record_start(out);
  struct status status = fields_read_part(doc, object, record_fields, out);
  if (status_failed(&status)) return status;
  drop_computed_blocks(object, out);
  status = record_finish(out);
  return status_failed(&status) ? json_error(doc, object, false, "%s", status.text) : status;
}

struct status record_from_line(const char *line, size_t length, struct record *out) {
  memset(out, 0, sizeof *out); /* fields_from_line makes it unknown */
  const struct status status = fields_from_line("record", line, length, record_fields, out);
  return status_failed(&status) ? status : record_finish(out);
}
