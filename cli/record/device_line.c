/* A device as one line of JSON. */
#include "cli/record/device_line.h"

#include "cli/record/field_tables.h"

static const struct field policy_fields[] = {
    FIELD_LABEL_OF("mig", struct device_policy, mig),
    FIELD_LABEL_OF("ecc", struct device_policy, ecc),
    FIELD("power_limit_w", F64, struct device_policy, power_limit_w),
    FIELD("application_sm_clock_mhz", F64, struct device_policy, application_sm_clock_mhz),
    FIELD("application_memory_clock_mhz", F64, struct device_policy, application_memory_clock_mhz),
    FIELD("max_sm_clock_mhz", F64, struct device_policy, max_sm_clock_mhz),
    FIELD("max_memory_clock_mhz", F64, struct device_policy, max_memory_clock_mhz),
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
    FIELD("sm_clock_max_mhz", F64, struct device_line, info.sm_clock_max_mhz, .required = true),
    FIELD("dram_gb_per_s", F64, struct device_line, info.dram_gb_per_s, .required = true),
    FIELD("tensor_flop_per_clk_sm", F64, struct device_line, info.tensor_flop_per_clk_sm, .required = true),
    FIELD("fp32_flop_per_clk_sm", F64, struct device_line, info.fp32_flop_per_clk_sm, .required = true),
    FIELD("driver_version", U32, struct device_line, info.driver_version),
    FIELD("runtime_version", U32, struct device_line, info.runtime_version),
    FIELD_TEXT_OF("driver", struct device_line, info.driver),
    FIELD("hides_launches", BOOL, struct device_line, info.hides_launches),
    FIELD("event_overhead_us", F64, struct device_line, event_overhead_us, .required = true),
    FIELD_IF("policy", struct device_line, policy, policy.known, policy_fields, .left_out = true),
    {0},
};

char *device_line_to_text(const struct device_line *line) { return fields_to_line(record_device_fields, line); }

struct status device_line_from_text(const char *text, size_t length, struct device_line *out) {
  *out = (struct device_line){.event_overhead_us = 0};
  return fields_from_line("device", text, length, record_device_fields, out);
}
