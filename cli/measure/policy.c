/* How times are taken and outputs checked, as JSON. */
#include "cli/measure/measure.h"

#include <math.h>
#include <stdio.h>

#include "cli/record/field_tables.h"
#include "kernels/bounds.h"
#include "kernels/timing.h"

struct timing_view {
  double hot_sample_us, flush_over_l2; /* the latter NAN: a CPU's caches are flushed line by line */
  uint32_t hot_launches_max;
  struct measure_settings settings;
};

static const struct field timing_fields[] = {
    FIELD("hot_sample_us", F64, struct timing_view, hot_sample_us),
    FIELD("hot_launches_max", U32, struct timing_view, hot_launches_max),
    FIELD("flush_over_l2", F64, struct timing_view, flush_over_l2),
    FIELD("min_samples", U32, struct timing_view, settings.rule.min_samples),
    FIELD("max_samples", U32, struct timing_view, settings.rule.max_samples),
    FIELD("floor_samples", U32, struct timing_view, settings.rule.floor_samples),
    FIELD("few_samples", U32, struct timing_view, settings.rule.few_samples),
    FIELD("slow_s", F64, struct timing_view, settings.rule.slow_s),
    FIELD("relative_half_width", F64, struct timing_view, settings.rule.relative_half_width),
    FIELD("budget_s", F64, struct timing_view, settings.rule.budget_s),
    FIELD("settle_min_s", F64, struct timing_view, settings.settle_min_s),
    FIELD("settle_max_s", F64, struct timing_view, settings.settle_max_s),
    FIELD("settle_window_s", F64, struct timing_view, settings.settle_window_s),
    FIELD("settle_relative", F64, struct timing_view, settings.settle_relative),
    {0},
};

/* Of sums on tensor cores; step_keys by the first compute capability that has so many. */
static void add_truncation(cJSON *check) {
  static const uint32_t first_cc[] = {0, 9};
  cJSON *truncation = cJSON_AddObjectToObject(check, "truncation");
  json_add_number(truncation, "mean", COMPARE_STEP_MEAN);
  json_add_number(truncation, "spread", COMPARE_STEP_SPREAD);
  cJSON *step_keys = cJSON_AddObjectToObject(truncation, "step_keys");
  for (size_t i = 0; i < sizeof first_cc / sizeof *first_cc; ++i) {
    char cc[16];
    snprintf(cc, sizeof cc, "%u", (unsigned)first_cc[i]);
    json_add_number(step_keys, cc, compare_step_keys(first_cc[i]));
  }
}

static void add_check(cJSON *object) {
  cJSON *check = cJSON_AddObjectToObject(object, "check");
  json_add_number(check, "element_spread", COMPARE_ELEMENT_SPREAD);
  add_truncation(check);
  for (uint32_t dtype = 0; dtype < ATTN_DTYPE_COUNT; ++dtype) {
    if (attn_dtype_is_scaled(dtype)) continue; /* no O is of it */
    struct tolerance tolerance = compare_tolerance((enum attn_dtype)dtype);
    tolerance.step_keys = NAN; /* a GPU's */
    fields_add(check, attn_dtype_name((enum attn_dtype)dtype), true, record_tolerance_fields, &tolerance);
  }
}

void policy_add(cJSON *object) {
  const struct timing_view cuda = {.hot_sample_us = TIMING_CUDA_HOT_SAMPLE_US,
                                   .hot_launches_max = TIMING_CUDA_HOT_LAUNCHES_MAX,
                                   .flush_over_l2 = TIMING_FLUSH_OVER_L2,
                                   .settings = measure_defaults(DEVICE_CUDA)};
  const struct timing_view cpu = {.hot_sample_us = TIMING_CPU_HOT_SAMPLE_US,
                                  .hot_launches_max = TIMING_CPU_HOT_LAUNCHES_MAX,
                                  .flush_over_l2 = NAN,
                                  .settings = measure_defaults(DEVICE_CPU)};
  cJSON *timing = cJSON_AddObjectToObject(object, "timing");
  fields_add(timing, "cuda", true, timing_fields, &cuda);
  fields_add(timing, "cpu", true, timing_fields, &cpu);
  add_check(object);
}
