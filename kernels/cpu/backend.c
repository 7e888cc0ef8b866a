/* The CPU as a device: tensors in host memory between redzones, the fp64 oracle as reference, the monotonic clock. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/copy_end.h"
#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/host_info.h"
#include "kernels/cpu/oracle.h"
#include "kernels/cpu/threads.h"
#include "kernels/device_ops.h"
#include "kernels/plugin_load.h"
#include "kernels/timing.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

enum {
  CPU_INPUT_ROWS = 64, /* that one task of filling or checking covers */
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

/* The oracle's answer for the rows of one launch's sample; NULL until bench_reference. */
struct cpu_reference {
  double *o; /* [count][columns of V] */
  struct reference_row *rows;
  struct pattern_sample sample;
  struct quantisation quantisation;
};

/* The columns of a row whose signs a flip inverts (pattern.h). They are the same for all rows of a pair of KV heads.
 * To compute them takes longer than to read the row, so the last answer is kept, for these `flips`, `pair` and
 * `what`. */
struct cpu_signs {
  bool is_known;
  uint64_t flips, pair;
  enum pattern_flip what;
  bool is_flipped[ATTN_D_MAX];
};

struct cpu_witness {
  uint64_t
      taken; /* samples since the bench was opened; the choice of change or poison, and of rows, follows from it */
  struct witness_result found;
  struct cpu_signs signs;
};

struct cpu_binding {
  void *library; /* the state of the variant's library (struct attn_vendor); NULL: there is none */
  uint32_t hot_launches;
  double delay_us[TIME_MODE_COUNT];
  void *verified[ATTN_ROLE_COUNT]; /* copies of the outputs that were found right on the inputs of launch 0; NULL: not
                                    * yet, or no memory */
};

struct cpu_bench {
  struct bench base;
  struct cpu_block block[BENCH_BLOCKS];
  struct cpu_reference reference[PATTERN_INPUTS];
  struct cpu_witness witness;
  struct cpu_binding bound, inactive;
  struct cpu_block inactive_workspace; /* of `inactive`; that of `bound` is block[BENCH_WORKSPACE] */
};

static struct cpu_bench *cpu_bench_of(struct bench *bench) { return (struct cpu_bench *)bench; }

/* ---- blocks and redzones ------------------------------------------------------------------------------------- */

static unsigned char *cpu_block_data(const struct cpu_block *block) {
  return block->base ? block->base + DEVICE_REDZONE_BYTES : NULL;
}

/* Counts and restores the bytes of [first, end) that do not hold the pattern. */
static uint64_t cpu_redzone_restore(const struct cpu_block *block, uint64_t first, uint64_t end) {
  uint64_t changed = 0;
  for (uint64_t i = first; i < end; ++i) {
    const unsigned char expected = bench_redzone_byte(i);
    changed += block->base[i] != expected;
    block->base[i] = expected;
  }
  return changed;
}

static uint64_t cpu_block_restore(const struct cpu_block *block) {
  if (!block->base) return 0;
  return cpu_redzone_restore(block, 0, DEVICE_REDZONE_BYTES) +
         cpu_redzone_restore(block, DEVICE_REDZONE_BYTES + block->bytes, bench_block_bytes(block->bytes));
}

/* But for the first `kept` bytes. */
static void cpu_block_poison(const struct cpu_block *block, uint64_t kept) {
  if (block->base) memset((unsigned char *)cpu_block_data(block) + kept, DEVICE_POISON_BYTE, block->bytes - kept);
}

static struct status cpu_block_open(struct cpu_block *block, uint64_t bytes, unsigned index) {
  const uint64_t size = bench_block_bytes(bytes);
  block->base = size ? aligned_alloc(DEVICE_ALIGN_BYTES, size) : NULL;
  block->bytes = bytes;
  if (!block->base)
    return status_make(STATUS_MEMORY, "cpu: %.1f MB for tensor %s were refused; use a smaller shape or free memory",
                       (double)bytes / 1e6, bench_block_name(index));
  memset(block->base, DEVICE_POISON_BYTE, size);
  cpu_block_restore(block);
  return status_ok();
}

static void cpu_block_close(struct cpu_block *block) {
  free(block->base);
  *block = (struct cpu_block){0};
}

