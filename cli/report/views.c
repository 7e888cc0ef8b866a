/* The tables of what a report derives. */
#include "cli/report/views.h"

const struct field report_tool_fields[] = {
    FIELD_TEXT_OF("name", struct run_info, tool, .optional = true),
    FIELD_PART_OF("tool", record_tool_fields),
    {0},
};

const struct field report_run_fields[] = {
    {.key = "run", .kind = FIELD_PART, .offset = offsetof(struct journal_data, run), .fields = record_run_fields},
    FIELD_TEXT_OF("state", struct journal_data, state),
    FIELD("edited", BOOL, struct journal_data, is_edited, .left_out = true),
    {.key = "mode",
     .kind = FIELD_PART,
     .offset = offsetof(struct journal_data, run),
     .fields = record_run_mode_fields},
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

const struct field report_rate_fields[] = {
    FIELD("tflop_per_s", F64, struct mode_metrics, tflop_per_s),
    FIELD("gb_per_s", F64, struct mode_metrics, gb_per_s),
    {0},
};

const struct field report_roof_fields[] = {
    FIELD("name", ENUM, struct mode_metrics, roof, .name = metrics_roof_name),
    FIELD("clock_mhz", F64, struct mode_metrics, roof_clock_mhz),
    FIELD("ratio", F64, struct mode_metrics, roof_ratio),
    FIELD("peak_ratio", F64, struct mode_metrics, peak_ratio),
    FIELD("floor_us", F64, struct mode_metrics, floor_us),
    FIELD("floor_ratio", F64, struct mode_metrics, floor_ratio),
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

const struct field report_scaling_fields[] = {
    FIELD_TEXT_OF("baseline_key", struct scaling, baseline_key),
    FIELD("is_baseline", BOOL, struct scaling, is_baseline),
    FIELD("bh_ratio", F64, struct scaling, bh_ratio),
    FIELD("work_ratio", F64, struct scaling, work_ratio),
    FIELD("wave_ratio", F64, struct scaling, wave_ratio, .null_reason = "the plan has no launches"),
    FIELD("load_ratio", F64, struct scaling, load_ratio, .null_reason = "the plan has no launches"),
    FIELD("full_bh", F64, struct scaling, full_bh, .null_reason = "no grid that grows with B*Hq is known"),
    FIELD("verdict", ENUM, struct scaling, verdict, .name = scaling_verdict_name),
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

const struct field report_bound_by_fields[] = {
    FIELD("limit", ENUM, struct bound_by, limit, .name = bound_by_name),
    FIELD("mode", ENUM, struct bound_by, mode, .name = time_mode_name, .column = ""),
    FIELD("ratio", F64, struct bound_by, ratio, .null_reason = "no share is known"),
    FIELD_TEXT_OF("text", struct bound_by, text),
    {0},
};
