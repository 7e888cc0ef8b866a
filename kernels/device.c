/* The public functions of the device boundary: each hands over to the backend that owns the device. */
#include "kernels/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "kernels/cpu/host_info.h"
#include "kernels/device_ops.h"

enum { DEVICE_ORDINAL_MAX = 1023 };

/* ---- opening ------------------------------------------------------------------------------------------------- */

/* "cuda" is "cuda:0". Returns false when text is neither "" nor ":N". */
static bool device_parse_ordinal(const char *text, int *ordinal) {
  *ordinal = 0;
  if (text[0] == '\0') return true;
  if (text[0] != ':' || text[1] < '0' || text[1] > '9') return false;
  char *end = NULL;
  const long value = strtol(text + 1, &end, 10);
  if (*end != '\0' || value > DEVICE_ORDINAL_MAX) return false;
  *ordinal = (int)value;
  return true;
}

struct status device_open(const char *spec, struct device **out) {
  int ordinal = 0;
  *out = NULL;
  if (strcmp(spec, "cpu") == 0) return device_cpu_open(out);
  if (strncmp(spec, "cuda", 4) == 0 && device_parse_ordinal(spec + 4, &ordinal)) {
    return device_cuda_open(ordinal, out);
  }
  return status_make(STATUS_USAGE, "device \"%s\" is not known; use cpu, cuda or cuda:N with N from 0 to %d", spec,
                     DEVICE_ORDINAL_MAX);
}

void device_close(struct device *device) {
  if (device) device->ops->close(device);
}

uint32_t device_count(const struct device *device) { return device->ops->count ? device->ops->count(device) : 1; }

const struct device_info *device_info(const struct device *device) { return &device->info; }

double device_event_overhead_us(const struct device *device) { return device->event_overhead_us; }

uint64_t device_memory_free(const struct device *device) { return device->ops->memory_free(device); }

void device_range_push(struct device *device, const char *name) {
  if (device->ops->range_push) device->ops->range_push(device, name);
}

void device_range_pop(struct device *device) {
  if (device->ops->range_pop) device->ops->range_pop(device);
}

struct status device_profile_start(struct device *device) {
  return device->ops->profile_start ? device->ops->profile_start(device) : status_ok();
}

struct status device_profile_stop(struct device *device) {
  return device->ops->profile_stop ? device->ops->profile_stop(device) : status_ok();
}

void device_health_read(struct device *device, struct device_health *out) { device->ops->health_read(device, out); }

void device_policy_read(struct device *device, struct device_policy *out) {
  *out = (struct device_policy){.power_limit_w = NAN,
                                .application_sm_clock_mhz = NAN,
                                .application_memory_clock_mhz = NAN,
                                .max_sm_clock_mhz = NAN,
                                .max_memory_clock_mhz = NAN};
  struct utsname host;
  cpu_info_name(out->host_cpu, sizeof out->host_cpu);
  if (uname(&host) == 0) snprintf(out->host_kernel, sizeof out->host_kernel, "%s %s", host.sysname, host.release);
  out->known = out->host_cpu[0] != '\0' || out->host_kernel[0] != '\0';
  if (device->ops->policy_read) device->ops->policy_read(device, out);
}

/* ---- sizes --------------------------------------------------------------------------------------------------- */

const char *problem_tensor_name(enum problem_tensor tensor) {
  static const char *const names[PROBLEM_TENSOR_COUNT] = {"q", "k", "v", "o", "lse", "workspace"};
  return names[tensor];
}

uint64_t problem_elements(const struct attn_shape *shape, enum problem_tensor tensor) {
  if (tensor == PROBLEM_WORKSPACE || (tensor == PROBLEM_LSE && !shape->lse)) return 0;
  const bool of_keys = tensor == PROBLEM_K || tensor == PROBLEM_V;
  const uint64_t heads = of_keys ? shape->Hkv : shape->Hq, rows = of_keys ? shape->Skv : shape->Sq;
  uint64_t elements = 0;
  if (__builtin_mul_overflow((uint64_t)shape->B * heads, rows, &elements)) return 0;
  const uint64_t columns = tensor == PROBLEM_LSE ? 1 : shape->D;
  return __builtin_mul_overflow(elements, columns, &elements) ? 0 : elements;
}