/* NULL: the problem has no such tensor. */
static void *cpu_tensor_data(const struct cpu_bench *bench, enum attn_role role) {
  struct attn_tensor tensor;
  if (!attn_tensor_of(&bench->base.shape, role, &tensor)) return NULL;
  return cpu_block_data(&bench->block[tensor.memory]) + tensor.offset * attn_dtype_bytes(tensor.dtype);
}

/* ---- inputs -------------------------------------------------------------------------------------------------- */

struct cpu_input_job {
  const struct cpu_bench *bench;
  struct attn_tensor tensor;
  atomic_uint_fast64_t changed;
};

/* One row of an input tensor. */
static void cpu_input_row(struct cpu_input_job *job, uint64_t row) {
  const struct attn_tensor *tensor = &job->tensor;
  const struct pattern *inputs = &job->bench->base.inputs;
  const struct pattern_line line = pattern_line_of(inputs, tensor->role, row);
  const uint64_t first = attn_view_row(&tensor->view, row);
  void *data = cpu_tensor_data(job->bench, tensor->role);
  uint64_t changed = 0;
  for (uint32_t d = 0; d < tensor->view.columns; ++d) {
    const uint32_t bits = pattern_bits(inputs, tensor, &line, d);
    changed += attn_dtype_load(tensor->dtype, data, first + d) != bits;
    attn_dtype_store(tensor->dtype, data, first + d, bits);
  }
  if (changed > 0) job->changed += changed;
}

static void cpu_input_task(void *context, uint64_t index, unsigned worker) {
  (void)worker;
  struct cpu_input_job *job = context;
  const uint64_t rows = attn_view_rows(&job->tensor.view), first = index * CPU_INPUT_ROWS;
  for (uint64_t row = first; row < rows && row < first + CPU_INPUT_ROWS; ++row) cpu_input_row(job, row);
}

/* Makes the inputs what the pattern says and returns how many elements were not. */
static uint64_t cpu_inputs_restore(const struct cpu_bench *bench) {
  uint64_t changed = 0;
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct cpu_input_job job = {.bench = bench};
    if (!attn_tensor_of(&bench->base.shape, (enum attn_role)role, &job.tensor) || !attn_is_input(&job.tensor))
      continue;
    const uint64_t tasks = (attn_view_rows(&job.tensor.view) - 1) / CPU_INPUT_ROWS + 1;
    cpu_parallel_for(bench->base.device->info.sms, tasks, cpu_input_task, &job);
    changed += job.changed;
  }
  return changed;
}

/* ---- benches ------------------------------------------------------------------------------------------------- */

static void cpu_binding_close(struct cpu_bench *bench) {
  struct cpu_binding *bound = &bench->bound;
  if (bound->library != NULL) bench->base.variant->vendor->close(bound->library);
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) free(bound->verified[role]);
  *bound = (struct cpu_binding){0};
}

static void cpu_bench_close(struct bench *base) {
  struct cpu_bench *bench = cpu_bench_of(base);
  cpu_binding_close(bench);
  bench_swap(base);
  cpu_binding_close(bench);
  for (unsigned i = 0; i < BENCH_BLOCKS; ++i) cpu_block_close(&bench->block[i]);
  cpu_block_close(&bench->inactive_workspace);
  for (size_t i = 0; i < PATTERN_INPUTS; ++i) {
    free(bench->reference[i].o);
    free(bench->reference[i].rows);
  }
  free(bench);
}

/* Asked before allocating: Linux grants more than there is and kills the process that touches it. */
static struct status cpu_bench_fits(const struct device *device, const struct attn_problem *shape) {
  const uint64_t bytes = bench_bytes(shape, 0), memory_bytes = device->info.memory_bytes;
  if (bytes != 0 && (memory_bytes == 0 || bytes <= memory_bytes)) return status_ok();
  return status_make(STATUS_MEMORY, "cpu: the tensors take %.1f MB and this machine has %.1f MB; use a smaller shape",
                     bytes ? (double)bytes / 1e6 : INFINITY, (double)memory_bytes / 1e6);
}

static struct status cpu_bench_allocate(struct cpu_bench *bench) {
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct attn_tensor tensor;
    if (!attn_tensor_of(&bench->base.shape, (enum attn_role)role, &tensor) || tensor.memory != tensor.role) continue;
    TRY(cpu_block_open(&bench->block[role], attn_tensor_bytes(&tensor), role));
  }
  return status_ok();
}

