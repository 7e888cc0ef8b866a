/* The field tables of a record, and a record as one line of JSON. */
#include "cli/record/record.h"

#include <math.h>
#include <string.h>

#include "cli/record/field_tables.h"

_Static_assert(sizeof(enum cell_status) == sizeof(uint32_t) && sizeof(enum stats_stop) == sizeof(uint32_t),
               "FIELD_ENUM stores enums as uint32_t");

/* ---- names --------------------------------------------------------------------------------------------------- */

static const struct cell_row {
  const char *name, *help;
  enum exit_code exit;
} cells[CELL_STATUS_COUNT] = {
#define CELL_ROW(name_, exit_, help_) [CELL_##name_] = {.name = #name_, .help = (help_), .exit = (exit_)},
    CELL_STATUS_MAP(CELL_ROW)
#undef CELL_ROW
};

const char *cell_status_name(enum cell_status status) { return cells[status].name; }
enum exit_code cell_status_exit_code(enum cell_status status) { return cells[status].exit; }
const char *cell_status_help(enum cell_status status) { return cells[status].help; }

const char *time_mode_name(enum time_mode mode) {
  static const char *const names[TIME_MODE_COUNT] = {[TIME_COLD] = "cold", [TIME_HOT] = "hot"};
  return names[mode];
}

struct status time_modes_parse(const char *text, bool out[TIME_MODE_COUNT]) {
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) out[mode] = false;
  for (const char *part = text;; part += strcspn(part, ",") + 1) {
    const size_t length = strcspn(part, ",");
    enum time_mode mode = 0;
    while (mode < TIME_MODE_COUNT &&
           (strlen(time_mode_name(mode)) != length || memcmp(time_mode_name(mode), part, length) != 0))
      ++mode;
    if (mode == TIME_MODE_COUNT) {
      return status_make(STATUS_USAGE, "--modes: \"%.*s\" is no mode; write hot, cold or hot,cold", (int)length,
                         part);
    }
    if (out[mode]) return status_make(STATUS_USAGE, "--modes: %s is named twice; name it once", time_mode_name(mode));
    out[mode] = true;
    if (part[length] == '\0') return status_ok();
  }
}

const char *record_status_name(uint32_t i) { return i < CELL_STATUS_COUNT ? cells[i].name : NULL; }
static const char *name_of_dtype(uint32_t i) {
  return i < ATTN_DTYPE_COUNT ? attn_dtype_name((enum attn_dtype)i) : NULL;
}
const char *record_mode_name(uint32_t i) { return i < TIME_MODE_COUNT ? time_mode_name((enum time_mode)i) : NULL; }

const char *record_stop_name(uint32_t i) { return i < STATS_STOP_COUNT ? stats_stop_name((enum stats_stop)i) : NULL; }