uint64_t problem_tensor_bytes(const struct attn_shape *shape, enum problem_tensor tensor) {
  const uint64_t size = tensor == PROBLEM_LSE ? sizeof(float) : attn_dtype_bytes(shape->dtype);
  uint64_t bytes = 0;
  return __builtin_mul_overflow(problem_elements(shape, tensor), size, &bytes) ? 0 : bytes;
}

uint64_t problem_block_bytes(uint64_t bytes) {
  uint64_t padded = 0, block = 0;
  if (__builtin_add_overflow(bytes, (uint64_t)DEVICE_ALIGN_BYTES - 1, &padded)) return 0;
  padded -= padded % DEVICE_ALIGN_BYTES;
  return __builtin_add_overflow(padded, 2 * (uint64_t)DEVICE_REDZONE_BYTES, &block) ? 0 : block;
}

/* Adds the allocation around so many bytes; false on overflow or when there are none. */
static bool device_add_block(uint64_t *total, uint64_t bytes) {
  const uint64_t block = bytes != 0 ? problem_block_bytes(bytes) : 0;
  return block != 0 && !__builtin_add_overflow(*total, block, total);
}

/* The oracle's part of one row. */
static uint64_t reference_row_bytes(const struct attn_shape *shape) {
  return shape->D * sizeof(double) + sizeof(struct reference_row);
}

uint64_t problem_bytes(const struct attn_shape *shape, uint64_t workspace_bytes) {
  uint64_t total = 0, reference = 0;
  for (enum problem_tensor t = PROBLEM_Q; t <= PROBLEM_LSE; ++t) {
    if (t == PROBLEM_LSE && !shape->lse) continue;
    if (!device_add_block(&total, problem_tensor_bytes(shape, t))) return 0;
  }
  if (workspace_bytes && !device_add_block(&total, workspace_bytes)) return 0;
  for (struct pattern launch = {.shape = *shape}; launch.launch < pattern_launches(shape); ++launch.launch) {
    const uint64_t rows = pattern_sample_of(&launch).count;
    if (__builtin_mul_overflow(rows, reference_row_bytes(shape), &reference)) return 0;
    if (__builtin_add_overflow(total, reference, &total)) return 0;
  }
  return total;
}

/* ---- problems ------------------------------------------------------------------------------------------------ */

struct status problem_open(struct device *device, const struct attn_shape *shape, uint64_t seed,
                           struct problem **out) {
  *out = NULL;
  return device->ops->problem_open(device, shape, seed, out);
}

void problem_close(struct problem *problem) {
  if (problem) problem->device->ops->problem_close(problem);
}

struct status problem_reference(struct problem *problem, struct oracle_result *out) {
  return problem->device->ops->reference(problem, out);
}

struct status problem_bind(struct problem *problem, const struct attn_variant *variant, struct attn_plan *plan,
                           struct pass_facts facts[ATTN_PASSES_MAX]) {
  if (!variant_runs_on(variant, problem->device->info.kind)) {
    return status_make(STATUS_INTERNAL, "problem_bind: variant %s does not run on %s; choose it by runs_on",
                       variant->name, problem->device->info.name);
  }
  return problem->device->ops->bind(problem, variant, plan, facts);
}

void problem_swap(struct problem *problem) {
  const struct attn_variant *variant = problem->variant;
  const struct attn_plan plan = problem->plan;
  problem->variant = problem->parked_variant;
  problem->plan = problem->parked_plan;
  problem->parked_variant = variant;
  problem->parked_plan = plan;
  problem->device->ops->swap(problem);
}

static struct status problem_require_bound(const struct problem *problem, const char *caller) {
  if (problem->variant) return status_ok();
  return status_make(STATUS_INTERNAL, "%s: no variant is bound; call problem_bind first", caller);
}

struct status problem_poison(struct problem *problem) {
  return problem->device->ops->poison(problem);
}

struct status problem_launch(struct problem *problem) {
  const struct status bound = problem_require_bound(problem, __func__);
  return status_failed(&bound) ? bound : problem->device->ops->launch(problem);
}

static struct status problem_require_launch(const struct problem *problem, uint32_t launch, const char *caller) {
  if (launch < pattern_launches(&problem->shape)) return status_ok();
  return status_make(STATUS_INTERNAL, "%s: launch %u of this shape's %u", caller, launch,
                     pattern_launches(&problem->shape));
}