static struct status cpu_bench_open(struct device *device, const struct attn_problem *shape, uint64_t seed,
                                    struct bench **out) {
  TRY(cpu_bench_fits(device, shape));
  struct cpu_bench *bench = calloc(1, sizeof *bench);
  if (!bench) return status_make(STATUS_MEMORY, "cpu: no memory for a problem; free memory");
  bench->base = (struct bench){.device = device, .shape = *shape, .inputs = {.problem = *shape, .seed = seed}};
  const struct status status = cpu_bench_allocate(bench);
  if (status_failed(&status)) {
    cpu_bench_close(&bench->base);
    return status;
  }
  cpu_inputs_restore(bench);
  *out = &bench->base;
  return status_ok();
}

static struct status cpu_bench_fill(struct bench *base) {
  cpu_inputs_restore(cpu_bench_of(base));
  return status_ok();
}

static struct status cpu_reference_compute(struct cpu_bench *bench, struct cpu_reference *reference) {
  const struct attn_problem *shape = &bench->base.shape;
  struct oracle_input input = {.pattern = NULL};
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role)
    input.tensor[role] = cpu_tensor_data(bench, (enum attn_role)role);
  reference->sample = pattern_sample_of(&bench->base.inputs);
  struct attn_tensor o;
  attn_tensor_of(shape, ATTN_O, &o);
  const uint64_t count = reference->sample.count, columns = o.view.columns;
  struct oracle_output output = {.o = calloc(count * columns, sizeof(double)),
                                 .rows = calloc(count, sizeof(struct reference_row)),
                                 .sample = &reference->sample};
  struct status status =
      status_make(STATUS_MEMORY, "cpu: %.1f MB for the reference were refused; use a smaller shape",
                  (double)(count * columns) * sizeof(double) / 1e6);
  if (output.o && output.rows) status = oracle_run(shape, &input, &output, bench->base.device->info.sms);
  if (status_failed(&status)) {
    free(output.o);
    free(output.rows);
    return status;
  }
  reference->o = output.o;
  reference->rows = output.rows;
  const unsigned threads = bench->base.device->info.sms;
  return bench->base.inputs.launch == 0
             ? oracle_quantisation(shape, &bench->base.inputs, threads, &reference->quantisation)
             : status;
}

static struct status cpu_bench_reference(struct bench *base, struct oracle_result *out) {
  struct cpu_reference *reference = &cpu_bench_of(base)->reference[base->inputs.launch];
  const struct status status = reference->o ? status_ok() : cpu_reference_compute(cpu_bench_of(base), reference);
  *out = (struct oracle_result){
      .name = "cpu_fp64", .rows_verified = reference->sample.count, .quantisation = reference->quantisation};
  return status;
}

static struct attn_buffers cpu_buffers(const struct cpu_bench *bench) {
  struct attn_buffers buffers = {.workspace = cpu_block_data(&bench->block[BENCH_WORKSPACE])};
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role)
    buffers.tensor[role] = cpu_tensor_data(bench, (enum attn_role)role);
  return buffers;
}

static struct status cpu_library_open(struct cpu_bench *bench, const struct attn_variant *variant,
                                      struct attn_plan *plan) {
  const struct status status = variant->vendor->open(&bench->base.shape, &plan->tuning, &bench->base.device->info,
                                                     NULL, &bench->bound.library, &plan->workspace_bytes);
  if (status_failed(&status)) bench->bound.library = NULL; /* there is nothing to close */
  return plugin_status(&status);
}

/* Launches once, outside of all timing: the first launch sets up. */
static struct status cpu_library_attach(struct cpu_bench *bench) {
  const struct attn_vendor *vendor = bench->base.variant->vendor;
  const struct attn_buffers buffers = cpu_buffers(bench);
  struct status status = vendor->attach(bench->bound.library, &buffers);
  if (!status_failed(&status)) status = vendor->enqueue(bench->bound.library);
  return plugin_status(&status);
}

