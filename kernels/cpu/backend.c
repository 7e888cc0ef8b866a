/* The CPU as a device: tensors in host memory between redzones, the fp64 oracle as reference, the monotonic clock. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/host_info.h"
#include "kernels/cpu/oracle.h"
#include "kernels/cpu/threads.h"
#include "kernels/device_ops.h"
#include "kernels/timing.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

enum {
  CPU_INPUT_CHUNK = 4096, /* elements that one task of filling or checking covers */
  CPU_ESTIMATES = 3,
  CPU_SLOW_US = 50000,
  CPU_CHANGED_MAX_US = 1000,
  CPU_CHANGED_SAMPLES = 5,
  CPU_CHANGED_LAUNCHES_MIN = 7,
};

/* One allocation as device_ops.h lays it out. base is NULL for a workspace that is not needed. */
struct cpu_block {
  unsigned char *base;
  uint64_t bytes; /* of data */
};

/* The oracle's answer for the rows of one launch's sample; NULL until problem_reference. */
struct cpu_reference {
  double *o; /* [count][D] */
  struct reference_row *rows;
  struct pattern_sample sample;
};

struct cpu_witness {
  uint64_t taken; /* samples since the problem was opened: what looks random is a function of it */
  struct witness_result found;
};

struct cpu_problem {
  struct problem base;
  struct cpu_block block[PROBLEM_TENSOR_COUNT];
  struct cpu_reference reference[PATTERN_LAUNCHES_MAX];
  struct cpu_witness witness;
  uint32_t hot_launches;
  double delay_us[TIME_MODE_COUNT];
  struct cpu_block parked_workspace; /* of the other binding, as what follows */
  uint32_t parked_hot_launches;
  double parked_delay_us[TIME_MODE_COUNT];
};

static struct cpu_problem *cpu_problem_of(struct problem *problem) { return (struct cpu_problem *)problem; }

/* ---- blocks and redzones ------------------------------------------------------------------------------------- */

static unsigned char *cpu_block_data(const struct cpu_block *block) {
  return block->base ? block->base + DEVICE_REDZONE_BYTES : NULL;
}

/* Counts and restores the bytes of [first, end) that do not hold the pattern. */
static uint64_t cpu_redzone_restore(const struct cpu_block *block, uint64_t first, uint64_t end) {
  uint64_t changed = 0;
  for (uint64_t i = first; i < end; ++i) {
    const unsigned char expected = problem_redzone_byte(i);
    changed += block->base[i] != expected;
    block->base[i] = expected;
  }
  return changed;
}

static uint64_t cpu_block_restore(const struct cpu_block *block) {
  if (!block->base) return 0;
  return cpu_redzone_restore(block, 0, DEVICE_REDZONE_BYTES) +
         cpu_redzone_restore(block, DEVICE_REDZONE_BYTES + block->bytes, problem_block_bytes(block->bytes));
}

static void cpu_block_poison(const struct cpu_block *block) {
  if (block->base) memset(cpu_block_data(block), DEVICE_POISON_BYTE, block->bytes);
}

static struct status cpu_block_open(struct cpu_block *block, uint64_t bytes, enum problem_tensor tensor) {
  const uint64_t size = problem_block_bytes(bytes);
  block->base = size ? aligned_alloc(DEVICE_ALIGN_BYTES, size) : NULL;
  block->bytes = bytes;
  if (!block->base) {
    return status_make(STATUS_MEMORY, "cpu: %.1f MB for tensor %s were refused; use a smaller shape or free memory",
                       (double)bytes / 1e6, problem_tensor_name(tensor));
  }
  memset(block->base, DEVICE_POISON_BYTE, size);
  cpu_block_restore(block);
  return status_ok();
}

static void cpu_block_close(struct cpu_block *block) {
  free(block->base);
  *block = (struct cpu_block){0};
}

/* ---- inputs -------------------------------------------------------------------------------------------------- */

struct cpu_input_job {
  const struct cpu_problem *problem;
  enum problem_tensor tensor;
  uint64_t elements;
  atomic_uint_fast64_t changed;
};

