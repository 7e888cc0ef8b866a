/* The tables of everything that is measured. */
#include "cli/record/field_tables.h"

#include <stdio.h>

#include "cli/sweep/reading.h"

_Static_assert(sizeof(enum cell_status) == sizeof(uint32_t) && sizeof(enum stats_stop) == sizeof(uint32_t),
               "FIELD_ENUM stores enums as uint32_t");

static const char not_measured[] = "not measured";
static const char no_counter[] = "the device does not tell";
static const char not_finite[] = "the output holds NaN or Inf";
static const char kernel_unknown[] = "the compiled kernel's resources are not known here";
static const char not_by_pass[] = "only plans of several passes are timed by pass";

/* ---- case and outcome ---------------------------------------------------------------------------------------- */

/* A field of the shape is an axis, by its number in .min. */
static const struct attn_axis *axis_of(const struct field *field) { return axes_at((enum axis_id)field->min); }

static bool axis_is_absent(const struct field *field, const void *problem) {
  return !axes_is_written(axis_of(field), problem);
}

static cJSON *write_axis(const struct field *field, const void *problem) {
  return axis_json_new(axis_of(field), axes_get(axis_of(field), problem));
}

static struct status read_axis(const struct json_doc *doc, const cJSON *item, const struct field *field,
                               void *problem) {
  struct axis_value value;
  const struct status status = axis_json_read(doc, axis_of(field), item, &value);
  if (!status_failed(&status)) axes_set(axis_of(field), value, problem);
  return status;
}

static void axis_text(const struct field *field, const void *problem, char *out, size_t size) {
  char text[AXIS_VALUE_TEXT_MAX];
  axes_value_write(axis_of(field), axes_get(axis_of(field), problem), text);
  snprintf(out, size, "%s", text);
}

static const struct field_hooks axis_hooks = {axis_is_absent, write_axis, read_axis, axis_text};

const struct field record_shape_fields[] = {
#define AXIS(id, presence, ...)                \
  {.key = #id,                                 \
   .kind = FIELD_HOOKED,                       \
   .min = AXIS_##id,                           \
   .hooks = &axis_hooks,                       \
   .required = AXIS_##presence == AXIS_ALWAYS, \
   .left_out = true},
#define ALIAS(id, ...)
#include "kernels/problem/axes.def"
#undef AXIS
#undef ALIAS
    {0},
};

const struct field record_case_fields[] = {
    FIELD_TEXT_OF("key", struct record, attn_case.key),
    FIELD_TEXT_OF("variant", struct record, variant),
    FIELD("shape", OBJECT, struct record, attn_case.shape, .fields = record_shape_fields, .column = ""),
    {0},
};

const struct field record_outcome_fields[] = {
    FIELD("status", ENUM, struct record, status, .name = cell_status_name),
    FIELD("math", ENUM, struct record, math, .name = record_math_name),
    FIELD_LABEL_OF("reason", struct record, reason),
    {0},
};

const struct field record_cost_fields[] = {
    FIELD("wall_s", F64, struct record, wall_s, .max = RECORD_SECONDS_MOST, .null_reason = not_measured),
    FIELD("gpu_s", F64, struct record, gpu_s, .max = RECORD_SECONDS_MOST, .null_reason = not_measured),
    {0},
};

/* ---- check --------------------------------------------------------------------------------------------------- */

static const struct field oracle_fields[] = {
    FIELD("name", NAME, struct oracle_result, name, .name = record_oracle_name),
    FIELD("rows_verified", U64, struct oracle_result, rows_verified),
    FIELD("max_difference", F64, struct oracle_result, max_difference, .null_reason = not_finite),
    FIELD("quantisation_rows", U64, struct oracle_result, quantisation.rows, .left_out_at_0 = true, .column = ""),
    FIELD("quantisation_rmse", F64, struct oracle_result, quantisation.rmse, .left_out_at_0 = true),
    FIELD("quantisation_max", F64, struct oracle_result, quantisation.max, .left_out_at_0 = true),
    {0},
};

const struct field record_tolerance_fields[] = {
    FIELD("relative", F64, struct tolerance, relative),
    FIELD("absolute", F64, struct tolerance, absolute),
    FIELD("frobenius", F64, struct tolerance, frobenius),
    FIELD("step_keys", F64, struct tolerance, step_keys, .left_out = true, .column = ""),
    {0},
};

