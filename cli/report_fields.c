#include "cli/report_fields.h"

#include <math.h>
#include <stdio.h>

static const char not_measured[] = "not measured";
static const char no_counter[] = "the device does not tell";
static const char not_finite[] = "the output holds NaN or Inf";
static const char kernel_unknown[] = "the compiled kernel's resources are not known here";

/* ---- names --------------------------------------------------------------------------------------------------- */

static const char *name_of_status(uint32_t i) {
  return i < CELL_STATUS_COUNT ? cell_status_name((enum cell_status)i) : NULL;
}

static const char *name_of_stop(uint32_t i) {
  return i < STATS_STOP_COUNT ? stats_stop_name((enum stats_stop)i) : NULL;
}

static const char *name_of_roof(uint32_t i) { return i < ROOF_COUNT ? roof_name((enum roof_kind)i) : NULL; }

const char *report_throttle_name(uint32_t bit) {
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

void report_covers_text(unsigned covers, char out[16]) {
  static const struct {
    unsigned bit;
    const char *name;
  } axes[] = {{ATTN_COVERS_B, "B"},
              {ATTN_COVERS_H, "H"},
              {ATTN_COVERS_Q, "Q"},
              {ATTN_COVERS_SPLIT, "split"},
              {ATTN_COVERS_UNKNOWN, "?"}};
  size_t used = 0;
  for (size_t i = 0; i < sizeof axes / sizeof *axes; ++i) {
    if ((covers & axes[i].bit) == 0) continue;
    used += (size_t)snprintf(out + used, 16 - used, "%s%s", used > 0 ? "*" : "", axes[i].name);
  }
  if (used == 0) snprintf(out, 16, "-");
}

struct launch_view report_launch_view(const struct pass_record *pass) {
  const struct pass_facts *facts = &pass->facts;
  const bool known = pass->facts_known || facts->registers > 0;
  return (struct launch_view){.kernel = facts->kernel_name[0] != '\0' ? facts->kernel_name : NULL,
                              .static_smem_bytes = known ? facts->static_smem_bytes : (double)NAN,
                              .registers = known ? facts->registers : (double)NAN,
                              .local_bytes = known ? facts->local_bytes : (double)NAN};
}

/* ---- tables -------------------------------------------------------------------------------------------------- */

const struct field report_cell_fields[] = {
    FIELD("status", ENUM, struct record, status, .name = name_of_status),
    {0},
};

static const struct field oracle_fields[] = {
    FIELD("name", NAME, struct oracle_result, name),
    FIELD("rows_verified", U64, struct oracle_result, rows_verified),
    FIELD("max_difference", F64, struct oracle_result, max_difference, .null_reason = not_finite),
    {0},
};

static const struct field tolerance_fields[] = {
    FIELD("relative", F64, struct tolerance, relative),
    FIELD("absolute", F64, struct tolerance, absolute),
    FIELD("frobenius", F64, struct tolerance, frobenius),
    {0},
};

const struct field report_check_fields[] = {
    FIELD("right", BOOL, struct check_record, right),
    FIELD("after_timing", BOOL, struct check_record, after_timing),
    FIELD("oracle", OBJECT, struct check_record, oracle, .fields = oracle_fields),
    FIELD("max_abs_error", F64, struct check_record, compare.max_abs_error, .null_reason = not_finite),
    FIELD("max_bound_ratio", F64, struct check_record, compare.max_bound_ratio, .null_reason = not_finite),
    FIELD("rel_frobenius", F64, struct check_record, compare.rel_frobenius, .null_reason = not_finite),
    FIELD("elements", U64, struct check_record, compare.elements),
    FIELD("nan_count", U64, struct check_record, compare.nan_count),
    FIELD("inf_count", U64, struct check_record, compare.inf_count),
    FIELD("bad_count", U64, struct check_record, compare.bad_count),
    FIELD("first_bad", INDEX, struct check_record, compare.first_bad),
    FIELD("tolerance", OBJECT, struct check_record, tolerance, .fields = tolerance_fields),
    FIELD("redzone_bytes_changed", U64, struct check_record, guard.redzone_bytes_changed),
    FIELD("redzone_first", NAME, struct check_record, guard.first),
    FIELD("input_elements_changed", U64, struct check_record, guard.input_elements_changed),
    {0},
};

const struct field report_model_fields[] = {
    FIELD("flops", F64, struct metrics, flops),
    FIELD("bytes", F64, struct metrics, bytes),
    FIELD("flop_per_byte", F64, struct metrics, flop_per_byte),
    {0},
};

const struct field report_time_fields[] = {
    FIELD("n", U32, struct time_record, us.n),
    FIELD("min_us", F64, struct time_record, us.min),
    FIELD("p25_us", F64, struct time_record, us.p25),
    FIELD("median_us", F64, struct time_record, us.median),
    FIELD("p75_us", F64, struct time_record, us.p75),
    FIELD("p95_us", F64, struct time_record, us.p95),
    FIELD("max_us", F64, struct time_record, us.max),
    FIELD("mad_us", F64, struct time_record, us.mad),
    FIELD("ci95_low_us", F64, struct time_record, us.ci_low),
    FIELD("ci95_high_us", F64, struct time_record, us.ci_high),
    FIELD("stop", ENUM, struct time_record, stop, .name = name_of_stop),
    FIELD("launches_per_sample", U32, struct time_record, launches_per_sample),
    FIELD("settled", BOOL, struct time_record, settled),
    FIELD("warmup_s", F64, struct time_record, warmup_s),
    FIELD("elapsed_s", F64, struct time_record, elapsed_s),
    FIELD("sm_clock_mhz", F64, struct time_record, sm_clock_mhz, .null_reason = no_counter),
    FIELD("power_w", F64, struct time_record, power_w, .null_reason = no_counter),
    FIELD("temperature_c", F64, struct time_record, temperature_c, .null_reason = no_counter),
    FIELD("throttle_reasons", BITS, struct time_record, throttle_reasons, .name = report_throttle_name),
    {0},
};

const struct field report_rate_fields[] = {
    FIELD("tflop_per_s", F64, struct mode_metrics, tflop_per_s),
    FIELD("gb_per_s", F64, struct mode_metrics, gb_per_s),
    {0},
};

const struct field report_roof_fields[] = {
    FIELD("name", ENUM, struct mode_metrics, roof, .name = name_of_roof),
    FIELD("clock_mhz", F64, struct mode_metrics, roof_clock_mhz),
    FIELD("ratio", F64, struct mode_metrics, roof_ratio),
    FIELD("floor_us", F64, struct mode_metrics, floor_us),
    FIELD("floor_ratio", F64, struct mode_metrics, floor_ratio),
    {0},
};

const struct field report_ratio_fields[] = {
    FIELD("ratio", F64, struct ratio_record, ratio),
    FIELD("ci95_low", F64, struct ratio_record, ci_low),
    FIELD("ci95_high", F64, struct ratio_record, ci_high),
    FIELD("rounds", U32, struct ratio_record, rounds),
    {0},
};

const struct field report_reference_fields[] = {
    FIELD_TEXT_OF("reference", struct speedup_record, reference),
    {0},
};

const struct field report_plan_fields[] = {
    FIELD("tile_q", U32, struct attn_plan, tile_q),
    FIELD("tile_kv", U32, struct attn_plan, tile_kv),
    FIELD("splits", U32, struct attn_plan, splits),
    FIELD("stages", U32, struct attn_plan, stages),
    FIELD("workspace_bytes", U64, struct attn_plan, workspace_bytes),
    {0},
};

const struct field report_pass_fields[] = {
    FIELD_TEXT_OF("name", struct pass_record, name),
    FIELD("grid", U32X3, struct pass_record, pass.grid),
    FIELD("block", U32X3, struct pass_record, pass.block),
    FIELD("cluster", U32X3, struct pass_record, pass.cluster),
    FIELD("dynamic_smem_bytes", U32, struct pass_record, pass.dynamic_smem_bytes),
    FIELD("row_threads", U32, struct pass_record, pass.row_threads),
    {0},
};

const struct field report_launch_fields[] = {
    FIELD("kernel", NAME, struct launch_view, kernel),
    FIELD("static_smem_bytes", F64, struct launch_view, static_smem_bytes, .null_reason = kernel_unknown),
    FIELD("registers", F64, struct launch_view, registers, .null_reason = kernel_unknown),
    FIELD("local_bytes", F64, struct launch_view, local_bytes, .null_reason = kernel_unknown),
    {0},
};

const struct field report_pass_metrics_fields[] = {
    FIELD("resident_blocks", U32, struct pass_metrics, resident_blocks),
    FIELD("resident_exact", BOOL, struct pass_metrics, resident_exact),
    FIELD("limited_by", NAME, struct pass_metrics, limited_by),
    FIELD("occupancy_ratio", F64, struct pass_metrics, occupancy_ratio),
    FIELD("blocks", U64, struct pass_metrics, blocks),
    FIELD("waves", F64, struct pass_metrics, waves, .null_reason = "no block fits on an SM"),
    FIELD("tail_blocks", U64, struct pass_metrics, tail_blocks),
    FIELD("tail_waste_ratio", F64, struct pass_metrics, tail_waste_ratio, .null_reason = "no block fits on an SM"),
    FIELD("sm_ratio", F64, struct pass_metrics, sm_ratio, .null_reason = "the number of SMs is not known"),
    FIELD("sm_blocks_max", U64, struct pass_metrics, sm_blocks_max),
    FIELD("covers_b", BOOL, struct pass_metrics, covers_b),
    FIELD("covers_h", BOOL, struct pass_metrics, covers_h),
    FIELD("covers_bh", BOOL, struct pass_metrics, covers_bh),
    FIELD("idle_thread_ratio", F64, struct pass_metrics, idle_thread_ratio),
    {0},
};

const struct field report_pass_cost_fields[] = {
    FIELD("cold_us", F64, struct pass_record, cold_us,
          .null_reason = "only plans of several passes are timed by pass"),
    {0},
};

const struct field report_scaling_fields[] = {
    FIELD_TEXT_OF("baseline_key", struct scaling, baseline_key),
    FIELD("is_baseline", BOOL, struct scaling, is_baseline),
    FIELD("bh_ratio", F64, struct scaling, bh_ratio),
    FIELD("work_ratio", F64, struct scaling, work_ratio),
    FIELD("wave_ratio", F64, struct scaling, wave_ratio, .null_reason = "the plan has no launches"),
    FIELD("load_ratio", F64, struct scaling, load_ratio, .null_reason = "the plan has no launches"),
    {0},
};

const struct field report_wall_fields[] = {
    FIELD("wall_s", F64, struct record, wall_s, .null_reason = not_measured),
    FIELD("gpu_s", F64, struct record, gpu_s, .null_reason = not_measured),
    {0},
};