static void cpu_input_task(void *context, uint64_t index, unsigned worker) {
  (void)worker;
  static const enum input_tensor inputs[] = {[PROBLEM_Q] = INPUT_Q, [PROBLEM_K] = INPUT_K, [PROBLEM_V] = INPUT_V};
  struct cpu_input_job *job = context;
  const struct problem *problem = &job->problem->base;
  const uint64_t first = index * CPU_INPUT_CHUNK, left = job->elements - first;
  const uint64_t count = left < CPU_INPUT_CHUNK ? left : CPU_INPUT_CHUNK;
  const uint64_t size = attn_dtype_bytes(problem->shape.dtype);
  unsigned char *data = cpu_block_data(&job->problem->block[job->tensor]) + first * size;
  union {
    float f32[CPU_INPUT_CHUNK];
    uint16_t u16[CPU_INPUT_CHUNK];
    unsigned char bytes[CPU_INPUT_CHUNK * sizeof(float)];
  } expected = {{0}};
  const uint32_t D = problem->shape.D;
  struct pattern_line line = pattern_line_of(&problem->inputs, inputs[job->tensor], first / D);
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t d = (uint32_t)((first + i) % D);
    if (d == 0) line = pattern_line_of(&problem->inputs, inputs[job->tensor], (first + i) / D);
    cpu_store(&expected, problem->shape.dtype, i, pattern_value(&problem->inputs, inputs[job->tensor], &line, d));
  }
  if (memcmp(data, expected.bytes, count * size) == 0) return;
  for (uint64_t i = 0; i < count; ++i) {
    job->changed += memcmp(data + i * size, expected.bytes + i * size, size) != 0;
  }
  memcpy(data, expected.bytes, count * size);
}

/* Makes Q, K and V what the pattern says and returns how many elements were not. */
static uint64_t cpu_inputs_restore(const struct cpu_problem *problem) {
  uint64_t changed = 0;
  for (enum problem_tensor t = PROBLEM_Q; t <= PROBLEM_V; ++t) {
    struct cpu_input_job job = {.problem = problem, .tensor = t};
    job.elements = problem_elements(&problem->base.shape, t);
    cpu_parallel_for(problem->base.device->info.sms, (job.elements - 1) / CPU_INPUT_CHUNK + 1, cpu_input_task, &job);
    changed += job.changed;
  }
  return changed;
}

/* ---- problems ------------------------------------------------------------------------------------------------ */

static void cpu_problem_close(struct problem *base) {
  struct cpu_problem *problem = cpu_problem_of(base);
  for (enum problem_tensor t = PROBLEM_Q; t < PROBLEM_TENSOR_COUNT; ++t) cpu_block_close(&problem->block[t]);
  cpu_block_close(&problem->parked_workspace);
  for (size_t i = 0; i < PATTERN_LAUNCHES_MAX; ++i) {
    free(problem->reference[i].o);
    free(problem->reference[i].rows);
  }
  free(problem);
}

/* Asked before allocating: Linux grants more than there is and kills the process that touches it. */
static struct status cpu_problem_fits(const struct device *device, const struct attn_shape *shape) {
  const uint64_t bytes = problem_bytes(shape, 0), memory_bytes = device->info.memory_bytes;
  if (bytes != 0 && (memory_bytes == 0 || bytes <= memory_bytes)) return status_ok();
  return status_make(STATUS_MEMORY, "cpu: the tensors take %.1f MB and this machine has %.1f MB; use a smaller shape",
                     bytes ? (double)bytes / 1e6 : INFINITY, (double)memory_bytes / 1e6);
}