static const struct field lse_fields[] = {
    FIELD("rows", U64, struct lse_result, rows),
    FIELD("bad_rows", U64, struct lse_result, bad_rows),
    FIELD("not_finite", U64, struct lse_result, not_finite),
    FIELD("first_bad", INDEX, struct lse_result, first_bad),
    FIELD("max_abs_error", F64, struct lse_result, max_abs_error),
    FIELD("max_bound_ratio", F64, struct lse_result, max_bound_ratio),
    {0},
};

static bool has_lse(const void *check) { return ((const struct check_record *)check)->compare.lse.rows > 0; }

static bool knows_timed_rows(const void *check) { return ((const struct check_record *)check)->timed_rows_ratio > 0; }

/* Rows of struct check_record. */
static const struct field evidence_fields[] = {
    FIELD("launches", U32, struct check_record, launches),
    FIELD("launch", U32, struct check_record, launch),
    FIELD("rows", U64, struct check_record, compare.rows),
    FIELD("bad_rows", U64, struct check_record, compare.bad_rows),
    FIELD("max_row_ratio", F64, struct check_record, compare.max_row_ratio, .null_reason = not_finite),
    FIELD("norm_ratio", F64, struct check_record, compare.norm_ratio, .null_reason = not_finite),
    FIELD("hard_ratio", F64, struct check_record, hard_ratio, .null_reason = "no launch on hard inputs"),
    FIELD("timed_samples", U64, struct check_record, timed_samples),
    FIELD("timed_wrong", U64, struct check_record, timed_wrong),
    FIELD("timed_rows_ratio", F64, struct check_record, timed_rows_ratio, .left_out = true,
          .known = knows_timed_rows),
    FIELD("race_found_ratio", F64, struct check_record, race_found_ratio, .left_out = true,
          .known = knows_timed_rows),
    FIELD("changed_us", F64, struct check_record, changed_us),
    FIELD("seconds", F64, struct check_record, seconds, .max = RECORD_SECONDS_MOST, .null_reason = not_finite),
    {0},
};

const struct field record_check_fields[] = {
    FIELD("right", BOOL, struct check_record, right),
    FIELD("after_timing", BOOL, struct check_record, after_timing),
    FIELD("oracle", OBJECT, struct check_record, oracle, .fields = oracle_fields),
    FIELD("max_abs_error", F64, struct check_record, compare.max_abs_error, .null_reason = not_finite,
          .alias = "compare.max_abs_error"),
    FIELD("max_bound_ratio", F64, struct check_record, compare.max_bound_ratio, .null_reason = not_finite,
          .alias = "compare.max_bound_ratio"),
    FIELD("rel_frobenius", F64, struct check_record, compare.rel_frobenius, .null_reason = not_finite,
          .alias = "compare.rel_frobenius"),
    FIELD("elements", U64, struct check_record, compare.elements, .alias = "compare.elements"),
    FIELD("nan_count", U64, struct check_record, compare.nan_count, .alias = "compare.nan_count"),
    FIELD("inf_count", U64, struct check_record, compare.inf_count, .alias = "compare.inf_count"),
    FIELD("bad_count", U64, struct check_record, compare.bad_count, .alias = "compare.bad_count"),
    FIELD("first_bad", INDEX, struct check_record, compare.first_bad, .alias = "compare.first_bad"),
    FIELD("tolerance", OBJECT, struct check_record, tolerance, .fields = record_tolerance_fields),
    FIELD("redzone_bytes_changed", U64, struct check_record, guard.redzone_bytes_changed,
          .alias = "guard.redzone_bytes_changed"),
    FIELD("redzone_first", NAME, struct check_record, guard.first, .name = record_tensor_name,
          .alias = "guard.first"),
    FIELD("input_elements_changed", U64, struct check_record, guard.input_elements_changed,
          .alias = "guard.input_elements_changed"),
    FIELD("lse", OBJECT, struct check_record, compare.lse, .fields = lse_fields, .known = has_lse, .left_out = true,
          .column = ""),
    FIELD_IF("evidence", struct check_record, done, known, evidence_fields, .left_out = true, .column = ""),
    {0},
};

/* ---- times --------------------------------------------------------------------------------------------------- */

