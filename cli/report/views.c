/* The field tables of a report's rows. */
#include "cli/report/views.h"

#include <math.h>
#include <string.h>

#include "cli/record/field_tables.h"

static const char not_measured[] = "not measured";
static const char no_counter[] = "the device does not tell";
static const char not_finite[] = "the output holds NaN or Inf";
static const char kernel_unknown[] = "the compiled kernel's resources are not known here";

/* ---- names --------------------------------------------------------------------------------------------------- */

static const char *name_of_roof(uint32_t i) { return i < ROOF_COUNT ? metrics_roof_name((enum roof_kind)i) : NULL; }

static const char *name_of_verdict(uint32_t i) {
  return i < SCALING_VERDICT_COUNT ? scaling_verdict_name((enum scaling_verdict)i) : NULL;
}

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

struct launch_view report_launch_view(const struct pass_record *pass) {
  const struct pass_facts *facts = &pass->facts;
  const bool known = pass->facts_known || facts->registers > 0;
  struct launch_view view = {.static_smem_bytes = known ? facts->static_smem_bytes : (double)NAN,
                             .registers = known ? facts->registers : (double)NAN,
                             .local_bytes = known ? facts->local_bytes : (double)NAN};
  memcpy(view.kernel, facts->kernel_name, sizeof view.kernel);
  return view;
}

/* ---- tables -------------------------------------------------------------------------------------------------- */

const struct field report_tool_fields[] = {
    FIELD_TEXT_OF("version", struct run_info, version),
    FIELD_TEXT_OF("git_commit", struct run_info, git_commit),
    FIELD_TEXT_OF("cuda", struct run_info, cuda),
    FIELD_TEXT_OF("cjson", struct run_info, cjson),
    {0},
};

const struct field report_run_fields[] = {
    FIELD("started_utc", LABEL, struct journal_data, run.started_utc,
          .capacity = sizeof((struct run_info *)0)->started_utc),
    FIELD_TEXT_OF("command", struct journal_data, run.command),
    FIELD("seed", U64, struct journal_data, run.seed),
    FIELD("filter", LABEL, struct journal_data, run.filter, .capacity = sizeof((struct run_info *)0)->filter),
    FIELD("cells", U64, struct journal_data, run.cell_count),
    FIELD_TEXT_OF("state", struct journal_data, state),
    FIELD("profiled", LABEL, struct journal_data, run.profiled, .capacity = PROFILED_TEXT_MAX, .optional = true),
    FIELD("profile_launches", U32, struct journal_data, run.profile_launches, .optional = true),
    FIELD("quick", BOOL, struct journal_data, run.quick, .optional = true),
    {0},
};

const struct field report_sweep_fields[] = {
    FIELD_TEXT_OF("path", struct run_info, sweep_path),
    FIELD_TEXT_OF("name", struct run_info, sweep_name),
    FIELD_TEXT_OF("about", struct run_info, sweep_about),
    FIELD("hash", LABEL, struct run_info, sweep_hash, .capacity = sizeof((struct run_info *)0)->sweep_hash),
    {0},
};

const struct field report_baseline_fields[] = {
    FIELD("B", U32, struct sweep_baseline, B),
    FIELD("Hq", U32, struct sweep_baseline, Hq),
    {0},
};

const struct field report_case_fields[] = {
    FIELD_TEXT_OF("key", struct record, attn_case.key),
    FIELD_TEXT_OF("variant", struct record, variant),
    FIELD("shape", OBJECT, struct record, attn_case.shape, .fields = record_shape_fields),
    {0},
};

const struct field report_cell_fields[] = {
    FIELD("status", ENUM, struct record, status, .name = record_status_name),
    FIELD("math", ENUM, struct record, math, .name = record_math_name),
    FIELD("reason", LABEL, struct record, reason, .capacity = RECORD_REASON_MAX),
    {0},
};

static const struct field oracle_fields[] = {
    FIELD("name", NAME, struct oracle_result, name, .name = record_oracle_name),
    FIELD("rows_verified", U64, struct oracle_result, rows_verified),
    FIELD("max_difference", F64, struct oracle_result, max_difference, .null_reason = not_finite),
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
    FIELD("tolerance", OBJECT, struct check_record, tolerance, .fields = record_tolerance_fields),
    FIELD("redzone_bytes_changed", U64, struct check_record, guard.redzone_bytes_changed),
    FIELD("redzone_first", NAME, struct check_record, guard.first, .name = record_tensor_name),
    FIELD("input_elements_changed", U64, struct check_record, guard.input_elements_changed),
    {0},
};

const struct field report_checked_fields[] = {
    FIELD("check", OPTIONAL, struct record, check, .fields = report_check_fields,
          .flag_offset = offsetof(struct check_record, done)),
    {0},
};

