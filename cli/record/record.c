/* A record as one line of JSON, the names in it, and a record in which nothing is known. */
#include "cli/record/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/field_tables.h"

/* ---- names --------------------------------------------------------------------------------------------------- */

#define NAMES(function, ...)                                   \
  const char *function(uint32_t i) {                           \
    static const char *const names[] = {__VA_ARGS__};          \
    return i < sizeof names / sizeof *names ? names[i] : NULL; \
  }
NAMES(record_math_name, [ATTN_MATH_FP32] = "fp32", [ATTN_MATH_TENSOR] = "tensor", [ATTN_MATH_FP64_HOST] = "fp64_host",
      [ATTN_MATH_FP32_HOST] = "fp32_host", [ATTN_MATH_WGMMA] = "wgmma")
NAMES(record_device_kind_name, [DEVICE_CPU] = "cpu", [DEVICE_CUDA] = "cuda")
NAMES(record_oracle_name, "cpu_fp64", "gpu_fp64", "torch_fp64", "other")
NAMES(record_throttle_name, "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost",
      "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "display_clock_setting", "unknown")

const char *record_tensor_name(uint32_t i) {
  static const char *const others[] = {"workspace", "other"};
  if (i < ATTN_ROLE_COUNT) return attn_role_name((enum attn_role)i);
  return i - ATTN_ROLE_COUNT < sizeof others / sizeof *others ? others[i - ATTN_ROLE_COUNT] : NULL;
}

/* ---- what is unknown ----------------------------------------------------------------------------------------- */

void record_start(struct record *record) {
  memset(record, 0, sizeof *record);
  fields_unknown(record_fields, record);
  record->wall_s = record->gpu_s = 0;
}

bool record_same_card(const struct record *a, const struct record *b) { return strcmp(a->card, b->card) == 0; }

struct ratio_record record_quotient(const struct ratio_record *ratio, const struct ratio_record *of_other) {
  return (struct ratio_record){.ratio = ratio->ratio / of_other->ratio,
                               .ci_low = ratio->ci_low / of_other->ci_high,
                               .ci_high = ratio->ci_high / of_other->ci_low};
}

double record_kernels_alone(double ratio, double own_us, double reference_memset_us, double memset_us) {
  const double reference_us = ratio * own_us - fmax(reference_memset_us, 0), us = own_us - fmax(memset_us, 0);
  const bool any = reference_memset_us > 0 || memset_us > 0;
  return any && reference_us > 0 && us > 0 ? reference_us / us : 0;
}

enum time_mode record_mode(const struct record *record) {
  if (record->time[TIME_HOT].done) return TIME_HOT;
  return record->time[TIME_STEADY].done ? TIME_STEADY : TIME_COLD;
}

bool record_is_busy(const struct time_record *time) {
  return time->waited_ratio > TIME_WAITED_MOST || time->others_load > TIME_LOAD_MOST;
}

bool record_is_timed(const struct record *record) {
  return record->status == CELL_ok &&
         (record->time[TIME_COLD].done || record->time[TIME_HOT].done || record->time[TIME_STEADY].done);
}

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

/* Fills members that follow from others, and checks what the tables cannot express. */
struct status record_finish(struct record *record) {
  char key[AXIS_KEY_MAX], why[AXIS_WHY_MAX];
  axes_complete(&record->attn_case.shape);
  axes_key(&record->attn_case.shape, key);
  if (strcmp(key, record->attn_case.key) != 0)
    return status_make(STATUS_INPUT, "key \"%s\" does not name its shape, which is %s", record->attn_case.key, key);
  if (!axes_problem_is_sound(&record->attn_case.shape, why)) return status_make(STATUS_INPUT, "shape: %s", why);
  if (record->counters.done && record->counters.pass_count == 0)
    return status_make(STATUS_INPUT, "counters has no passes");
  snprintf(record->variant_name, sizeof record->variant_name, "%.*s", (int)strcspn(record->variant, ":"),
           record->variant);
  process_settle(record); /* an older report has what the first process found */
  return check_processes(record);
}

/* Drops numbers of resident blocks that a report computed: they were not measured, and are computed again. */
static void drop_computed_blocks(const cJSON *object, struct record *out) {
  const cJSON *launch = json_get(object, "launches");
  launch = launch != NULL ? launch->child : NULL;
  for (uint32_t i = 0; i < out->plan.pass_count && launch != NULL; ++i, launch = launch->next) {
    if (cJSON_IsFalse(json_get(launch, "resident_exact"))) out->pass[i].facts.resident_blocks = 0;
  }
}

struct status record_read(const struct json_doc *doc, const cJSON *object, struct record *out) {
  record_start(out);
  TRY(fields_read_part(doc, object, record_fields, out));
  drop_computed_blocks(object, out);
  const struct status status = record_finish(out);
  return status_failed(&status) ? json_error(doc, object, false, "%s", status.text) : status;
}

struct status record_from_line(const char *line, size_t length, struct record *out) {
  memset(out, 0, sizeof *out); /* fields_from_line makes it unknown */
  TRY(fields_from_line("record", line, length, record_fields, out));
  return record_finish(out);
}