const struct field record_time_fields[] = {
    FIELD("n", U32, struct time_record, us.n, .min = 1),
    FIELD("min_us", F64, struct time_record, us.min),
    FIELD("p25_us", F64, struct time_record, us.p25),
    FIELD("median_us", F64, struct time_record, us.median, .required = true),
    FIELD("p75_us", F64, struct time_record, us.p75),
    FIELD("p95_us", F64, struct time_record, us.p95),
    FIELD("max_us", F64, struct time_record, us.max),
    FIELD("mad_us", F64, struct time_record, us.mad),
    FIELD("ci95_low_us", F64, struct time_record, us.ci_low, .alias = "ci_low_us"),
    FIELD("ci95_high_us", F64, struct time_record, us.ci_high, .alias = "ci_high_us"),
    FIELD("stop", ENUM, struct time_record, stop, .name = stats_stop_name),
    FIELD("launches_per_sample", U32, struct time_record, launches_per_sample),
    FIELD("settled", BOOL, struct time_record, settled),
    FIELD("settled_alone", BOOL, struct time_record, settled_alone, .left_out = true, .column = ""),
    FIELD("warmup_s", F64, struct time_record, warmup_s, .max = RECORD_SECONDS_MOST),
    FIELD("elapsed_s", F64, struct time_record, elapsed_s, .max = RECORD_SECONDS_MOST),
    FIELD("sm_clock_mhz", F64, struct time_record, sm_clock_mhz, .max = RECORD_MHZ_MOST, .null_reason = no_counter),
    FIELD("power_w", F64, struct time_record, power_w, .max = RECORD_WATTS_MOST, .null_reason = no_counter),
    FIELD("temperature_c", F64, struct time_record, temperature_c, .max = RECORD_CELSIUS_MOST,
          .null_reason = no_counter),
    FIELD("throttle_reasons", BITS, struct time_record, throttle_reasons, .name = record_throttle_name),
    FIELD("energy_j", F64, struct time_record, energy_j, .left_out_at_0 = true, .column = ""),
    FIELD("waited_ratio", F64, struct time_record, waited_ratio, .left_out_at_0 = true, .column = ""),
    FIELD("others_load", F64, struct time_record, others_load, .left_out_at_0 = true, .column = ""),
    FIELD("samples_us", NUMBERS, struct time_record, samples_us, .capacity = TIME_SAMPLES_MAX, .left_out = true,
          .column = ""),
    {0},
};

struct time_pair {
  struct time_record mode[TIME_MODE_COUNT];
};

const struct field record_times_fields[] = {
    FIELD_IF("cold", struct time_pair, mode[TIME_COLD], mode[TIME_COLD].done, record_time_fields),
    FIELD_IF("hot", struct time_pair, mode[TIME_HOT], mode[TIME_HOT].done, record_time_fields),
    FIELD_IF("steady", struct time_pair, mode[TIME_STEADY], mode[TIME_STEADY].done, record_time_fields,
             .left_out = true),
    {0},
};

static const struct field number_element[] = {{.key = "number", .kind = FIELD_F64}, {0}};
static const struct field reasons_element[] = {
    {.key = "reasons", .kind = FIELD_BITS, .name = record_throttle_name},
    {0},
};

static const struct field process_fields[] = {
    FIELD("count", U32, struct process_record, count, .min = 1, .max = PROCESSES_MAX),
#define PROCESS_FIELD(type, name, from, element)                                                          \
  FIELD(#name, LIST, struct process_record, name, .fields = element##_element, .capacity = PROCESSES_MAX, \
        .count_offset = offsetof(struct process_record, count), .stride = sizeof(type)),
    PROCESS_MAP(PROCESS_FIELD)
#undef PROCESS_FIELD
        {0},
};

struct process_pair {
  struct process_record mode[TIME_MODE_COUNT];
};

static bool has_cold_processes(const void *pair) {
  return ((const struct process_pair *)pair)->mode[TIME_COLD].count > 0;
}
static bool has_hot_processes(const void *pair) {
  return ((const struct process_pair *)pair)->mode[TIME_HOT].count > 0;
}
static bool has_steady_processes(const void *pair) {
  return ((const struct process_pair *)pair)->mode[TIME_STEADY].count > 0;
}