static struct status cpu_problem_open(struct device *device, const struct attn_shape *shape, uint64_t seed,
                                      struct problem **out) {
  const struct status fits = cpu_problem_fits(device, shape);
  if (status_failed(&fits)) return fits;
  struct cpu_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return status_make(STATUS_MEMORY, "cpu: no memory for a problem; free memory");
  problem->base = (struct problem){.device = device, .shape = *shape, .inputs = {.shape = *shape, .seed = seed}};
  for (enum problem_tensor t = PROBLEM_Q; t <= PROBLEM_LSE; ++t) {
    if (t == PROBLEM_LSE && !shape->lse) continue;
    const struct status status = cpu_block_open(&problem->block[t], problem_tensor_bytes(shape, t), t);
    if (status_failed(&status)) {
      cpu_problem_close(&problem->base);
      return status;
    }
  }
  cpu_inputs_restore(problem);
  *out = &problem->base;
  return status_ok();
}

static struct status cpu_problem_fill(struct problem *base) {
  cpu_inputs_restore(cpu_problem_of(base));
  return status_ok();
}

static struct status cpu_reference_compute(struct cpu_problem *problem, struct cpu_reference *reference) {
  const struct attn_shape *shape = &problem->base.shape;
  const struct oracle_input input = {.q = cpu_block_data(&problem->block[PROBLEM_Q]),
                                     .k = cpu_block_data(&problem->block[PROBLEM_K]),
                                     .v = cpu_block_data(&problem->block[PROBLEM_V])};
  reference->sample = pattern_sample_of(&problem->base.inputs);
  const uint64_t count = reference->sample.count;
  struct oracle_output output = {.o = calloc(count * shape->D, sizeof(double)),
                                 .rows = calloc(count, sizeof(struct reference_row)),
                                 .sample = &reference->sample};
  struct status status =
      status_make(STATUS_MEMORY, "cpu: %.1f MB for the reference were refused; use a smaller shape",
                  (double)(count * shape->D) * sizeof(double) / 1e6);
  if (output.o && output.rows) status = oracle_run(shape, &input, &output, problem->base.device->info.sms);
  if (status_failed(&status)) {
    free(output.o);
    free(output.rows);
    return status;
  }
  reference->o = output.o;
  reference->rows = output.rows;
  return status;
}

static struct status cpu_problem_reference(struct problem *base, struct oracle_result *out) {
  struct cpu_reference *reference = &cpu_problem_of(base)->reference[base->inputs.launch];
  const struct status status = reference->o ? status_ok() : cpu_reference_compute(cpu_problem_of(base), reference);
  *out = (struct oracle_result){.name = "cpu_fp64", .rows_verified = reference->sample.count};
  return status;
}

static struct status cpu_problem_bind(struct problem *base, const struct attn_variant *variant,
                                      struct attn_plan *plan, struct pass_facts facts[ATTN_PASSES_MAX]) {
  struct cpu_problem *problem = cpu_problem_of(base);
  struct cpu_block *workspace = &problem->block[PROBLEM_WORKSPACE];
  struct status status = status_ok();
  memset(facts, 0, ATTN_PASSES_MAX * sizeof *facts);
  base->variant = NULL;
  cpu_block_close(workspace);
  if (plan->workspace_bytes) status = cpu_block_open(workspace, plan->workspace_bytes, PROBLEM_WORKSPACE);
  if (status_failed(&status)) return status;
  base->variant = variant;
  base->plan = *plan;
  problem->hot_launches = 1;
  memset(problem->delay_us, 0, sizeof problem->delay_us);
  return status;
}

static void cpu_problem_swap(struct problem *base) {
  struct cpu_problem *problem = cpu_problem_of(base);
  const struct cpu_block workspace = problem->block[PROBLEM_WORKSPACE];
  const uint32_t hot_launches = problem->hot_launches;
  problem->block[PROBLEM_WORKSPACE] = problem->parked_workspace;
  problem->hot_launches = problem->parked_hot_launches;
  problem->parked_workspace = workspace;
  problem->parked_hot_launches = hot_launches;
  for (enum time_mode mode = TIME_COLD; mode < TIME_MODE_COUNT; ++mode) {
    const double delay_us = problem->delay_us[mode];
    problem->delay_us[mode] = problem->parked_delay_us[mode];
    problem->parked_delay_us[mode] = delay_us;
  }
}

