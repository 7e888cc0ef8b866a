/* The public functions of the device boundary: each hands over to the backend that owns the device. */
#include "kernels/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "kernels/cpu/host_info.h"
#include "kernels/device_ops.h"
#include "kernels/float_mode.h"
#include "kernels/problem/axes.h"

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
  if (strncmp(spec, "cuda", 4) == 0 && device_parse_ordinal(spec + 4, &ordinal))
    return device_cuda_open(ordinal, out);
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

double device_energy_j(struct device *device) { return device->ops->energy_j(device); }

void device_policy_read(struct device *device, struct device_policy *out) {
  *out = (struct device_policy){.power_limit_w = NAN,
                                .idle_power_w = NAN,
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

const char *bench_block_name(unsigned block) {
  return block == BENCH_WORKSPACE ? "workspace" : attn_role_name((enum attn_role)block);
}

uint64_t bench_block_bytes(uint64_t bytes) {
  uint64_t padded = 0, block = 0;
  if (__builtin_add_overflow(bytes, (uint64_t)DEVICE_ALIGN_BYTES - 1, &padded)) return 0;
  padded -= padded % DEVICE_ALIGN_BYTES;
  return __builtin_add_overflow(padded, 2 * (uint64_t)DEVICE_REDZONE_BYTES, &block) ? 0 : block;
}

/* Adds the allocation around so many bytes; false on overflow or when there are none. */
static bool device_add_block(uint64_t *total, uint64_t bytes) {
  const uint64_t block = bytes != 0 ? bench_block_bytes(bytes) : 0;
  return block != 0 && !__builtin_add_overflow(*total, block, total);
}

/* The oracle's part of one row. */
static uint64_t reference_row_bytes(const struct attn_problem *problem) {
  struct attn_tensor o;
  attn_tensor_of(problem, ATTN_O, &o);
  return o.view.columns * sizeof(double) + sizeof(struct reference_row);
}

uint64_t bench_bytes(const struct attn_problem *problem, uint64_t workspace_bytes) {
  uint64_t total = 0;
  char why[AXIS_WHY_MAX];
  if (!axes_problem_is_sound(problem, why)) return 0; /* within the limits no product below overflows */
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct attn_tensor tensor;
    if (!attn_tensor_of(problem, (enum attn_role)role, &tensor) || tensor.memory != tensor.role) continue;
    if (!device_add_block(&total, attn_tensor_bytes(&tensor))) return 0;
  }
  if (workspace_bytes && !device_add_block(&total, workspace_bytes)) return 0;
  for (struct pattern launch = {.problem = *problem}; launch.launch < pattern_launches(problem); ++launch.launch)
    total += pattern_sample_of(&launch).count * reference_row_bytes(problem);
  return total;
}

/* ---- benches ------------------------------------------------------------------------------------------------- */

/* Behind whatever runs a variant's code. */
static struct status device_back(struct status status) {
  float_mode_restore();
  return status;
}

struct status bench_open(struct device *device, const struct attn_problem *shape, uint64_t seed, struct bench **out) {
  *out = NULL;
  return device->ops->bench_open(device, shape, seed, out);
}

void bench_close(struct bench *bench) {
  if (bench) bench->device->ops->bench_close(bench);
}

struct status bench_reference(struct bench *bench, struct oracle_result *out) {
  return bench->device->ops->reference(bench, out);
}

struct status bench_bind(struct bench *bench, const struct attn_variant *variant, struct attn_plan *plan,
                         struct pass_facts facts[ATTN_PASSES_MAX]) {
  if (!variant_runs_on(variant, bench->device->info.kind))
    return status_make(STATUS_INTERNAL, "bench_bind: variant %s does not run on %s; choose it by runs_on",
                       variant->name, bench->device->info.name);
  bench->uncaptured[0] = '\0';
  return device_back(bench->device->ops->bind(bench, variant, plan, facts));
}

const char *bench_uncaptured(const struct bench *bench) { return bench->uncaptured; }

void bench_swap(struct bench *bench) {
  const struct attn_variant *variant = bench->variant;
  const struct attn_plan plan = bench->plan;
  bench->variant = bench->inactive_variant;
  bench->plan = bench->inactive_plan;
  bench->inactive_variant = variant;
  bench->inactive_plan = plan;
  bench->device->ops->swap(bench);
}

static struct status bench_require_bound(const struct bench *bench, const char *caller) {
  if (bench->variant) return status_ok();
  return status_make(STATUS_INTERNAL, "%s: no variant is bound; call bench_bind first", caller);
}

struct status bench_poison(struct bench *bench) {
  return bench->device->ops->poison(bench);
}

struct status bench_launch(struct bench *bench) {
  TRY(bench_require_bound(bench, __func__));
  return device_back(bench->device->ops->launch(bench));
}

static struct status bench_require_launch(const struct bench *bench, uint32_t launch, const char *caller) {
  if (launch < pattern_launches(&bench->shape) || launch == PATTERN_GROWING) return status_ok();
  return status_make(STATUS_INTERNAL, "%s: launch %u of this shape's %u", caller, launch,
                     pattern_launches(&bench->shape));
}

struct status bench_fill(struct bench *bench, uint32_t launch) {
  TRY(bench_require_launch(bench, launch, __func__));
  if (pattern_is_unchanged(&bench->inputs, launch)) return status_ok();
  bench->inputs.launch = launch;
  bench->inputs.flips = 0;
  bench->inputs.swapped = false;
  return bench->device->ops->fill(bench);
}

struct status bench_compare(struct bench *bench, const struct tolerance *tolerance, struct compare_result *out) {
  struct oracle_result oracle;
  TRY(bench->device->ops->reference(bench, &oracle));
  return bench->device->ops->compare(bench, tolerance, out);
}

struct status bench_guard(struct bench *bench, struct guard_result *out) {
  return bench->device->ops->guard(bench, out);
}

struct status bench_time_prepare(struct bench *bench, uint32_t *hot_launches, double *estimate_us) {
  TRY(bench_require_bound(bench, __func__));
  return device_back(bench->device->ops->time_prepare(bench, hot_launches, estimate_us));
}

struct status bench_sample(struct bench *bench, enum time_mode mode, uint32_t n, double *us, double *sm_clock_mhz) {
  TRY(bench_require_bound(bench, __func__));
  return device_back(bench->device->ops->sample(bench, mode, n, us, sm_clock_mhz));
}

struct status bench_sample_changed(struct bench *bench, double estimate_us, double *us) {
  *us = NAN;
  TRY(bench_require_bound(bench, __func__));
  return device_back(bench->device->ops->sample_changed(bench, estimate_us, us));
}

struct status bench_sample_memsets(struct bench *bench, double *us) {
  *us = NAN;
  TRY(bench_require_bound(bench, __func__));
  if (bench->plan.launched.memsets == 0 || !bench->device->ops->sample_memsets) return status_ok();
  return device_back(bench->device->ops->sample_memsets(bench, us));
}

struct status bench_witness(struct bench *bench, struct witness_result *out) {
  return bench->device->ops->witness(bench, out);
}

struct status bench_sample_passes(struct bench *bench, uint32_t n, double *us) {
  TRY(bench_require_bound(bench, __func__));
  if (bench->plan.pass_count < 2 || bench->variant->vendor)
    return status_make(STATUS_INTERNAL, "%s: %s has %u passes; call it for plans of at least two, no vendor's",
                       __func__, bench->variant->name, bench->plan.pass_count);
  return device_back(bench->device->ops->sample_passes(bench, n, us));
}

struct status bench_delay(struct bench *bench, enum time_mode mode, double delay_us) {
  TRY(bench_require_bound(bench, __func__));
  if (!isfinite(delay_us) || delay_us < 0)
    return status_make(STATUS_INTERNAL, "%s: a delay of %g us; give 0 or more", __func__, delay_us);
  return bench->device->ops->delay(bench, mode, delay_us);
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

struct tolerance compare_tolerance(enum attn_dtype out_dtype) {
  const struct attn_dtype_row *facts = attn_dtype_facts(out_dtype);
  return (struct tolerance){.relative = facts->roundoff, .absolute = facts->smallest, .frobenius = 0.75};
}

/* Whether its sums over keys may be those of tensor cores. On a CPU these are emulated, by one that declares them. */
static bool may_truncate(const struct attn_variant *variant, enum attn_dtype dtype, enum device_kind kind) {
  switch (variant_math(variant, dtype)) {
    case ATTN_MATH_TENSOR: return kind == DEVICE_CUDA;
    case ATTN_MATH_WGMMA: return true;
    case ATTN_MATH_FP32:
    case ATTN_MATH_FP64_HOST:
    case ATTN_MATH_FP32_HOST:
    case ATTN_MATH_FP32_OR_TENSOR: break;
  }
  return kind == DEVICE_CUDA && dtype != ATTN_F32 && (variant->vendor != NULL || variant_is_added(variant));
}

struct tolerance bench_tolerance(const struct bench *bench) {
  const struct device_info *info = &bench->device->info;
  const enum attn_dtype dtype = bench->shape.dtype;
  const struct attn_variant *picked = bench->plan.picked, *variant = picked != NULL ? picked : bench->variant;
  struct tolerance tolerance = compare_tolerance(attn_out_dtype(&bench->shape));
  if (variant != NULL && may_truncate(variant, dtype, info->kind))
    tolerance.step_keys = compare_step_keys(info->kind == DEVICE_CUDA ? info->cc_major : 9);
  return tolerance;
}

void compare_finish(struct compare_partial *p, const struct tolerance *tolerance) {
  const double error = sqrt(p->error_squares), reference = sqrt(p->reference_squares);
  p->result.rel_frobenius = reference > 0 ? error / reference : error;
  p->result.norm_ratio = compare_ratio(error, tolerance->frobenius * sqrt(p->bound_squares));
}