const struct field report_injected_fields[] = {
    FIELD("injected", OPTIONAL, struct record, injected, .fields = record_injected_fields,
          .flag_offset = offsetof(struct injected_record, done), .optional = true),
    {0},
};

const struct field report_model_fields[] = {
    FIELD("flops", F64, struct metrics, flops),
    FIELD("bytes", F64, struct metrics, bytes),
    FIELD("flop_per_byte", F64, struct metrics, flop_per_byte),
    {0},
};

const struct field report_traffic_fields[] = {
    FIELD("requested_bytes", F64, struct traffic, requested_bytes),
    FIELD("reread_ratio", F64, struct traffic, reread_ratio),
    FIELD("working_set_bytes", F64, struct traffic, working_set_bytes),
    FIELD("fits_l2", BOOL, struct traffic, fits_l2),
    FIELD("dram_bytes", F64, struct traffic, dram_bytes),
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
    FIELD("stop", ENUM, struct time_record, stop, .name = record_stop_name),
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

static const struct field number_element[] = {{.key = "number", .kind = FIELD_F64}, {0}};
static const struct field reasons_element[] = {
    {.key = "reasons", .kind = FIELD_BITS, .name = report_throttle_name},
    {0},
};

#define FIELD_PER_PROCESS(key_, member, element)                                                   \
  FIELD(key_, LIST, struct process_record, member, .fields = (element), .capacity = PROCESSES_MAX, \
        .count_offset = offsetof(struct process_record, count),                                    \
        .stride = sizeof((struct process_record *)0)->member[0])

const struct field report_process_fields[] = {
    FIELD("count", U32, struct process_record, count, .min = 1, .max = PROCESSES_MAX),
    FIELD_PER_PROCESS("median_us", median_us, number_element),
    FIELD_PER_PROCESS("sm_clock_mhz", sm_clock_mhz, number_element),
    FIELD_PER_PROCESS("throttle_reasons", throttle_reasons, reasons_element),
    {0},
};

const struct field report_times_fields[] = {
    FIELD("cold", OPTIONAL, struct record, time[TIME_COLD], .fields = report_time_fields,
          .flag_offset = offsetof(struct time_record, done)),
    FIELD("hot", OPTIONAL, struct record, time[TIME_HOT], .fields = report_time_fields,
          .flag_offset = offsetof(struct time_record, done)),
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

const struct field report_speedup_fields[] = {
    FIELD_TEXT_OF("reference", struct speedup_record, reference),
    FIELD("cold", OPTIONAL, struct speedup_record, mode[TIME_COLD], .fields = report_ratio_fields,
          .flag_offset = offsetof(struct ratio_record, done)),
    FIELD("hot", OPTIONAL, struct speedup_record, mode[TIME_HOT], .fields = report_ratio_fields,
          .flag_offset = offsetof(struct ratio_record, done)),
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
    FIELD("grid", U32X3, struct pass_record, pass.grid, .min = 1),
    FIELD("block", U32X3, struct pass_record, pass.block, .min = 1),
    FIELD("cluster", U32X3, struct pass_record, pass.cluster, .min = 1),
    FIELD("dynamic_smem_bytes", U32, struct pass_record, pass.dynamic_smem_bytes),
    FIELD("row_threads", U32, struct pass_record, pass.row_threads),
    {0},
};

const struct field report_cover_fields[] = {
    FIELD("axis_covers", SETX3, struct pass_record, pass.covers, .name = record_cover_name),
    {0},
};

const struct field report_launch_fields[] = {
    FIELD("kernel", LABEL, struct launch_view, kernel, .capacity = sizeof((struct launch_view *)0)->kernel),
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
    FIELD("full_bh", F64, struct scaling, full_bh, .null_reason = "no grid that grows with B*Hq is known"),
    FIELD("verdict", ENUM, struct scaling, verdict, .name = name_of_verdict),
    {0},
};

const struct field report_counter_fields[] = {
    FIELD("dram_gb_per_s", F64, struct counter_metrics, dram_gb_per_s),
    FIELD("dram_ratio", F64, struct counter_metrics, dram_ratio),
    FIELD("shared_conflict_ratio", F64, struct counter_metrics, shared_conflict_ratio),
    FIELD("sectors_per_request", F64, struct counter_metrics, sectors_per_request),
    FIELD("global_excess_ratio", F64, struct counter_metrics, global_excess_ratio),
    {0},
};

const struct field report_wall_fields[] = {
    FIELD("wall_s", F64, struct record, wall_s, .null_reason = not_measured),
    FIELD("gpu_s", F64, struct record, gpu_s, .null_reason = not_measured),
    {0},
};