const struct field record_processes_fields[] = {
    FIELD("cold", OBJECT, struct process_pair, mode[TIME_COLD], .fields = process_fields,
          .known = has_cold_processes),
    FIELD("hot", OBJECT, struct process_pair, mode[TIME_HOT], .fields = process_fields, .known = has_hot_processes),
    FIELD("steady", OBJECT, struct process_pair, mode[TIME_STEADY], .fields = process_fields,
          .known = has_steady_processes, .left_out = true),
    {0},
};

const struct field record_ratio_fields[] = {
    FIELD("ratio", F64, struct ratio_record, ratio, .required = true),
    FIELD("ci95_low", F64, struct ratio_record, ci_low, .alias = "ci_low"),
    FIELD("ci95_high", F64, struct ratio_record, ci_high, .alias = "ci_high"),
    FIELD("rounds", U32, struct ratio_record, rounds),
    FIELD("event_overhead_us", F64, struct ratio_record, event_overhead_us, .max = RECORD_OVERHEAD_US_MOST),
    FIELD("drift_ratio", F64, struct ratio_record, drift_ratio),
    FIELD("sm_clock_mhz", F64, struct ratio_record, sm_clock_mhz, .max = RECORD_MHZ_MOST),
    FIELD("reference_memset_us", F64, struct ratio_record, reference_memset_us, .left_out_at_0 = true),
    FIELD("memset_us", F64, struct ratio_record, memset_us, .left_out_at_0 = true),
    FIELD("kernels_alone", F64, struct ratio_record, kernels_alone, .left_out_at_0 = true),
    {0},
};

const struct field record_speedup_fields[] = {
    FIELD_TEXT_OF("reference", struct speedup_record, reference),
    FIELD_LABEL_OF("library", struct speedup_record, library, .left_out = true),
    FIELD_IF("cold", struct speedup_record, mode[TIME_COLD], mode[TIME_COLD].done, record_ratio_fields, .column = ""),
    FIELD_IF("hot", struct speedup_record, mode[TIME_HOT], mode[TIME_HOT].done, record_ratio_fields, .column = ""),
    FIELD_IF("steady", struct speedup_record, mode[TIME_STEADY], mode[TIME_STEADY].done, record_ratio_fields,
             .left_out = true, .column = ""),
    FIELD_LABEL_OF("reason", struct speedup_record, reason, .read_only = true),
    {0},
};

static const struct field injected_fields[] = {
    FIELD("percent", F64, struct injected_record, percent),
    FIELD("cold_ratio", F64, struct injected_record, ratio[TIME_COLD]),
    FIELD("hot_ratio", F64, struct injected_record, ratio[TIME_HOT]),
    {0},
};

/* ---- plan ---------------------------------------------------------------------------------------------------- */

static bool has_memsets(const void *plan) { return ((const struct attn_plan *)plan)->launched.memsets > 0; }

const struct field record_plan_fields[] = {
    FIELD("tile_q", U32, struct attn_plan, tile_q),
    FIELD("tile_kv", U32, struct attn_plan, tile_kv),
    FIELD("splits", U32, struct attn_plan, splits),
    FIELD("stages", U32, struct attn_plan, stages),
    FIELD("workspace_bytes", U64, struct attn_plan, workspace_bytes),
    FIELD("more_kernels", U32, struct attn_plan, launched.more_kernels, .left_out_at_0 = true, .column = ""),
    FIELD("memsets", U32, struct attn_plan, launched.memsets, .left_out_at_0 = true, .column = ""),
    FIELD("memset_bytes", U64, struct attn_plan, launched.memset_bytes, .known = has_memsets, .left_out = true,
          .column = ""),
    {0},
};

static bool knows_kernel(const void *pass) { return ((const struct pass_record *)pass)->facts.registers > 0; }
const struct field record_launch_fields[] = {
    FIELD_TEXT_OF("name", struct pass_record, name),
    FIELD("grid", U32X3, struct pass_record, pass.grid, .min = 1),
    FIELD("block", U32X3, struct pass_record, pass.block, .min = 1),
    FIELD("cluster", U32X3, struct pass_record, pass.cluster, .min = 1),
    FIELD("dynamic_smem_bytes", U32, struct pass_record, pass.dynamic_smem_bytes),
    FIELD("row_threads", U32, struct pass_record, pass.row_threads),
    FIELD("producer_threads", U32, struct pass_record, pass.producer_threads, .left_out_at_0 = true, .column = ""),
    FIELD_LABEL_OF("kernel", struct pass_record, facts.kernel_name),
    FIELD("static_smem_bytes", U32, struct pass_record, facts.static_smem_bytes, .known = knows_kernel,
          .null_reason = kernel_unknown),
    FIELD("registers", U32, struct pass_record, facts.registers, .known = knows_kernel,
          .null_reason = kernel_unknown),
    FIELD("local_bytes", U32, struct pass_record, facts.local_bytes, .known = knows_kernel,
          .null_reason = kernel_unknown),
    FIELD("axis_covers", SETX3, struct pass_record, pass.covers, .name = attn_cover_name, .alias = "covers",
          .column = "covers"),
    {0},
};