static struct status cpu_bench_bind(struct bench *base, const struct attn_variant *variant, struct attn_plan *plan,
                                    struct pass_facts facts[ATTN_PASSES_MAX]) {
  struct cpu_bench *bench = cpu_bench_of(base);
  struct cpu_block *workspace = &bench->block[BENCH_WORKSPACE];
  memset(facts, 0, ATTN_PASSES_MAX * sizeof *facts);
  cpu_binding_close(bench);
  base->variant = NULL;
  cpu_block_close(workspace);
  if (variant->vendor != NULL) TRY(cpu_library_open(bench, variant, plan));
  base->variant = variant;
  if (plan->workspace_bytes) TRY(cpu_block_open(workspace, plan->workspace_bytes, BENCH_WORKSPACE));
  if (workspace->base) memset(cpu_block_data(workspace), 0, bench_zeroed_bytes(plan));
  base->plan = *plan;
  bench->bound.hot_launches = 1;
  return variant->vendor != NULL ? cpu_library_attach(bench) : status_ok();
}

static void cpu_bench_swap(struct bench *base) {
  struct cpu_bench *bench = cpu_bench_of(base);
  const struct cpu_block workspace = bench->block[BENCH_WORKSPACE];
  const struct cpu_binding bound = bench->bound;
  bench->block[BENCH_WORKSPACE] = bench->inactive_workspace;
  bench->inactive_workspace = workspace;
  bench->bound = bench->inactive;
  bench->inactive = bound;
}

static void cpu_outputs_poison(struct cpu_bench *bench) {
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    if (attn_role_is_output((enum attn_role)role)) cpu_block_poison(&bench->block[role], 0);
  }
}

static struct status cpu_bench_poison(struct bench *base) {
  cpu_outputs_poison(cpu_bench_of(base));
  cpu_block_poison(&cpu_bench_of(base)->block[BENCH_WORKSPACE], bench_zeroed_bytes(&base->plan));
  return status_ok();
}

/* Computes once; the outputs of a library may then still lie elsewhere. */
static struct status cpu_compute(struct bench *base) {
  struct status status = status_ok();
  if (base->variant->vendor != NULL) {
    status = base->variant->vendor->enqueue(cpu_bench_of(base)->bound.library);
    status = plugin_status(&status);
  } else {
    const struct attn_buffers buffers = cpu_buffers(cpu_bench_of(base));
    base->variant->run(&base->shape, &base->plan, &buffers, base->device->info.sms);
  }
  copy_end();
  return status;
}

/* Behind launches whose outputs are looked at. */
static struct status cpu_collect(struct bench *base) {
  const struct attn_vendor *vendor = base->variant->vendor;
  if (vendor == NULL || vendor->collect == NULL) return status_ok();
  const struct status status = vendor->collect(cpu_bench_of(base)->bound.library);
  return plugin_status(&status);
}

static struct status cpu_bench_launch(struct bench *base) {
  TRY(cpu_compute(base));
  return cpu_collect(base);
}

/* ---- checking ------------------------------------------------------------------------------------------------ */

/* For each column of a row of Q, K, V or O, whether `flips` inverts its sign. Valid until the next call. */
static const bool *cpu_signs_of(struct cpu_bench *bench, const struct attn_tensor *tensor, uint64_t row,
                                uint64_t flips) {
  struct cpu_signs *signs = &bench->witness.signs;
  const enum pattern_flip what = pattern_flip_of(&bench->base.shape, tensor->role);
  const uint64_t pair = pattern_flip_pair(&bench->base.shape, tensor->role, row);
  if (signs->is_known && signs->flips == flips && signs->pair == pair && signs->what == what)
    return signs->is_flipped;
  signs->is_known = true;
  signs->flips = flips;
  signs->pair = pair;
  signs->what = what;
  const uint32_t D = bench->base.shape.D, Dv = bench->base.shape.Dv, columns = D > Dv ? D : Dv;
  for (uint32_t d = 0; d < columns; ++d) signs->is_flipped[d] = pattern_is_flipped(flips, what, pair, d);
  return signs->is_flipped;
}

