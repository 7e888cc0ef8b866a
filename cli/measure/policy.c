/* How times are taken and outputs checked, as JSON. */
#include "cli/measure/policy.h"

#include <math.h>

#include "cli/base/fields.h"
#include "cli/measure/measure.h"
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

static const struct field tolerance_fields[] = {
    FIELD("relative", F64, struct tolerance, relative),
    FIELD("absolute", F64, struct tolerance, absolute),
    FIELD("frobenius", F64, struct tolerance, frobenius),
    {0},
};

static bool add_check(cJSON *object) {
  static const struct { double element_spread; } view = {COMPARE_ELEMENT_SPREAD};
  static const struct field fields[] = {{.key = "element_spread", .kind = FIELD_F64}, {0}};
  cJSON *check = cJSON_AddObjectToObject(object, "check");
  bool ok = fields_write(check, fields, &view);
  for (uint32_t dtype = 0; dtype < ATTN_DTYPE_COUNT && ok; ++dtype)
    ok =
        fields_add(check, attn_dtype_name((enum attn_dtype)dtype), true, tolerance_fields, &compare_tolerance[dtype]);
  return ok;
}

bool policy_add(cJSON *object) {
  const struct timing_view cuda = {.hot_sample_us = TIMING_CUDA_HOT_SAMPLE_US,
                                   .hot_launches_max = TIMING_CUDA_HOT_LAUNCHES_MAX,
                                   .flush_over_l2 = TIMING_FLUSH_OVER_L2,
                                   .settings = measure_defaults(DEVICE_CUDA)};
  const struct timing_view cpu = {.hot_sample_us = TIMING_CPU_HOT_SAMPLE_US,
                                  .hot_launches_max = TIMING_CPU_HOT_LAUNCHES_MAX,
                                  .flush_over_l2 = NAN,
                                  .settings = measure_defaults(DEVICE_CPU)};
  cJSON *timing = cJSON_AddObjectToObject(object, "timing");
  return fields_write(cJSON_AddObjectToObject(timing, "cuda"), timing_fields, &cuda) &&
         fields_write(cJSON_AddObjectToObject(timing, "cpu"), timing_fields, &cpu) && add_check(object);
}