const struct field record_pass_time_fields[] = {
    FIELD("cold_us", F64, struct pass_record, cold_us, .null_reason = not_by_pass),
    {0},
};

const struct field record_pass_fields[] = {
    FIELD_PART_OF("launch", record_launch_fields),
    FIELD("resident_blocks", U32, struct pass_record, facts.resident_blocks, .left_out_at_0 = true),
    FIELD("choice", U32, struct pass_record, facts.choice, .left_out_at_0 = true, .column = ""),
    FIELD("choices", U32, struct pass_record, facts.choices, .left_out_at_0 = true, .column = ""),
    FIELD_PART_OF("time", record_pass_time_fields),
    {.key = "facts_known", .kind = FIELD_GONE},
    {0},
};

/* ---- the record ---------------------------------------------------------------------------------------------- */

static bool has_processes(const void *record) { return process_count(record) > 1; }

static bool has_speedup(const void *record) {
  const struct speedup_record *speedup = &((const struct record *)record)->speedup;
  return speedup->mode[TIME_COLD].done || speedup->mode[TIME_HOT].done || speedup->mode[TIME_STEADY].done;
}

static bool has_plan(const void *record) {
  const struct attn_plan *plan = &((const struct record *)record)->plan;
  return plan->pass_count > 0 || plan->tile_q > 0;
}

static const struct field counters_fields[] = {
    FIELD_PART_OF("head", record_counter_head_fields),
    FIELD_PART_OF("passes", record_counter_passes_fields),
    {0},
};

const struct field record_dependence_fields[] = {
    FIELD("data_dependence_ratio", F64, struct record, data_dependence_ratio, .left_out_at_0 = true),
    {0},
};

const struct field record_fields[] = {
    FIELD_PART_OF("case", record_case_fields),
    FIELD_PART_OF("outcome", record_outcome_fields),
    FIELD_LABEL_OF("card", struct record, card, .left_out = true),
    FIELD_LABEL_OF("picked", struct record, picked, .left_out = true),
    FIELD_LABEL_OF("picked_why", struct record, picked_why, .left_out = true),
    FIELD_IF("check", struct record, check, check.done, record_check_fields),
    FIELD("time", OBJECT, struct record, time, .fields = record_times_fields, .alias = ".", .optional = true),
    FIELD("processes", OBJECT, struct record, process, .fields = record_processes_fields, .known = has_processes,
          .left_out = true),
    FIELD("speedup_vs", OBJECT, struct record, speedup, .fields = record_speedup_fields, .known = has_speedup,
          .alias = "speedup", .optional = true),
    FIELD_LABEL_OF("speedup_vs_reason", struct record, speedup.reason, .left_out = true),
    FIELD("plan", OBJECT, struct record, plan, .fields = record_plan_fields, .known = has_plan),
    FIELD_LABEL_OF("resumed_with_other", struct record, resumed_with_other, .left_out = true),
    FIELD_LABEL_OF("left", struct record, left, .left_out = true),
    FIELD_LABEL_OF("uncaptured", struct record, uncaptured, .left_out = true, .column = ""),
    FIELD_PART_OF("dependence", record_dependence_fields),
    FIELD_IF("injected", struct record, injected, injected.done, injected_fields, .left_out = true),
    FIELD_ARRAY_OF("launches", struct record, pass, plan.pass_count, record_pass_fields, .alias = "passes",
                   .open = true),
    FIELD_IF("counters", struct record, counters, counters.done, counters_fields, .left_out = true, .open = true),
    FIELD_PART_OF("cost", record_cost_fields),
    {.key = "variant_name", .kind = FIELD_GONE},
    {0},
};

/* ---- the device ---------------------------------------------------------------------------------------------- */