static struct status cpu_problem_poison(struct problem *base) {
  for (enum problem_tensor t = PROBLEM_O; t < PROBLEM_TENSOR_COUNT; ++t)
    cpu_block_poison(&cpu_problem_of(base)->block[t]);
  return status_ok();
}

static struct status cpu_problem_launch(struct problem *base) {
  const struct cpu_block *block = cpu_problem_of(base)->block;
  const struct attn_buffers buffers = {.q = cpu_block_data(&block[PROBLEM_Q]),
                                       .k = cpu_block_data(&block[PROBLEM_K]),
                                       .v = cpu_block_data(&block[PROBLEM_V]),
                                       .o = cpu_block_data(&block[PROBLEM_O]),
                                       .lse = (float *)cpu_block_data(&block[PROBLEM_LSE]),
                                       .workspace = cpu_block_data(&block[PROBLEM_WORKSPACE])};
  base->variant->run(&base->shape, &base->plan, &buffers, base->device->info.sms);
  return status_ok();
}

/* ---- checking ------------------------------------------------------------------------------------------------ */

/* Row i of the reference's sample; where it is NaN, its output is not defined. */
static void cpu_compare_row(const struct problem *base, const struct cpu_reference *reference,
                            const struct tolerance *tolerance, uint64_t i, struct compare_partial *partial) {
  const struct attn_shape *s = &base->shape;
  const struct cpu_block *block = ((const struct cpu_problem *)base)->block;
  const void *o = cpu_block_data(&block[PROBLEM_O]), *lse = cpu_block_data(&block[PROBLEM_LSE]);
  const double *expected = reference->o + i * s->D;
  const uint64_t row = pattern_sample_row(&reference->sample, i), kv_head = pattern_kv_head(s, row);
  const uint32_t keys = attn_keys_of_row(s, (uint32_t)(row % s->Sq));
  const struct compare_bound bound = compare_bound_of(tolerance, s->D, keys, &reference->rows[i]);
  struct compare_row sums = {0};
  if (isnan(expected[0])) return;
  for (uint32_t d = 0; d < s->D; ++d) {
    const uint64_t index = row * s->D + d;
    const double sign = pattern_is_flipped(base->inputs.flips, PATTERN_FLIP_VO, kv_head, d) ? -1 : 1;
    compare_element(partial, &sums, &bound, index, (double)cpu_load(o, s->dtype, index), sign * expected[d]);
  }
  compare_row_end(partial, &sums, &bound, row * s->D);
  if (lse) compare_lse(partial, &bound, row, (double)((const float *)lse)[row], reference->rows[i].lse);
}

static struct status cpu_problem_compare(struct problem *base, const struct tolerance *tolerance,
                                         struct compare_result *out) {
  const struct cpu_reference *reference = &cpu_problem_of(base)->reference[base->inputs.launch];
  struct compare_partial partial;
  compare_start(&partial);
  for (uint64_t i = 0; i < reference->sample.count; ++i) cpu_compare_row(base, reference, tolerance, i, &partial);
  compare_finish(&partial, tolerance);
  *out = partial.result;
  return status_ok();
}

static struct status cpu_problem_guard(struct problem *base, struct guard_result *out) {
  const struct cpu_problem *problem = cpu_problem_of(base);
  *out = (struct guard_result){0};
  for (enum problem_tensor t = PROBLEM_Q; t < PROBLEM_TENSOR_COUNT; ++t) {
    const uint64_t changed = cpu_block_restore(&problem->block[t]);
    if (changed && !out->first) out->first = problem_tensor_name(t);
    out->redzone_bytes_changed += changed;
  }
  out->input_elements_changed = cpu_inputs_restore(problem);
  return status_ok();
}

/* ---- timing -------------------------------------------------------------------------------------------------- */

enum { CPU_WITNESS_ROWS = 16 };