struct status problem_fill(struct problem *problem, uint32_t launch) {
  const struct status known = problem_require_launch(problem, launch, __func__);
  if (status_failed(&known)) return known;
  if (problem->inputs.launch == launch && problem->inputs.flips == 0) return known;
  problem->inputs.launch = launch;
  problem->inputs.flips = 0;
  return problem->device->ops->fill(problem);
}

struct status problem_compare(struct problem *problem, const struct tolerance *tolerance,
                              struct compare_result *out) {
  struct oracle_result oracle;
  const struct status reference = problem->device->ops->reference(problem, &oracle);
  return status_failed(&reference) ? reference : problem->device->ops->compare(problem, tolerance, out);
}

struct status problem_guard(struct problem *problem, struct guard_result *out) {
  return problem->device->ops->guard(problem, out);
}

struct status problem_time_prepare(struct problem *problem, uint32_t *hot_launches, double *estimate_us) {
  const struct status bound = problem_require_bound(problem, __func__);
  return status_failed(&bound) ? bound : problem->device->ops->time_prepare(problem, hot_launches, estimate_us);
}

struct status problem_sample(struct problem *problem, enum time_mode mode, uint32_t n, double *us,
                             double *sm_clock_mhz) {
  const struct status bound = problem_require_bound(problem, __func__);
  return status_failed(&bound) ? bound : problem->device->ops->sample(problem, mode, n, us, sm_clock_mhz);
}

struct status problem_sample_changed(struct problem *problem, double estimate_us, double *us) {
  const struct status bound = problem_require_bound(problem, __func__);
  *us = NAN;
  return status_failed(&bound) ? bound : problem->device->ops->sample_changed(problem, estimate_us, us);
}

struct status problem_witness(struct problem *problem, struct witness_result *out) {
  return problem->device->ops->witness(problem, out);
}

struct status problem_sample_passes(struct problem *problem, uint32_t n, double *us) {
  const struct status bound = problem_require_bound(problem, __func__);
  if (status_failed(&bound)) return bound;
  if (problem->plan.pass_count < 2 || problem->variant->vendor) {
    return status_make(STATUS_INTERNAL, "%s: %s has %u passes; call it for plans of at least two, no vendor's",
                       __func__, problem->variant->name, problem->plan.pass_count);
  }
  return problem->device->ops->sample_passes(problem, n, us);
}

struct status problem_delay(struct problem *problem, enum time_mode mode, double delay_us) {
  const struct status bound = problem_require_bound(problem, __func__);
  if (status_failed(&bound)) return bound;
  if (!isfinite(delay_us) || delay_us < 0) {
    return status_make(STATUS_INTERNAL, "%s: a delay of %g us; give 0 or more", __func__, delay_us);
  }
  return problem->device->ops->delay(problem, mode, delay_us);
}

/* ---- self-test ----------------------------------------------------------------------------------------------- */

const double selftest_spin_us[SELFTEST_SPINS] = {20, 50, 100, 200, 500, 1000, 2000, 5000, 10000};

struct status device_selftest(struct device *device, struct selftest_facts *out) {
  *out = (struct selftest_facts){.tick_us = NAN,
                                 .event_step_us = NAN,
                                 .event_pair_us = NAN,
                                 .event_kernel_us = NAN,
                                 .graph_launch_us = NAN,
                                 .graph_node_us = NAN,
                                 .read_bytes = NAN,
                                 .flushed_us = NAN,
                                 .unflushed_us = NAN,
                                 .read_constant_us = NAN,
                                 .spin_mhz = NAN,
                                 .stamp_mhz = NAN,
                                 .nvml_mhz = NAN};
  return device->ops->selftest(device, out);
}

/* ---- comparing ----------------------------------------------------------------------------------------------- */

const struct tolerance compare_tolerance[ATTN_DTYPE_COUNT] = {
    [ATTN_F16] = {.relative = 0x1p-11, .absolute = 0x1p-24, .frobenius = 0.75},
    [ATTN_BF16] = {.relative = 0x1p-8, .absolute = 0x1p-126, .frobenius = 0.75},
    [ATTN_F32] = {.relative = 0x1p-24, .absolute = 0x1p-126, .frobenius = 0.75},
};

void compare_finish(struct compare_partial *p, const struct tolerance *tolerance) {
  const double error = sqrt(p->error_squares), reference = sqrt(p->reference_squares);
  p->result.rel_frobenius = reference > 0 ? error / reference : error;
  p->result.norm_ratio = compare_ratio(error, tolerance->frobenius * sqrt(p->bound_squares));
}