const char *record_math_name(uint32_t i) {
  static const char *const names[] = {[ATTN_MATH_FP32] = "fp32",
                                      [ATTN_MATH_TENSOR] = "tensor",
                                      [ATTN_MATH_FP64_HOST] = "fp64_host",
                                      [ATTN_MATH_FP32_HOST] = "fp32_host"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

const char *record_cover_name(uint32_t bit) {
  static const char *const names[] = {"B", "H", "Q", "split", "D", "?"};
  return bit < sizeof names / sizeof *names ? names[bit] : NULL;
}

static const char *name_of_device_kind(uint32_t i) {
  static const char *const names[] = {[DEVICE_CPU] = "cpu", [DEVICE_CUDA] = "cuda"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

const char *record_oracle_name(uint32_t i) {
  static const char *const names[] = {"cpu_fp64", "gpu_fp64", "other"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

const char *record_tensor_name(uint32_t i) {
  static const char *const names[] = {"q", "k", "v", "o", "workspace", "other"};
  return i < sizeof names / sizeof *names ? names[i] : NULL;
}

/* ---- tables -------------------------------------------------------------------------------------------------- */

const struct field record_shape_fields[] = {
    FIELD("B", U32, struct attn_shape, B, .min = 1, .max = SWEEP_B_MAX),
    FIELD("Hq", U32, struct attn_shape, Hq, .min = 1, .max = SWEEP_H_MAX),
    FIELD("Hkv", U32, struct attn_shape, Hkv, .min = 1, .max = SWEEP_H_MAX),
    FIELD("Sq", U32, struct attn_shape, Sq, .min = 1, .max = SWEEP_S_MAX),
    FIELD("Skv", U32, struct attn_shape, Skv, .min = 1, .max = SWEEP_S_MAX),
    FIELD("D", U32, struct attn_shape, D, .min = 1, .max = SWEEP_D_MAX),
    FIELD("dtype", ENUM, struct attn_shape, dtype, .name = name_of_dtype),
    FIELD("causal", BOOL, struct attn_shape, causal),
    {0},
};

static const struct field gate_case_fields[] = {
    FIELD_TEXT_OF("glob", struct sweep_gate_case, glob),
    FIELD("threshold_percent", F64, struct sweep_gate_case, threshold_percent),
    {0},
};

const struct field record_gate_fields[] = {
    FIELD("threshold_percent", F64, struct sweep_gate, threshold_percent),
    FIELD("cases", ARRAY, struct sweep_gate, cases, .fields = gate_case_fields, .capacity = SWEEP_GATE_CASES_MAX,
          .count_offset = offsetof(struct sweep_gate, case_count), .stride = sizeof(struct sweep_gate_case)),
    {0},
};

static const struct field oracle_fields[] = {
    FIELD("name", NAME, struct oracle_result, name, .name = record_oracle_name),
    FIELD("rows_verified", U64, struct oracle_result, rows_verified),
    FIELD("max_difference", F64, struct oracle_result, max_difference),
    {0},
};

const struct field record_tolerance_fields[] = {
    FIELD("relative", F64, struct tolerance, relative),
    FIELD("absolute", F64, struct tolerance, absolute),
    FIELD("frobenius", F64, struct tolerance, frobenius),
    {0},
};

static const struct field compare_fields[] = {
    FIELD("elements", U64, struct compare_result, elements),
    FIELD("nan_count", U64, struct compare_result, nan_count),
    FIELD("inf_count", U64, struct compare_result, inf_count),
    FIELD("bad_count", U64, struct compare_result, bad_count),
    FIELD("first_bad", U64, struct compare_result, first_bad),
    FIELD("max_abs_error", F64, struct compare_result, max_abs_error),
    FIELD("max_bound_ratio", F64, struct compare_result, max_bound_ratio),
    FIELD("rel_frobenius", F64, struct compare_result, rel_frobenius),
    {0},
};

static const struct field guard_fields[] = {
    FIELD("redzone_bytes_changed", U64, struct guard_result, redzone_bytes_changed),
    FIELD("input_elements_changed", U64, struct guard_result, input_elements_changed),
    FIELD("first", NAME, struct guard_result, first, .name = record_tensor_name),
    {0},
};

static const struct field check_fields[] = {
    FIELD("right", BOOL, struct check_record, right),
    FIELD("after_timing", BOOL, struct check_record, after_timing),
    FIELD("oracle", OBJECT, struct check_record, oracle, .fields = oracle_fields),
    FIELD("tolerance", OBJECT, struct check_record, tolerance, .fields = record_tolerance_fields),
    FIELD("compare", OBJECT, struct check_record, compare, .fields = compare_fields),
    FIELD("guard", OBJECT, struct check_record, guard, .fields = guard_fields),
    {0},
};

static const struct field time_fields[] = {
    FIELD("n", U32, struct time_record, us.n, .min = 1),
    FIELD("min_us", F64, struct time_record, us.min),
    FIELD("p25_us", F64, struct time_record, us.p25),
    FIELD("median_us", F64, struct time_record, us.median),
    FIELD("p75_us", F64, struct time_record, us.p75),
    FIELD("p95_us", F64, struct time_record, us.p95),
    FIELD("max_us", F64, struct time_record, us.max),
    FIELD("mad_us", F64, struct time_record, us.mad),
    FIELD("ci_low_us", F64, struct time_record, us.ci_low),
    FIELD("ci_high_us", F64, struct time_record, us.ci_high),
    FIELD("stop", ENUM, struct time_record, stop, .name = record_stop_name),
    FIELD("launches_per_sample", U32, struct time_record, launches_per_sample),
    FIELD("settled", BOOL, struct time_record, settled),
    FIELD("warmup_s", F64, struct time_record, warmup_s),
    FIELD("elapsed_s", F64, struct time_record, elapsed_s),
    FIELD("sm_clock_mhz", F64, struct time_record, sm_clock_mhz),
    FIELD("power_w", F64, struct time_record, power_w),
    FIELD("temperature_c", F64, struct time_record, temperature_c),
    FIELD("throttle_reasons", U64, struct time_record, throttle_reasons),
    {0},
};

static const struct field ratio_fields[] = {
    FIELD("rounds", U32, struct ratio_record, rounds, .min = 1),
    FIELD("ratio", F64, struct ratio_record, ratio),
    FIELD("ci_low", F64, struct ratio_record, ci_low),
    FIELD("ci_high", F64, struct ratio_record, ci_high),
    {0},
};

static const struct field speedup_fields[] = {
    FIELD_TEXT_OF("reference", struct speedup_record, reference),
    FIELD_TEXT_OF("reason", struct speedup_record, reason),
    FIELD("cold", OPTIONAL, struct speedup_record, mode[TIME_COLD], .fields = ratio_fields,
          .flag_offset = offsetof(struct ratio_record, done)),
    FIELD("hot", OPTIONAL, struct speedup_record, mode[TIME_HOT], .fields = ratio_fields,
          .flag_offset = offsetof(struct ratio_record, done)),
    {0},
};

const struct field record_injected_fields[] = {
    FIELD("percent", F64, struct injected_record, percent),
    FIELD("cold_ratio", F64, struct injected_record, ratio[TIME_COLD]),
    FIELD("hot_ratio", F64, struct injected_record, ratio[TIME_HOT]),
    {0},
};

static const struct field plan_fields[] = {
    FIELD("workspace_bytes", U64, struct attn_plan, workspace_bytes),
    FIELD("tile_q", U32, struct attn_plan, tile_q),
    FIELD("tile_kv", U32, struct attn_plan, tile_kv),
    FIELD("splits", U32, struct attn_plan, splits),
    FIELD("stages", U32, struct attn_plan, stages),
    {0},
};

static const struct field pass_fields[] = {
    FIELD_TEXT_OF("name", struct pass_record, name),
    FIELD("grid", U32X3, struct pass_record, pass.grid, .min = 1),
    FIELD("block", U32X3, struct pass_record, pass.block, .min = 1),
    FIELD("cluster", U32X3, struct pass_record, pass.cluster, .min = 1),
    FIELD("dynamic_smem_bytes", U32, struct pass_record, pass.dynamic_smem_bytes),
    FIELD("covers", U32X3, struct pass_record, pass.covers, .max = 63),
    FIELD("row_threads", U32, struct pass_record, pass.row_threads),
    FIELD_TEXT_OF("kernel", struct pass_record, facts.kernel_name),
    FIELD("registers", U32, struct pass_record, facts.registers),
    FIELD("static_smem_bytes", U32, struct pass_record, facts.static_smem_bytes),
    FIELD("local_bytes", U32, struct pass_record, facts.local_bytes),
    FIELD("resident_blocks", U32, struct pass_record, facts.resident_blocks),
    FIELD("facts_known", BOOL, struct pass_record, facts_known),
    FIELD("cold_us", F64, struct pass_record, cold_us),
    {0},
};

static const struct field record_fields[] = {
    FIELD_TEXT_OF("key", struct record, attn_case.key),
    FIELD("shape", OBJECT, struct record, attn_case.shape, .fields = record_shape_fields),
    FIELD_TEXT_OF("variant", struct record, variant),
    FIELD_TEXT_OF("variant_name", struct record, variant_name),
    FIELD("math", ENUM, struct record, math, .name = record_math_name),
    FIELD("status", ENUM, struct record, status, .name = record_status_name),
    FIELD_TEXT_OF("reason", struct record, reason),
    FIELD("check", OPTIONAL, struct record, check, .fields = check_fields,
          .flag_offset = offsetof(struct check_record, done)),
    FIELD("cold", OPTIONAL, struct record, time[TIME_COLD], .fields = time_fields,
          .flag_offset = offsetof(struct time_record, done)),
    FIELD("hot", OPTIONAL, struct record, time[TIME_HOT], .fields = time_fields,
          .flag_offset = offsetof(struct time_record, done)),
    FIELD("speedup", OBJECT, struct record, speedup, .fields = speedup_fields),
    FIELD("injected", OPTIONAL, struct record, injected, .fields = record_injected_fields,
          .flag_offset = offsetof(struct injected_record, done), .optional = true),
    FIELD("plan", OBJECT, struct record, plan, .fields = plan_fields),
    FIELD("passes", ARRAY, struct record, pass, .fields = pass_fields, .capacity = ATTN_PASSES_MAX,
          .count_offset = offsetof(struct record, plan.pass_count), .stride = sizeof(struct pass_record)),
    FIELD("wall_s", F64, struct record, wall_s),
    FIELD("gpu_s", F64, struct record, gpu_s),
    {0},
};

static const struct field policy_fields[] = {
    FIELD("mig", LABEL, struct device_policy, mig, .capacity = sizeof((struct device_policy *)0)->mig),
    FIELD("ecc", LABEL, struct device_policy, ecc, .capacity = sizeof((struct device_policy *)0)->ecc),
    FIELD("power_limit_w", F64, struct device_policy, power_limit_w),
    FIELD("application_sm_clock_mhz", F64, struct device_policy, application_sm_clock_mhz),
    FIELD("application_memory_clock_mhz", F64, struct device_policy, application_memory_clock_mhz),
    FIELD("max_sm_clock_mhz", F64, struct device_policy, max_sm_clock_mhz),
    FIELD("max_memory_clock_mhz", F64, struct device_policy, max_memory_clock_mhz),
    FIELD("compute_mode", LABEL, struct device_policy, compute_mode,
          .capacity = sizeof((struct device_policy *)0)->compute_mode),
    FIELD("persistence", LABEL, struct device_policy, persistence,
          .capacity = sizeof((struct device_policy *)0)->persistence),
    FIELD("virtualization", LABEL, struct device_policy, virtualization,
          .capacity = sizeof((struct device_policy *)0)->virtualization),
    FIELD("host_cpu", LABEL, struct device_policy, host_cpu, .capacity = sizeof((struct device_policy *)0)->host_cpu),
    FIELD("host_kernel", LABEL, struct device_policy, host_kernel,
          .capacity = sizeof((struct device_policy *)0)->host_kernel),
    {0},
};

const struct field record_device_fields[] = {
    FIELD("kind", ENUM, struct device_line, info.kind, .name = name_of_device_kind),
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
    FIELD("sm_clock_max_mhz", F64, struct device_line, info.sm_clock_max_mhz),
    FIELD("dram_gb_per_s", F64, struct device_line, info.dram_gb_per_s),
    FIELD("tensor_flop_per_clk_sm", F64, struct device_line, info.tensor_flop_per_clk_sm),
    FIELD("fp32_flop_per_clk_sm", F64, struct device_line, info.fp32_flop_per_clk_sm),
    FIELD("driver_version", U32, struct device_line, info.driver_version),
    FIELD("runtime_version", U32, struct device_line, info.runtime_version),
    FIELD_TEXT_OF("driver", struct device_line, info.driver),
    FIELD("hides_launches", BOOL, struct device_line, info.hides_launches),
    FIELD("event_overhead_us", F64, struct device_line, event_overhead_us),
    FIELD("policy", OPTIONAL, struct device_line, policy, .fields = policy_fields,
          .flag_offset = offsetof(struct device_policy, known), .optional = true),
    {0},
};

/* ---- lines --------------------------------------------------------------------------------------------------- */

char *record_to_line(const struct record *record) { return fields_to_line(record_fields, record); }

void record_start(struct record *record) {
  memset(record, 0, sizeof *record);
  for (size_t mode = 0; mode < TIME_MODE_COUNT; ++mode) {
    record->time[mode].sm_clock_mhz = record->time[mode].power_w = record->time[mode].temperature_c = NAN;
  }
  for (size_t pass = 0; pass < ATTN_PASSES_MAX; ++pass) record->pass[pass].cold_us = NAN;
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
  for (uint32_t i = 0; i < record->plan.pass_count; ++i) {
    record->pass[i].pass.name = record->pass[i].name;
    record->plan.pass[i] = record->pass[i].pass;
  }
  return status_ok();
}

struct status record_from_line(const char *line, size_t length, struct record *out) {
  record_start(out);
  const struct status status = fields_from_line("record", line, length, record_fields, out);
  return status_failed(&status) ? status : record_finish(out);
}

char *device_info_to_line(const struct device_info *info, const struct device_policy *policy,
                          double event_overhead_us) {
  struct device_line device = {.info = *info, .event_overhead_us = event_overhead_us};
  if (policy != NULL) device.policy = *policy;
  return fields_to_line(record_device_fields, &device);
}

struct status device_info_from_line(const char *line, size_t length, struct device_info *out,
                                    struct device_policy *policy, double *event_overhead_us) {
  struct device_line device = {.event_overhead_us = 0};
  const struct status status = fields_from_line("device", line, length, record_device_fields, &device);
  *out = device.info;
  *policy = device.policy;
  *event_overhead_us = device.event_overhead_us;
  return status;
}