/* Turns signs of one head's `rows` rows of Q, K or V, which begin at `data`. */
static void cpu_flip_head(unsigned char *data, const struct attn_shape *s, uint64_t rows, enum pattern_flip what,
                          uint64_t kv_head, uint64_t flips) {
  const uint32_t size = attn_dtype_bytes(s->dtype);
  for (uint32_t d = 0; d < s->D; ++d) {
    if (!pattern_is_flipped(flips, what, kv_head, d)) continue;
    unsigned char *sign = data + (uint64_t)(d + 1) * size - 1;
    for (uint64_t row = 0; row < rows; ++row, sign += (uint64_t)s->D * size) *sign ^= 0x80;
  }
}

/* Makes Q, K and V what they never were, with an O that is known. */
static void cpu_change_inputs(struct problem *base) {
  const struct attn_shape *s = &base->shape;
  const struct cpu_block *block = cpu_problem_of(base)->block;
  const uint64_t flips = pattern_fresh_flips(base->inputs.seed, base->changes++), group = s->Hq / s->Hkv;
  const uint64_t row_bytes = (uint64_t)s->D * attn_dtype_bytes(s->dtype);
  for (uint64_t head = 0; head < (uint64_t)s->B * s->Hkv; ++head) {
    unsigned char *q = cpu_block_data(&block[PROBLEM_Q]) + head * group * s->Sq * row_bytes;
    unsigned char *k = cpu_block_data(&block[PROBLEM_K]) + head * s->Skv * row_bytes;
    unsigned char *v = cpu_block_data(&block[PROBLEM_V]) + head * s->Skv * row_bytes;
    cpu_flip_head(q, s, group * s->Sq, PATTERN_FLIP_QK, head, flips);
    cpu_flip_head(k, s, s->Skv, PATTERN_FLIP_QK, head, flips);
    cpu_flip_head(v, s, s->Skv, PATTERN_FLIP_VO, head, flips);
  }
  base->inputs.flips ^= flips;
}

/* Makes O stale, or poisons it and LSE, so that a launch which leaves them as they are can be seen. */
static void cpu_witness_prepare(struct problem *base) {
  if ((input_mix(cpu_problem_of(base)->witness.taken) & 1) != 0) {
    cpu_change_inputs(base);
  } else {
    cpu_block_poison(&cpu_problem_of(base)->block[PROBLEM_O]);
    cpu_block_poison(&cpu_problem_of(base)->block[PROBLEM_LSE]);
  }
}

/* Looks at a few rows of what the sample left. */
static void cpu_witness_look(struct problem *base) {
  struct cpu_problem *problem = cpu_problem_of(base);
  const struct cpu_reference *reference = &problem->reference[base->inputs.launch];
  const uint64_t place = input_mix(problem->witness.taken++ ^ base->inputs.seed), count = reference->sample.count;
  struct compare_partial partial;
  if (!reference->o) return;
  compare_start(&partial);
  for (uint64_t i = 0; i < CPU_WITNESS_ROWS && i < count; ++i) {
    cpu_compare_row(base, reference, &compare_tolerance[base->shape.dtype], (place + i * 61) % count, &partial);
  }
  ++problem->witness.found.samples;
  problem->witness.found.wrong += partial.result.bad_rows > 0 || partial.result.lse.bad_rows > 0;
}

static struct status cpu_problem_witness(struct problem *base, struct witness_result *out) {
  *out = cpu_problem_of(base)->witness.found;
  cpu_problem_of(base)->witness.found = (struct witness_result){0};
  return status_ok();
}

static void cpu_spin(double us) {
  const double end_us = cpu_now_us() + us;
  while (cpu_now_us() < end_us) continue;
}

static void cpu_launch_delayed(struct problem *problem, double delay_us) {
  cpu_problem_launch(problem);
  if (delay_us > 0) cpu_spin(delay_us);
}

/* Microseconds per launch over `launches` launches back to back, each with the delay behind it. To the picosecond:
 * the clock has no more digits. */