/* Compares the output with row i of the reference's sample. Where that is NaN, the output is not defined. */
static void cpu_compare_row(struct bench *base, const struct cpu_reference *reference,
                            const struct tolerance *tolerance, uint64_t i, struct compare_partial *partial) {
  const struct attn_problem *s = &base->shape;
  struct cpu_bench *bench = cpu_bench_of(base);
  const void *data = cpu_tensor_data(bench, ATTN_O), *lse = cpu_tensor_data(bench, ATTN_LSE);
  const uint64_t source = pattern_sample_row(&reference->sample, i);
  const uint64_t row = pattern_source(&base->inputs, ATTN_O, source);
  const struct attn_place place = attn_place_of(s, ATTN_ROWS_QUERIES, source);
  const struct compare_bound bound = compare_bound_of(tolerance, s, attn_seen_keys(s, &place), &reference->rows[i]);
  struct compare_row sums = {0};
  struct attn_tensor o;
  attn_tensor_of(s, ATTN_O, &o);
  const uint32_t columns = o.view.columns;
  const uint64_t first = attn_view_row(&o.view, row);
  const double *expected = reference->o + i * columns;
  const bool is_undefined = isnan(expected[0]);
  const bool *is_flipped = cpu_signs_of(bench, &o, row, base->inputs.flips);
  for (uint32_t d = 0; d < columns; ++d) {
    const double sign = is_flipped[d] ? -1 : 1;
    const float value = attn_dtype_value(o.dtype, attn_dtype_load(o.dtype, data, first + d));
    if (is_undefined)
      compare_undefined(partial, s, row * columns + d, (double)value);
    else
      compare_element(partial, &sums, &bound, row * columns + d, (double)value, sign * expected[d]);
  }
  if (is_undefined) return;
  compare_row_end(partial, &sums, &bound, row * columns);
  if (lse) compare_lse(partial, &bound, row, (double)((const float *)lse)[row], reference->rows[i].lse);
}

/* Copies the outputs to bound.verified. Where there is no memory for a copy, the witness compares with the reference
 * alone. */
static void cpu_keep_verified(struct cpu_bench *bench) {
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct attn_tensor tensor;
    if (!attn_role_is_output((enum attn_role)role)) continue;
    if (!attn_tensor_of(&bench->base.shape, (enum attn_role)role, &tensor)) continue;
    void **copy = &bench->bound.verified[role];
    if (*copy == NULL) *copy = malloc(attn_tensor_bytes(&tensor));
    if (*copy != NULL) memcpy(*copy, cpu_tensor_data(bench, tensor.role), attn_tensor_bytes(&tensor));
  }
}

static struct status cpu_bench_compare(struct bench *base, const struct tolerance *tolerance,
                                       struct compare_result *out) {
  struct cpu_bench *bench = cpu_bench_of(base);
  const struct cpu_reference *reference = &bench->reference[base->inputs.launch];
  struct compare_partial partial;
  compare_start(&partial);
  for (uint64_t i = 0; i < reference->sample.count; ++i) cpu_compare_row(base, reference, tolerance, i, &partial);
  compare_finish(&partial, tolerance);
  *out = partial.result;
  const bool is_first = pattern_is_unchanged(&base->inputs, 0) && bench->bound.verified[ATTN_O] == NULL;
  if (is_first && compare_is_within(out)) cpu_keep_verified(bench);
  return status_ok();
}

static struct status cpu_bench_guard(struct bench *base, struct guard_result *out) {
  const struct cpu_bench *bench = cpu_bench_of(base);
  *out = (struct guard_result){0};
  for (unsigned i = 0; i < BENCH_BLOCKS; ++i) {
    const uint64_t changed = cpu_block_restore(&bench->block[i]);
    if (changed && !out->first) out->first = bench_block_name(i);
    out->redzone_bytes_changed += changed;
  }
  out->input_elements_changed = cpu_inputs_restore(bench);
  return status_ok();
}

/* ---- timing -------------------------------------------------------------------------------------------------- */

enum { CPU_WITNESS_ROWS = 16, CPU_WITNESS_ELEMENTS = 1 << 18 };

/* Turns signs of one row of Q, K or V. */
static void cpu_flip_row(struct cpu_bench *bench, void *data, const struct attn_tensor *tensor, uint64_t row,
                         uint64_t flips) {
  const bool *is_flipped = cpu_signs_of(bench, tensor, row, flips);
  const uint64_t first = attn_view_row(&tensor->view, row);
  for (uint32_t d = 0; d < tensor->view.columns; ++d) {
    if (!is_flipped[d]) continue;
    const uint32_t bits = attn_dtype_load(tensor->dtype, data, first + d);
    attn_dtype_store(tensor->dtype, data, first + d, bits ^ attn_dtype_sign(tensor->dtype));
  }
}

