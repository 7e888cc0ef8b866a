/* Everything about being right: inputs, poison, redzones, the fp64 reference and the comparison, on the GPU. */
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernels/cpu/oracle.h"
#include "kernels/cpu/threads.h"
#include "kernels/cuda/backend.cuh"
#include "kernels/cuda/reference.cuh"
#include "kernels/cuda/witness.cuh"

namespace attn {

namespace {

constexpr int kThreads = 256;
constexpr unsigned kGridMax = 4096;

unsigned grid_for(uint64_t items) {
  const uint64_t blocks = (items + kThreads - 1) / kThreads;
  return static_cast<unsigned>(std::clamp<uint64_t>(blocks, 1, kGridMax));
}

/* ---- element types ------------------------------------------------------------------------------------------- */

template <enum attn_dtype kDtype>
using dtype_constant = std::integral_constant<enum attn_dtype, kDtype>;

/* What `of` gives for an element type as a constant: an instance of a kernel, say. */
template <typename Of>
auto for_dtype(enum attn_dtype dtype, Of of) {
  switch (dtype) {
#define DTYPE(id, ...) \
  case ATTN_##id:      \
    return of(dtype_constant<ATTN_##id>{});
#include "kernels/problem/dtypes.def"
#undef DTYPE
  }
  return decltype(of(dtype_constant<ATTN_F32>{})){};
}

/* ---- inputs and redzones ------------------------------------------------------------------------------------- */

/* Of a row, for one thread: the row's line costs many times what an element does. */
constexpr uint32_t kInputColumns = 16;

/* Writes what the pattern says, in the tensor's own bits. With changed != NULL it counts the elements that were
 * something else. */
__global__ void input_kernel(void *data, const struct pattern pattern, const struct attn_tensor tensor,
                             unsigned long long *changed) {
  const uint64_t slabs = slabs_of(tensor.view.columns, kInputColumns);
  for (uint64_t i = grid_thread(); i < attn_view_rows(&tensor.view) * slabs; i += grid_stride()) {
    const uint64_t row = i / slabs, first = attn_view_row(&tensor.view, row);
    const uint32_t begin = static_cast<uint32_t>(i % slabs) * kInputColumns;
    const struct pattern_line line = pattern_line_of(&pattern, tensor.role, row);
    for (uint32_t d = begin; d < min(begin + kInputColumns, tensor.view.columns); ++d) {
      const uint32_t bits = pattern_bits(&pattern, &tensor, &line, d);
      if (changed != nullptr && attn_dtype_load(tensor.dtype, data, first + d) == bits) continue;
      attn_dtype_store(tensor.dtype, data, first + d, bits);
      if (changed != nullptr) atomicAdd(changed, 1ull);
    }
  }
}

/* Of one input; changed[] by role, or NULL. */
struct status run_inputs(struct cuda_bench *p, const struct attn_tensor &tensor, unsigned long long *changed) {
  const uint64_t slabs = attn_view_rows(&tensor.view) * slabs_of(tensor.view.columns, kInputColumns);
  input_kernel<<<grid_for(slabs), kThreads, 0, stream_of(p)>>>(data_of(p, tensor.role), p->base.inputs, tensor,
                                                               changed != nullptr ? changed + tensor.role : nullptr);
  CUDA_TRY(cudaGetLastError());
  return status_ok();
}

/* Calls `one` for every input, or for every output, until it fails. What lies in another tensor is none. */
template <typename One>
struct status for_tensors(const struct cuda_bench *p, bool output, One one) {
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) {
    struct attn_tensor tensor;
    if (!attn_tensor_of(&p->base.shape, static_cast<enum attn_role>(role), &tensor) || tensor.output != output ||
        tensor.is_alias)
      continue;
    TRY(one(tensor));
  }
  return status_ok();
}

/* Guard bytes of an allocation are [0, front) and [front + data, total). With changed == NULL they are written, else
 * counted where they differ and put right. */
__global__ void redzone_kernel(unsigned char *block, uint64_t data_bytes, uint64_t guard_bytes,
                               unsigned long long *changed) {
  for (uint64_t i = grid_thread(); i < guard_bytes; i += grid_stride()) {
    const uint64_t offset = i < DEVICE_REDZONE_BYTES ? i : i + data_bytes;
    const unsigned char want = bench_redzone_byte(offset);
    if (changed != nullptr && block[offset] != want) atomicAdd(changed, 1ull);
    block[offset] = want;
  }
}

struct status run_redzones(struct cuda_bench *p, unsigned t, unsigned long long *changed) {
  const uint64_t guard_bytes = bench_block_bytes(p->bytes[t]) - p->bytes[t];
  redzone_kernel<<<grid_for(guard_bytes), kThreads, 0, stream_of(p)>>>(p->block[t], p->bytes[t], guard_bytes,
                                                                       changed);
  CUDA_TRY(cudaGetLastError());
  return status_ok();
}

struct status poison(struct cuda_bench *p, unsigned t) {
  const uint64_t kept = t == BENCH_WORKSPACE ? bench_zeroed_bytes(&p->base.plan) : 0;
  if (p->bytes[t] <= kept) return status_ok();
  CUDA_TRY(cudaMemsetAsync(static_cast<unsigned char *>(data_of(p, t)) + kept, DEVICE_POISON_BYTE, p->bytes[t] - kept,
                           stream_of(p)));
  return status_ok();
}

struct status poison_outputs(struct cuda_bench *p) {
  return for_tensors(p, true, [p](const struct attn_tensor &tensor) { return poison(p, tensor.role); });
}

/* ---- the fp64 reference -------------------------------------------------------------------------------------- */

/* At most so many rows, of at least so many keys, have kRowWarps warps each. With one warp each they would leave much
 * of the GPU idle. */
constexpr uint64_t kSplitRows = 4096;
constexpr uint32_t kSplitKeys = kRowWarps * 32;

struct status compute_reference(struct cuda_bench *p, struct cuda_reference *r) {
  const struct attn_problem &s = p->base.shape;
  const void *data[ATTN_ROLE_COUNT];
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) data[role] = data_of(p, role);
  const reference_args args = reference_args_of(s, data, r->o, r->rows, r->sample);
  CUDA_TRY(cudaMemsetAsync(r->rows, 0, r->sample.count * sizeof *r->rows, stream_of(p)));
  const reference_launch launch = reference_launch_of(args, r->sample.count <= kSplitRows && s.Skv >= kSplitKeys);
  const auto kernel = for_dtype(s.dtype, [&](auto t) {
    return launch.splits ? reference_kernel_of<t.value, true>(s) : reference_kernel_of<t.value, false>(s);
  });
  kernel<<<launch.grid, launch.threads, 0, stream_of(p)>>>(args);
  CUDA_TRY(cudaGetLastError());
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  return status_ok();
}

/* ---- is the reference right? --------------------------------------------------------------------------------- */

constexpr uint64_t kVerifyAllWork = uint64_t{1} << 20; /* rows * Skv * D up to which every row is verified */
constexpr uint64_t kVerifyRows[2] = {PATTERN_VERIFIED_ROWS, PATTERN_KINDS + 3}; /* of random and of hard inputs */

template <typename T>
struct status fetch(struct cuda_bench *p, const T *from, size_t count, T *to) {
  CUDA_TRY(cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyDeviceToHost, stream_of(p)));
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  return status_ok();
}