static double cpu_time_launches(struct problem *problem, uint32_t launches, double delay_us) {
  const double start_us = cpu_now_us();
  for (uint32_t i = 0; i < launches; ++i) cpu_launch_delayed(problem, delay_us);
  return round((cpu_now_us() - start_us) / launches * 1e6) / 1e6;
}

static struct status cpu_problem_time_prepare(struct problem *base, uint32_t *hot_launches, double *estimate_us) {
  double best_us = INFINITY;
  for (uint32_t i = 0; i < CPU_ESTIMATES; ++i) {
    best_us = fmin(best_us, cpu_time_launches(base, 1, 0));
    if (best_us > CPU_SLOW_US) break; /* one launch tells; a busy machine delays a short one less */
  }
  const double launches = ceil(TIMING_CPU_HOT_SAMPLE_US / fmax(best_us, 1e-3));
  *hot_launches = launches > TIMING_CPU_HOT_LAUNCHES_MAX ? TIMING_CPU_HOT_LAUNCHES_MAX : (uint32_t)launches;
  *estimate_us = best_us;
  cpu_problem_of(base)->hot_launches = *hot_launches;
  return status_ok();
}

#if defined(__x86_64__)
enum { CPU_LINE_BYTES = 64 };

/* Unordered among themselves, hence tens of times faster than clflush. */
__attribute__((target("clflushopt"))) static void cpu_evict_unordered(const unsigned char *data, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i += CPU_LINE_BYTES) _mm_clflushopt((void *)(uintptr_t)(data + i));
}

static void cpu_evict_ordered(const unsigned char *data, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i += CPU_LINE_BYTES) _mm_clflush(data + i);
}

/* clang's __builtin_cpu_supports does not know this one. */
static bool cpu_has_clflushopt(void) {
  unsigned a, b = 0, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & 1u << 23) != 0;
}

/* Evicts every line of the tensors and the workspace from all levels, by address: exact, and in time proportional to
 * the tensors, where displacing a last-level cache of hundreds of megabytes would dwarf what is measured. */
static struct status cpu_caches_flush(const struct cpu_problem *problem) {
  void (*const evict)(const unsigned char *, uint64_t) =
      cpu_has_clflushopt() ? cpu_evict_unordered : cpu_evict_ordered;
  for (enum problem_tensor t = PROBLEM_Q; t < PROBLEM_TENSOR_COUNT; ++t) {
    const struct cpu_block *block = &problem->block[t];
    if (block->base) evict(cpu_block_data(block), block->bytes);
  }
  _mm_mfence();
  return status_ok();
}
#else
/* Displaces the caches by writing and reading a buffer of twice the largest one, at most 256 MiB. */
static struct status cpu_caches_flush(const struct cpu_problem *problem) {
  const uint64_t most = UINT64_C(256) << 20, twice = 2 * problem->base.device->info.l2_bytes;
  const uint64_t bytes = twice < most ? twice : most;
  volatile unsigned char *buffer = malloc(bytes);
  if (!buffer)
    return status_make(STATUS_MEMORY, "cpu: no memory to flush the caches; free %.1f MB", (double)bytes / 1e6);
  for (uint64_t i = 0; i < bytes; i += 64) buffer[i] = 1;
  for (uint64_t i = 0; i < bytes; i += 64) (void)buffer[i];
  free((void *)buffer);
  return status_ok();
}
#endif

static struct status cpu_problem_sample(struct problem *base, enum time_mode mode, uint32_t n, double *us,
                                        double *sm_clock_mhz) {
  const struct cpu_problem *problem = cpu_problem_of(base);
  const uint32_t launches = mode == TIME_HOT ? problem->hot_launches : 1;
  *sm_clock_mhz = NAN;
  for (uint32_t i = 0; i < n; ++i) {
    cpu_witness_prepare(base);
    const struct status status = mode == TIME_COLD ? cpu_caches_flush(problem) : status_ok();
    if (status_failed(&status)) return status;
    us[i] = cpu_time_launches(base, launches, problem->delay_us[mode]);
    cpu_witness_look(base);
  }
  return status_ok();
}