/* Exchanges two rows of an input. */
static void cpu_swap_rows(void *data, const struct attn_tensor *tensor, uint64_t row, uint64_t other) {
  const uint64_t first = attn_view_row(&tensor->view, row), second = attn_view_row(&tensor->view, other);
  for (uint32_t d = 0; d < tensor->view.columns; ++d) {
    const uint32_t bits = attn_dtype_load(tensor->dtype, data, first + d);
    attn_dtype_store(tensor->dtype, data, first + d, attn_dtype_load(tensor->dtype, data, second + d));
    attn_dtype_store(tensor->dtype, data, second + d, bits);
  }
}

static void cpu_change_tensor(struct bench *base, const struct attn_tensor *tensor, uint64_t flips) {
  const uint64_t rows = attn_view_rows(&tensor->view);
  void *data = cpu_tensor_data(cpu_bench_of(base), tensor->role);
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t partner = pattern_partner(&base->shape, tensor->role, row);
    if (pattern_flips(tensor->role)) cpu_flip_row(cpu_bench_of(base), data, tensor, row, flips);
    if (partner < row) cpu_swap_rows(data, tensor, row, partner);
  }
}

/* Makes Q, K and V what they never were, with an O that is known. */
static void cpu_change_inputs(struct bench *base) {
  const uint64_t flips = pattern_fresh_flips(base->inputs.seed, base->changes++);
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct attn_tensor tensor;
    if (attn_tensor_of(&base->shape, (enum attn_role)role, &tensor) && attn_is_input(&tensor))
      cpu_change_tensor(base, &tensor, flips);
  }
  base->inputs.flips ^= flips;
  base->inputs.swapped = !base->inputs.swapped;
}

/* Makes the outputs stale, or poisons them, so that a launch which leaves them as they are can be seen. */
static void cpu_witness_prepare(struct bench *base) {
  if ((input_mix(cpu_bench_of(base)->witness.taken) & 1) != 0) {
    cpu_change_inputs(base);
  } else {
    cpu_outputs_poison(cpu_bench_of(base));
  }
}

/* How many rows are compared after a sample: as many as take little time beside it. */
static uint64_t cpu_witness_rows(const struct bench *base) {
  const uint64_t rows = pattern_rows(&base->shape), fit = CPU_WITNESS_ELEMENTS / attn_columns(&base->shape, ATTN_O);
  const uint64_t few = fit > CPU_WITNESS_ROWS ? fit : CPU_WITNESS_ROWS;
  return few < rows ? few : rows;
}

/* Whether the output for row i of the reference's sample equals the one that was found right: O bit by bit with the
 * signs that the flip inverts, and LSE in value. */
static bool cpu_row_is_verified(struct cpu_bench *bench, const struct cpu_reference *reference, uint64_t i) {
  const struct pattern *inputs = &bench->base.inputs;
  const void *verified = bench->bound.verified[ATTN_O], *data = cpu_tensor_data(bench, ATTN_O);
  const float *verified_lse = bench->bound.verified[ATTN_LSE], *lse = cpu_tensor_data(bench, ATTN_LSE);
  if (verified == NULL || (lse != NULL && verified_lse == NULL)) return false;
  const uint64_t source = pattern_sample_row(&reference->sample, i), row = pattern_source(inputs, ATTN_O, source);
  struct attn_tensor o;
  attn_tensor_of(&bench->base.shape, ATTN_O, &o);
  const bool *is_flipped = cpu_signs_of(bench, &o, row, inputs->flips);
  const uint64_t first = attn_view_row(&o.view, row), before = attn_view_row(&o.view, source);
  if (lse != NULL && lse[row] != verified_lse[source]) return false;
  for (uint32_t d = 0; d < o.view.columns; ++d) {
    const uint32_t sign = is_flipped[d] ? attn_dtype_sign(o.dtype) : 0;
    if (attn_dtype_load(o.dtype, data, first + d) != (attn_dtype_load(o.dtype, verified, before + d) ^ sign))
      return false;
  }
  return true;
}