/* A row that the CPU computes again, and what it found. */
struct verified_row {
  uint64_t place; /* in the sample */
  std::vector<double> gpu_o;
  struct reference_row gpu_facts;
  struct status status;
  double difference; /* largest of an element */
};

struct verify_job {
  const struct bench *bench;
  const struct pattern_sample *sample;
  std::vector<verified_row> rows;
};

struct status verify_row(const struct verify_job *job, struct verified_row *v) {
  const struct attn_problem &s = job->bench->shape;
  std::vector<double> o(columns_of(s));
  struct reference_row facts;
  const uint64_t row = pattern_sample_row(job->sample, v->place);
  TRY(oracle_row(&s, &job->bench->inputs, row, o.data(), &facts));
  for (size_t d = 0; d < o.size(); ++d) {
    if (!std::isnan(o[d])) v->difference = fmax(v->difference, fabs(v->gpu_o[d] - o[d]));
  }
  const char *what = disagreement(o.data(), facts, v->gpu_o.data(), v->gpu_facts, columns_of(s));
  if (what == nullptr) return status_ok();
  return status_make(STATUS_DEVICE,
                     "the GPU's fp64 reference differs from the CPU oracle in row %llu of launch %u, in its %s",
                     static_cast<unsigned long long>(row), job->bench->inputs.launch, what);
}