static const struct field policy_fields[] = {
    FIELD_LABEL_OF("mig", struct device_policy, mig),
    FIELD_LABEL_OF("ecc", struct device_policy, ecc),
    FIELD("power_limit_w", F64, struct device_policy, power_limit_w, .max = RECORD_WATTS_MOST),
    FIELD("application_sm_clock_mhz", F64, struct device_policy, application_sm_clock_mhz, .max = RECORD_MHZ_MOST),
    FIELD("application_memory_clock_mhz", F64, struct device_policy, application_memory_clock_mhz,
          .max = RECORD_MHZ_MOST),
    FIELD("max_sm_clock_mhz", F64, struct device_policy, max_sm_clock_mhz, .max = RECORD_MHZ_MOST),
    FIELD("max_memory_clock_mhz", F64, struct device_policy, max_memory_clock_mhz, .max = RECORD_MHZ_MOST),
    FIELD("idle_power_w", F64, struct device_policy, idle_power_w, .max = RECORD_WATTS_MOST, .left_out_at_0 = true),
    FIELD_LABEL_OF("compute_mode", struct device_policy, compute_mode),
    FIELD_LABEL_OF("persistence", struct device_policy, persistence),
    FIELD_LABEL_OF("virtualization", struct device_policy, virtualization),
    FIELD_LABEL_OF("host_cpu", struct device_policy, host_cpu),
    FIELD_LABEL_OF("host_kernel", struct device_policy, host_kernel),
    {0},
};

const struct field record_device_fields[] = {
    FIELD("kind", ENUM, struct device_line, info.kind, .name = record_device_kind_name),
    FIELD("modelled", BOOL, struct device_line, info.modelled),
    FIELD_TEXT_OF("name", struct device_line, info.name),
    FIELD_TEXT_OF("uuid", struct device_line, info.uuid),
    FIELD("cc_major", U32, struct device_line, info.cc_major),
    FIELD("cc_minor", U32, struct device_line, info.cc_minor),
    FIELD("sms", U32, struct device_line, info.sms),
    FIELD("threads_per_sm", U32, struct device_line, info.threads_per_sm),
    FIELD("blocks_per_sm", U32, struct device_line, info.blocks_per_sm),
    FIELD("regs_per_sm", U32, struct device_line, info.regs_per_sm),
    FIELD("threads_per_block", U32, struct device_line, info.threads_per_block),
    FIELD("smem_per_sm_bytes", U32, struct device_line, info.smem_per_sm_bytes),
    FIELD("smem_per_block_bytes", U32, struct device_line, info.smem_per_block_bytes),
    FIELD("smem_reserved_bytes", U32, struct device_line, info.smem_reserved_bytes),
    FIELD("l2_bytes", U64, struct device_line, info.l2_bytes),
    FIELD("memory_bytes", U64, struct device_line, info.memory_bytes),
    FIELD("sm_clock_max_mhz", F64, struct device_line, info.sm_clock_max_mhz, .max = RECORD_MHZ_MOST,
          .required = true),
    FIELD("dram_gb_per_s", F64, struct device_line, info.dram_gb_per_s, .max = RECORD_GB_PER_S_MOST,
          .required = true),
    FIELD("tensor_flop_per_clk_sm", F64, struct device_line, info.tensor_flop_per_clk_sm,
          .max = RECORD_FLOP_PER_CLK_MOST, .required = true),
    FIELD("fp32_flop_per_clk_sm", F64, struct device_line, info.fp32_flop_per_clk_sm, .max = RECORD_FLOP_PER_CLK_MOST,
          .required = true),
    FIELD("driver_version", U32, struct device_line, info.driver_version),
    FIELD("runtime_version", U32, struct device_line, info.runtime_version),
    FIELD_TEXT_OF("driver", struct device_line, info.driver),
    FIELD("hides_launches", BOOL, struct device_line, info.hides_launches),
    FIELD("event_overhead_us", F64, struct device_line, event_overhead_us, .max = RECORD_OVERHEAD_US_MOST,
          .required = true),
    FIELD_IF("policy", struct device_line, policy, policy.known, policy_fields, .left_out = true),
    {0},
};

/* ---- the run ------------------------------------------------------------------------------------------------- */

const struct field record_tool_fields[] = {
    FIELD_TEXT_OF("version", struct run_info, version),
    FIELD_TEXT_OF("git_commit", struct run_info, git_commit),
    FIELD_TEXT_OF("cuda", struct run_info, cuda),
    FIELD_TEXT_OF("cjson", struct run_info, cjson),
    {0},
};