/* Compares rows of the output after a sample. If they are not all rows, they are spread over it. */
static void cpu_witness_look(struct bench *base) {
  struct cpu_bench *bench = cpu_bench_of(base);
  const struct cpu_reference *reference = &bench->reference[base->inputs.launch];
  const uint64_t place = input_mix(bench->witness.taken++ ^ base->inputs.seed), count = reference->sample.count;
  struct compare_partial partial;
  if (!reference->o) return;
  const struct tolerance tolerance = bench_tolerance(base);
  compare_start(&partial);
  const uint64_t rows = cpu_witness_rows(base), step = rows < count ? 61 : 1;
  for (uint64_t i = 0; i < rows && i < count; ++i) {
    const uint64_t sampled = (place % count + i * step) % count;
    if (!cpu_row_is_verified(bench, reference, sampled))
      cpu_compare_row(base, reference, &tolerance, sampled, &partial);
  }
  ++bench->witness.found.samples;
  bench->witness.found.wrong += partial.result.bad_rows > 0 || partial.result.lse.bad_rows > 0;
}

static struct status cpu_bench_witness(struct bench *base, struct witness_result *out) {
  *out = cpu_bench_of(base)->witness.found;
  out->rows_ratio = (double)cpu_witness_rows(base) / (double)pattern_rows(&base->shape);
  cpu_bench_of(base)->witness.found = (struct witness_result){0};
  return status_ok();
}

static void cpu_spin(double us) {
  const double end_us = cpu_now_us() + us;
  while (cpu_now_us() < end_us) continue;
}

static struct status cpu_launch_delayed(struct bench *bench, double delay_us) {
  TRY(cpu_compute(bench));
  if (delay_us > 0) cpu_spin(delay_us);
  return status_ok();
}

/* Microseconds per launch over `launches` launches back to back, each with the delay behind it. To the picosecond:
 * the clock has no more digits. */
static struct status cpu_time_launches(struct bench *bench, uint32_t launches, double delay_us, double *us) {
  const double start_us = cpu_now_us();
  for (uint32_t i = 0; i < launches; ++i) TRY(cpu_launch_delayed(bench, delay_us));
  *us = round((cpu_now_us() - start_us) / launches * 1e6) / 1e6;
  return cpu_collect(bench);
}