void verify_task(void *context, uint64_t index, unsigned) {
  struct verify_job *job = static_cast<struct verify_job *>(context);
  job->rows[index].status = verify_row(job, &job->rows[index]);
}

/* All rows of a small problem; else the first, the last and pseudo-random ones, the same on every machine. Long rows
 * of keys take the CPU milliseconds each, so its threads share them. */
struct status verify_reference(struct cuda_bench *p, struct cuda_reference *r) {
  const struct attn_problem &s = p->base.shape;
  const uint32_t columns = columns_of(s);
  const uint64_t rows = r->sample.count, few = kVerifyRows[p->base.inputs.launch > 0];
  const bool all = rows * s.Skv <= kVerifyAllWork / s.D || rows <= few;
  struct verify_job job = {&p->base, &r->sample, std::vector<verified_row>(all ? rows : few)};
  for (uint64_t i = 0; i < job.rows.size(); ++i) {
    struct verified_row &v = job.rows[i];
    v.place = all ? i : i == 0 ? 0 : i == 1 ? rows - 1 : input_mix(i) % rows;
    v.gpu_o.resize(columns);
    TRY(fetch(p, r->o + v.place * columns, columns, v.gpu_o.data()));
    TRY(fetch(p, r->rows + v.place, 1, &v.gpu_facts));
  }
  cpu_parallel_for(cpu_threads_available(), job.rows.size(), verify_task, &job);
  for (const struct verified_row &v : job.rows) {
    TRY(v.status);
    r->oracle.max_difference = fmax(r->oracle.max_difference, v.difference);
  }
  r->oracle.rows_verified = job.rows.size();
  return status_ok();
}

/* Only one that was found right gets a name. */
struct status make_reference(struct cuda_bench *p, struct cuda_reference *r) {
  r->oracle = {};
  r->sample = pattern_sample_of(&p->base.inputs);
  if (r->o == nullptr) CUDA_TRY(cudaMalloc(&r->o, r->sample.count * columns_of(p->base.shape) * sizeof *r->o));
  if (r->rows == nullptr) CUDA_TRY(cudaMalloc(&r->rows, r->sample.count * sizeof *r->rows));
  TRY(compute_reference(p, r));
  TRY(verify_reference(p, r));
  if (p->base.inputs.launch == 0)
    TRY(oracle_quantisation(&p->base.shape, &p->base.inputs, cpu_threads_available(), &r->oracle.quantisation));
  r->oracle.name = "gpu_fp64";
  return status_ok();
}

/* ---- comparing ----------------------------------------------------------------------------------------------- */

struct compare_args compare_args_of(const struct cuda_bench *p, const struct tolerance *tolerance) {
  const struct cuda_reference &r = p->reference[p->base.inputs.launch];
  struct attn_tensor o;
  attn_tensor_of(&p->base.shape, ATTN_O, &o);
  return {data_of(p, ATTN_O),
          o.view,
          static_cast<const float *>(data_of(p, ATTN_LSE)),
          r.o,
          r.rows,
          p->base.shape,
          r.sample,
          *tolerance,
          p->base.inputs};
}

__device__ uint64_t warp_count(uint64_t x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}

/* Element d of a row of the reference, as the inputs are now. */
__device__ double expected_of(const compare_args &a, uint64_t pair, uint32_t d, double reference) {
  const uint64_t flips = a.inputs.flips;
  const enum pattern_flip what = pattern_flip_of(&a.shape, ATTN_O);
  return flips != 0 && pattern_is_flipped(flips, what, pair, d) ? -reference : reference;
}

/* A warp compares row `place` of the sample. */
template <enum attn_dtype kDtype>
__device__ void compare_one_row(const compare_args &a, uint64_t place, struct compare_partial *mine) {
  const uint32_t lane = threadIdx.x % 32, columns = a.view.columns;
  const uint64_t row = row_of(a, place), pair = pattern_flip_pair(&a.shape, ATTN_O, row);
  const uint64_t first = attn_view_row(&a.view, row);
  const double *reference = a.o + place * columns;
  if (isnan(reference[0])) {
    for (uint32_t d = lane; d < columns; d += 32)
      compare_undefined(mine, &a.shape, row * columns + d, load_double<kDtype>(a.output, first + d));
    return;
  }
  const struct compare_bound bound = bound_of(a, place);
  struct compare_row sums = {};
  for (uint32_t d = lane; d < columns; d += 32) {
    compare_element(mine, &sums, &bound, row * columns + d, load_double<kDtype>(a.output, first + d),
                    expected_of(a, pair, d, reference[d]));
  }
  sums.error_squares = warp_sum(sums.error_squares);
  sums.reference_squares = warp_sum(sums.reference_squares);
  sums.bad = warp_count(sums.bad);
  if (lane != 0) return;
  compare_row_end(mine, &sums, &bound, row * columns);
  if (a.lse != nullptr) compare_lse(mine, &bound, row, a.lse[row], a.rows[place].lse);
}