/* Microseconds of `launches` launches back to back with other inputs before each; without `launch`, of changing them.
 */
static double cpu_time_changed(struct problem *problem, uint32_t launches, bool launch) {
  const double delay_us = cpu_problem_of(problem)->delay_us[TIME_HOT], start_us = cpu_now_us();
  for (uint32_t i = 0; i < launches; ++i) {
    cpu_change_inputs(problem);
    if (launch) cpu_launch_delayed(problem, delay_us);
  }
  return cpu_now_us() - start_us;
}

/* Launches with changed inputs that last as long as a hot sample, so that a busy machine disturbs both alike. Odd, as
 * device.h says. */
static uint32_t cpu_changed_launches(struct problem *base) {
  const double alone_us = fmax(cpu_time_changed(base, 1, true), 1e-3);
  const double launches = fmin(TIMING_CPU_HOT_SAMPLE_US / alone_us, cpu_problem_of(base)->hot_launches);
  return (uint32_t)fmax(launches, CPU_CHANGED_LAUNCHES_MIN) | 1;
}

static struct status cpu_problem_sample_changed(struct problem *base, double estimate_us, double *us) {
  double with_us = INFINITY, without_us = INFINITY;
  if (!(estimate_us <= CPU_CHANGED_MAX_US)) return status_ok();
  const uint32_t launches = cpu_changed_launches(base);
  for (size_t i = 0; i < CPU_CHANGED_SAMPLES; ++i) {
    without_us = fmin(without_us, cpu_time_changed(base, launches, false));
  }
  for (size_t i = 0; i < CPU_CHANGED_SAMPLES; ++i) {
    with_us = fmin(with_us, cpu_time_changed(base, launches, true));
    cpu_witness_look(base);
  }
  *us = fmax(with_us - without_us, 0) / launches;
  return status_ok();
}

static struct status cpu_problem_delay(struct problem *base, enum time_mode mode, double delay_us) {
  cpu_problem_of(base)->delay_us[mode] = delay_us;
  return status_ok();
}

static struct status cpu_problem_sample_passes(struct problem *base, uint32_t n, double *us) {
  (void)n;
  (void)us;
  return status_make(STATUS_INTERNAL, "cpu: %s has no passes to time alone; CPU plans have pass_count 0",
                     base->variant->name);
}

/* ---- the device ---------------------------------------------------------------------------------------------- */

static void cpu_device_close(struct device *device) { free(device); }

static uint64_t cpu_device_memory_free(const struct device *device) {
  (void)device;
  return cpu_info_memory_free();
}

static void cpu_device_health_read(struct device *device, struct device_health *out) {
  (void)device;
  *out = (struct device_health){.sm_clock_mhz = NAN, .memory_clock_mhz = NAN, .power_w = NAN, .temperature_c = NAN};
}

static const struct device_ops cpu_ops = {
    .close = cpu_device_close,
    .memory_free = cpu_device_memory_free,
    .health_read = cpu_device_health_read,
    .problem_open = cpu_problem_open,
    .problem_close = cpu_problem_close,
    .reference = cpu_problem_reference,
    .bind = cpu_problem_bind,
    .swap = cpu_problem_swap,
    .poison = cpu_problem_poison,
    .launch = cpu_problem_launch,
    .fill = cpu_problem_fill,
    .compare = cpu_problem_compare,
    .guard = cpu_problem_guard,
    .time_prepare = cpu_problem_time_prepare,
    .sample = cpu_problem_sample,
    .sample_changed = cpu_problem_sample_changed,
    .witness = cpu_problem_witness,
    .sample_passes = cpu_problem_sample_passes,
    .selftest = cpu_selftest,
    .delay = cpu_problem_delay,
};

struct status device_cpu_open(struct device **out) {
  struct device *device = calloc(1, sizeof *device);
  if (!device) return status_make(STATUS_MEMORY, "cpu: no memory for a device; free memory");
  device->ops = &cpu_ops;
  cpu_info_read(&device->info);
  *out = device;
  return status_ok();
}