static const struct field sentinel_mode_fields[] = {
    FIELD("first_us", F64, struct sentinel_mode, first_us),
    FIELD("last_us", F64, struct sentinel_mode, last_us),
    FIELD("min_us", F64, struct sentinel_mode, min_us),
    FIELD("max_us", F64, struct sentinel_mode, max_us),
    FIELD("drift_ratio", F64, struct sentinel_mode, drift_ratio),
    {0},
};

static const struct field sentinel_fields[] = {
    FIELD_TEXT_OF("key", struct sentinel, key),
    FIELD_TEXT_OF("variant", struct sentinel, variant),
    FIELD("count", U32, struct sentinel, count),
    FIELD("cold", OBJECT, struct sentinel, mode[TIME_COLD], .fields = sentinel_mode_fields),
    FIELD("hot", OBJECT, struct sentinel, mode[TIME_HOT], .fields = sentinel_mode_fields),
    {0},
};

const struct field record_run_fields[] = {
    FIELD_LABEL_OF("started_utc", struct run_info, started_utc),
    FIELD_TEXT_OF("command", struct run_info, command),
    FIELD_LABEL_OF("commit", struct run_info, commit, .left_out = true),
    FIELD("seed", U64, struct run_info, seed),
    FIELD_LABEL_OF("filter", struct run_info, filter),
    FIELD("cells", U64, struct run_info, cell_count, .alias = "cell_count"),
    FIELD_LABEL_OF("shard", struct run_info, shard, .left_out = true),
    FIELD("merged_shards", U32, struct run_info, merged_shards, .left_out_at_0 = true),
    FIELD_LABEL_OF("order", struct run_info, order, .left_out = true),
    FIELD("time_budget_s", F64, struct run_info, time_budget_s, .left_out_at_0 = true),
    FIELD_IF("sentinel", struct run_info, sentinel, sentinel.known, sentinel_fields, .left_out = true),
    FIELD("resumed", U32, struct run_info, resumed, .left_out_at_0 = true),
    {0},
};

const struct field record_run_mode_fields[] = {
    FIELD_LABEL_OF("profiled", struct run_info, profiled),
    FIELD("profile_launches", U32, struct run_info, profile_launches, .optional = true),
    FIELD("quick", BOOL, struct run_info, quick, .left_out = true),
    FIELD("tuned", BOOL, struct run_info, tuned, .left_out = true),
    FIELD("in_steps", BOOL, struct run_info, in_steps, .left_out = true),
    FIELD("by_card", BOOL, struct run_info, by_card, .left_out = true),
    {0},
};

const struct field record_baseline_fields[] = {
    FIELD("B", U32, struct sweep_baseline, B, .optional = true),
    FIELD("Hq", U32, struct sweep_baseline, Hq, .optional = true),
    {0},
};

static const struct field gate_case_fields[] = {
    FIELD_TEXT_OF("glob", struct sweep_gate_case, glob),
    FIELD("threshold_percent", F64, struct sweep_gate_case, threshold_percent, .required = true),
    {0},
};

const struct field record_gate_fields[] = {
    FIELD("threshold_percent", F64, struct sweep_gate, threshold_percent, .required = true),
    FIELD_ARRAY_OF("cases", struct sweep_gate, cases, case_count, gate_case_fields),
    {0},
};

const struct field record_sweep_name_fields[] = {
    FIELD_TEXT_OF("path", struct run_info, sweep_path, .alias = "sweep_path"),
    FIELD_TEXT_OF("name", struct run_info, sweep_name, .alias = "sweep_name"),
    FIELD_TEXT_OF("about", struct run_info, sweep_about, .alias = "sweep_about"),
    FIELD_LABEL_OF("hash", struct run_info, sweep_hash, .alias = "sweep_hash"),
    {0},
};

const struct field record_sweep_fields[] = {
    FIELD_PART_OF("name", record_sweep_name_fields),
    FIELD_IF("baseline", struct run_info, baseline, has_baseline, record_baseline_fields),
    FIELD_IF("gate", struct run_info, gate, gate.known, record_gate_fields, .left_out = true),
    FIELD("has_baseline", BOOL, struct run_info, has_baseline, .read_only = true),
    {0},
};