static struct status cpu_bench_time_prepare(struct bench *base, uint32_t *hot_launches, double *estimate_us) {
  double best_us = INFINITY;
  for (uint32_t i = 0; i < CPU_ESTIMATES; ++i) {
    double us = 0;
    TRY(cpu_time_launches(base, 1, 0, &us));
    best_us = fmin(best_us, us);
    if (best_us > CPU_SLOW_US) break; /* one launch tells; a busy machine delays a short one less */
  }
  const double launches = ceil(TIMING_CPU_HOT_SAMPLE_US / fmax(best_us, 1e-3));
  *hot_launches = launches > TIMING_CPU_HOT_LAUNCHES_MAX ? TIMING_CPU_HOT_LAUNCHES_MAX : (uint32_t)launches;
  *estimate_us = best_us;
  cpu_bench_of(base)->bound.hot_launches = *hot_launches;
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
static struct status cpu_caches_flush(const struct cpu_bench *bench) {
  void (*const evict)(const unsigned char *, uint64_t) =
      cpu_has_clflushopt() ? cpu_evict_unordered : cpu_evict_ordered;
  for (unsigned i = 0; i < BENCH_BLOCKS; ++i) {
    const struct cpu_block *block = &bench->block[i];
    if (block->base) evict(cpu_block_data(block), block->bytes);
  }
  _mm_mfence();
  return status_ok();
}
#else
/* Displaces the caches by writing and reading a buffer of twice the largest one, at most 256 MiB. */
static struct status cpu_caches_flush(const struct cpu_bench *bench) {
  const uint64_t most = UINT64_C(256) << 20, twice = 2 * bench->base.device->info.l2_bytes;
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

static struct status cpu_bench_sample(struct bench *base, enum time_mode mode, uint32_t n, double *us,
                                      double *sm_clock_mhz) {
  const struct cpu_bench *bench = cpu_bench_of(base);
  const uint32_t launches = mode == TIME_COLD ? 1 : bench->bound.hot_launches;
  const double delay_us = bench->bound.delay_us[mode == TIME_COLD ? TIME_COLD : TIME_HOT];
  *sm_clock_mhz = NAN;
  for (uint32_t i = 0; i < n; ++i) {
    cpu_witness_prepare(base);
    if (mode == TIME_COLD) TRY(cpu_caches_flush(bench));
    TRY(cpu_time_launches(base, launches, delay_us, &us[i]));
    cpu_witness_look(base);
  }
  return status_ok();
}

/* Microseconds of `launches` launches back to back with other inputs before each; without `launch`, of changing them.
 * *us arrives as the shortest so far. */
static struct status cpu_time_changed(struct bench *bench, uint32_t launches, bool launch, double *us) {
  const double delay_us = cpu_bench_of(bench)->bound.delay_us[TIME_HOT], start_us = cpu_now_us();
  for (uint32_t i = 0; i < launches; ++i) {
    cpu_change_inputs(bench);
    if (launch) TRY(cpu_launch_delayed(bench, delay_us));
  }
  *us = fmin(*us, cpu_now_us() - start_us);
  return launch ? cpu_collect(bench) : status_ok();
}

/* Launches with changed inputs that last as long as a hot sample, so that a busy machine disturbs both alike. Odd, as
 * device.h says. */
static struct status cpu_changed_launches(struct bench *base, uint32_t *out) {
  double alone_us = INFINITY;
  TRY(cpu_time_changed(base, 1, true, &alone_us));
  const double launches =
      fmin(TIMING_CPU_HOT_SAMPLE_US / fmax(alone_us, 1e-3), cpu_bench_of(base)->bound.hot_launches);
  *out = (uint32_t)fmax(launches, CPU_CHANGED_LAUNCHES_MIN) | 1;
  return status_ok();
}

static struct status cpu_bench_sample_changed(struct bench *base, double estimate_us, double *us) {
  double with_us = INFINITY, without_us = INFINITY;
  uint32_t launches = 1;
  const bool is_slow = !(estimate_us <= CPU_CHANGED_MAX_US);
  const size_t samples = is_slow ? 1 : CPU_CHANGED_SAMPLES;
  if (!is_slow) TRY(cpu_changed_launches(base, &launches));
  for (size_t i = 0; i < samples; ++i) TRY(cpu_time_changed(base, launches, false, &without_us));
  for (size_t i = 0; i < samples; ++i) {
    TRY(cpu_time_changed(base, launches, true, &with_us));
    cpu_witness_look(base);
  }
  *us = fmax(with_us - without_us, 0) / launches;
  return status_ok();
}

static struct status cpu_bench_delay(struct bench *base, enum time_mode mode, double delay_us) {
  cpu_bench_of(base)->bound.delay_us[mode] = delay_us;
  return status_ok();
}

static struct status cpu_bench_sample_passes(struct bench *base, uint32_t n, double *us) {
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

static double cpu_device_energy_j(struct device *device) {
  (void)device;
  return NAN;
}

static const struct device_ops cpu_ops = {
    .close = cpu_device_close,
    .memory_free = cpu_device_memory_free,
    .health_read = cpu_device_health_read,
    .energy_j = cpu_device_energy_j,
    .bench_open = cpu_bench_open,
    .bench_close = cpu_bench_close,
    .reference = cpu_bench_reference,
    .bind = cpu_bench_bind,
    .swap = cpu_bench_swap,
    .poison = cpu_bench_poison,
    .launch = cpu_bench_launch,
    .fill = cpu_bench_fill,
    .compare = cpu_bench_compare,
    .guard = cpu_bench_guard,
    .time_prepare = cpu_bench_time_prepare,
    .sample = cpu_bench_sample,
    .sample_changed = cpu_bench_sample_changed,
    .witness = cpu_bench_witness,
    .sample_passes = cpu_bench_sample_passes,
    .selftest = cpu_selftest,
    .delay = cpu_bench_delay,
};

struct status device_cpu_open(struct device **out) {
  struct device *device = calloc(1, sizeof *device);
  if (!device) return status_make(STATUS_MEMORY, "cpu: no memory for a device; free memory");
  device->ops = &cpu_ops;
  cpu_info_read(&device->info);
  *out = device;
  return status_ok();
}