template <enum attn_dtype kDtype>
__global__ void compare_kernel(const compare_args a, struct compare_partial *partials) {
  __shared__ struct compare_partial all[COMPARE_THREADS];
  struct compare_partial mine;
  compare_start(&mine);
  const uint64_t warps = uint64_t{gridDim.x} * (COMPARE_THREADS / 32);
  for (uint64_t i = grid_thread() / 32; i < a.sample.count; i += warps) compare_one_row<kDtype>(a, i, &mine);
  all[threadIdx.x] = mine;
  __syncthreads(); /* orders the stores to all[] before thread 0 reads them */
  if (threadIdx.x != 0) return;
  for (int t = 1; t < COMPARE_THREADS; ++t) compare_merge(&mine, &all[t]);
  partials[blockIdx.x] = mine;
}

/* ---- the witness of timed launches --------------------------------------------------------------------------- */

struct status change_inputs(struct cuda_bench *p, uint64_t flips) {
  return for_tensors(p, false, [p, flips](const struct attn_tensor &tensor) {
    const witness_runs runs = witness_runs_of(attn_view_rows(&tensor.view), tensor.view.columns);
    for_dtype(
        tensor.dtype,
        [](auto t) { return change_kernel<t.value>; })<<<grid_for(32 * runs.count), kThreads, 0, stream_of(p)>>>(
        data_of(p, tensor.role), p->base.shape, tensor, flips, runs);
    CUDA_TRY(cudaGetLastError());
    return status_ok();
  });
}

/* Copies the outputs to bound.verified. Where there is no memory for a copy, the witness compares with the reference
 * alone. */
struct status keep_verified(struct cuda_bench *p) {
  return for_tensors(p, true, [p](const struct attn_tensor &tensor) {
    void **copy = &p->bound.verified[tensor.role];
    if (*copy == nullptr && cudaMalloc(copy, p->bytes[tensor.role]) != cudaSuccess) {
      cudaGetLastError();
      *copy = nullptr;
      return status_ok();
    }
    CUDA_TRY(cudaMemcpyAsync(*copy, data_of(p, tensor.role), p->bytes[tensor.role], cudaMemcpyDeviceToDevice,
                             stream_of(p)));
    return status_ok();
  });
}

}  // namespace

struct status fill_redzones(struct cuda_bench *p, unsigned block) {
  return run_redzones(p, block, nullptr);
}

struct status fill_inputs(struct cuda_bench *p) {
  return for_tensors(p, false, [p](const struct attn_tensor &tensor) { return run_inputs(p, tensor, nullptr); });
}

struct status check_fill(struct bench *bench) {
  return fill_inputs(as_cuda(bench));
}

void drop_references(struct cuda_bench *p) {
  for (struct cuda_reference &r : p->reference) {
    cudaFree(r.o);
    cudaFree(r.rows);
  }
}

struct status check_poison(struct bench *bench) {
  struct cuda_bench *p = as_cuda(bench);
  TRY(poison_outputs(p));
  return poison(p, BENCH_WORKSPACE);
}

struct status check_reference(struct bench *bench, struct oracle_result *out) {
  struct cuda_bench *p = as_cuda(bench);
  struct cuda_reference *r = &p->reference[bench->inputs.launch];
  if (r->oracle.name == nullptr) TRY(make_reference(p, r));
  *out = r->oracle;
  return status_ok();
}

struct status check_guard(struct bench *bench, struct guard_result *out) {
  struct cuda_bench *p = as_cuda(bench);
  unsigned long long counts[kCounters];
  CUDA_TRY(cudaMemsetAsync(p->counters, 0, sizeof counts, stream_of(p)));
  for (unsigned block = 0; block < BENCH_BLOCKS; ++block) {
    if (p->block[block] != nullptr) TRY(run_redzones(p, block, p->counters + block));
  }
  TRY(for_tensors(
      p, false, [p](const struct attn_tensor &tensor) { return run_inputs(p, tensor, p->counters + BENCH_BLOCKS); }));
  TRY(fetch(p, p->counters, sizeof counts / sizeof *counts, counts));
  *out = {0, 0, nullptr};
  for (unsigned block = 0; block < BENCH_BLOCKS; ++block) {
    out->redzone_bytes_changed += counts[block];
    if (counts[block] > 0 && out->first == nullptr) out->first = bench_block_name(block);
  }
  for (unsigned role = 0; role < ATTN_ROLE_COUNT; ++role) out->input_elements_changed += counts[BENCH_BLOCKS + role];
  return status_ok();
}

struct status check_compare(struct bench *bench, const struct tolerance *tolerance, struct compare_result *out) {
  struct cuda_bench *p = as_cuda(bench);
  std::vector<struct compare_partial> partials(COMPARE_BLOCKS);
  const auto kernel = for_dtype(attn_out_dtype(&bench->shape), [](auto t) { return compare_kernel<t.value>; });
  kernel<<<COMPARE_BLOCKS, COMPARE_THREADS, 0, stream_of(p)>>>(compare_args_of(p, tolerance), p->partials);
  CUDA_TRY(cudaGetLastError());
  TRY(fetch(p, p->partials, COMPARE_BLOCKS, partials.data()));
  struct compare_partial whole;
  compare_start(&whole);
  for (const struct compare_partial &part : partials) compare_merge(&whole, &part);
  compare_finish(&whole, tolerance);
  *out = whole.result;
  const bool is_first = pattern_is_unchanged(&bench->inputs, 0) && p->bound.verified[ATTN_O] == nullptr;
  return is_first && compare_is_within(&whole.result) ? keep_verified(p) : status_ok();
}

struct status witness_load() {
  cudaFuncAttributes unused;
  const void *const kernels[] = {
#define DTYPE(id, ...) \
  reinterpret_cast<const void *>(change_kernel<ATTN_##id>), reinterpret_cast<const void *>(witness_kernel<ATTN_##id>),
#include "kernels/problem/dtypes.def"
#undef DTYPE
  };
  for (const void *kernel : kernels) CUDA_TRY(cudaFuncGetAttributes(&unused, kernel));
  return status_ok();
}

struct status witness_change(struct cuda_bench *p) {
  const uint64_t flips = pattern_fresh_flips(p->base.inputs.seed, p->base.changes++);
  p->base.inputs.flips ^= flips;
  p->base.inputs.swapped = !p->base.inputs.swapped;
  return change_inputs(p, flips);
}

struct status witness_prepare(struct cuda_bench *p) {
  return (input_mix(p->looks) & 1) != 0 ? witness_change(p) : poison_outputs(p);
}

struct status witness_look(struct cuda_bench *p) {
  TRY(vendor_collect(p));
  const enum attn_dtype dtype = attn_out_dtype(&p->base.shape);
  const struct tolerance tolerance = bench_tolerance(&p->base);
  if (p->reference[p->base.inputs.launch].oracle.name == nullptr) return status_ok();
  const struct compare_args args = compare_args_of(p, &tolerance);
  const struct verified_outputs verified = {p->bound.verified[ATTN_O],
                                            static_cast<const float *>(p->bound.verified[ATTN_LSE])};
  const witness_runs runs = witness_runs_of(args.sample.count, args.view.columns);
  const auto kernel = for_dtype(dtype, [](auto t) { return witness_kernel<t.value>; });
  struct cuda_seen *seen = p->witness + p->swapped;
  kernel<<<grid_for(32 * runs.count), kThreads, 0, stream_of(p)>>>(args, verified, runs, ++p->looks, &seen->wrong,
                                                                   &seen->last);
  CUDA_TRY(cudaGetLastError());
  ++p->bound.looks;
  return status_ok();
}

struct status check_witness(struct bench *bench, struct witness_result *out) {
  struct cuda_bench *p = as_cuda(bench);
  struct cuda_seen seen = {};
  TRY(fetch(p, p->witness + p->swapped, 1, &seen));
  CUDA_TRY(cudaMemsetAsync(p->witness + p->swapped, 0, sizeof seen, stream_of(p)));
  *out = {p->bound.looks, seen.wrong, 1};
  p->bound.looks = 0;
  return status_ok();
}

}  // namespace attn
