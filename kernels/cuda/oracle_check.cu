/* Everything about being right: inputs, poison, redzones, the fp64 reference and the comparison, on the GPU. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/oracle.h"
#include "kernels/cpu/threads.h"
#include "kernels/cuda/backend.cuh"

namespace attn {

namespace {

constexpr int kThreads = 256;
constexpr unsigned kGridMax = 4096;

unsigned grid_for(uint64_t items) {
  const uint64_t blocks = (items + kThreads - 1) / kThreads;
  return static_cast<unsigned>(std::clamp<uint64_t>(blocks, 1, kGridMax));
}

__device__ uint64_t grid_thread() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ uint64_t grid_stride() { return uint64_t{gridDim.x} * blockDim.x; }

/* ---- element types ------------------------------------------------------------------------------------------- */

/* What pattern.h says element `index` is, in the tensor's own bits. */
__device__ uint32_t input_bits(const struct pattern &pattern, enum input_tensor tensor, uint64_t index) {
  const struct pattern_line line = pattern_line_of(&pattern, tensor, index / pattern.shape.D);
  const float value = pattern_value(&pattern, tensor, &line, static_cast<uint32_t>(index % pattern.shape.D));
  if (pattern.shape.dtype == ATTN_F32) return input_float_bits(value);
  return pattern.shape.dtype == ATTN_F16 ? input_to_f16(value) : input_to_bf16(value);
}

__device__ uint32_t load_bits(const void *data, enum attn_dtype dtype, uint64_t index) {
  return dtype == ATTN_F32 ? static_cast<const uint32_t *>(data)[index] : static_cast<const uint16_t *>(data)[index];
}

__device__ void store_bits(void *data, enum attn_dtype dtype, uint64_t index, uint32_t bits) {
  if (dtype == ATTN_F32) {
    static_cast<uint32_t *>(data)[index] = bits;
  } else {
    static_cast<uint16_t *>(data)[index] = static_cast<uint16_t>(bits);
  }
}

template <enum attn_dtype kDtype>
__device__ double load_double(const void *data, uint64_t index) {
  const uint32_t bits = load_bits(data, kDtype, index);
  if (kDtype == ATTN_F32) return input_bits_float(bits);
  return kDtype == ATTN_F16 ? input_from_f16(static_cast<uint16_t>(bits))
                            : input_from_bf16(static_cast<uint16_t>(bits));
}

/* ---- inputs and redzones ------------------------------------------------------------------------------------- */

__global__ void fill_input_kernel(void *data, const struct pattern pattern, enum input_tensor tensor,
                                  uint64_t elements) {
  for (uint64_t i = grid_thread(); i < elements; i += grid_stride()) {
    store_bits(data, pattern.shape.dtype, i, input_bits(pattern, tensor, i));
  }
}

/* Counts elements that are not what the pattern says, and puts them right. */
__global__ void guard_input_kernel(void *data, const struct pattern pattern, enum input_tensor tensor,
                                   uint64_t elements, unsigned long long *changed) {
  for (uint64_t i = grid_thread(); i < elements; i += grid_stride()) {
    const uint32_t bits = input_bits(pattern, tensor, i);
    if (load_bits(data, pattern.shape.dtype, i) == bits) continue;
    store_bits(data, pattern.shape.dtype, i, bits);
    atomicAdd(changed, 1ull);
  }
}

/* Guard bytes of an allocation are [0, front) and [front + data, total). With changed == NULL they are written, else
 * counted where they differ and put right. */
__global__ void redzone_kernel(unsigned char *block, uint64_t data_bytes, uint64_t guard_bytes,
                               unsigned long long *changed) {
  for (uint64_t i = grid_thread(); i < guard_bytes; i += grid_stride()) {
    const uint64_t offset = i < DEVICE_REDZONE_BYTES ? i : i + data_bytes;
    const unsigned char want = problem_redzone_byte(offset);
    if (changed != nullptr && block[offset] != want) atomicAdd(changed, 1ull);
    block[offset] = want;
  }
}

struct status run_redzones(struct cuda_problem *p, enum problem_tensor t, unsigned long long *changed) {
  const uint64_t guard_bytes = problem_block_bytes(p->bytes[t]) - p->bytes[t];
  redzone_kernel<<<grid_for(guard_bytes), kThreads, 0, stream_of(p)>>>(p->block[t], p->bytes[t], guard_bytes,
                                                                       changed);
  CUDA_TRY(cudaGetLastError());
  return status_ok();
}

struct status poison(struct cuda_problem *p, enum problem_tensor t) {
  if (p->bytes[t] > 0) CUDA_TRY(cudaMemsetAsync(data_of(p, t), DEVICE_POISON_BYTE, p->bytes[t], stream_of(p)));
  return status_ok();
}

constexpr enum problem_tensor kInputs[3] = {PROBLEM_Q, PROBLEM_K, PROBLEM_V};
constexpr enum input_tensor kInputNames[3] = {INPUT_Q, INPUT_K, INPUT_V};

/* ---- the fp64 reference -------------------------------------------------------------------------------------- */

constexpr int kReferenceWarps = 4;
constexpr int kReferenceColumns = 256; /* columns of O per block; 8 per lane */
constexpr int kPerLane = kReferenceColumns / 32;

__device__ double warp_max(double x) {
  for (int offset = 16; offset > 0; offset /= 2) x = fmax(x, __shfl_xor_sync(~0u, x, offset));
  return x;
}

__device__ double warp_sum(double x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}

struct reference_args {
  const void *q, *k, *v; /* [B][Hq][Sq][D], [B][Hkv][Skv][D] twice */
  double *o;             /* [count][D] */
  struct reference_row *rows;
  struct attn_shape shape;
  struct pattern_sample sample;
};

/* One lane's part of a row: some of its columns, and what all its keys say of the row. */
struct row_state {
  double out[kPerLane], largest, total, spread, most;
};

__device__ uint64_t kv_offset(const struct attn_shape &s, uint64_t row) {
  const uint64_t head = row / s.Sq, b = head / s.Hq, h = head % s.Hq;
  return (b * s.Hkv + h / (s.Hq / s.Hkv)) * s.Skv * s.D;
}

/* Adds 32 keys from j0 on, each with its lane's unnormalised weight p. */
template <enum attn_dtype kDtype>
__device__ void weigh_keys(const reference_args &a, uint64_t kv_base, uint32_t column0, uint32_t j0, uint32_t count,
                           double p, row_state *state) {
  for (uint32_t t = 0; t < count; ++t) {
    const double weight = __shfl_sync(~0u, p, static_cast<int>(t));
    for (int i = 0; i < kPerLane; ++i) {
      const uint32_t d = column0 + threadIdx.x % 32 + 32 * i;
      if (d >= a.shape.D) break;
      const double term = weight * load_double<kDtype>(a.v, kv_base + uint64_t{j0 + t} * a.shape.D + d);
      state->out[i] += term;
      state->spread += term * term;
    }
  }
}

/* The definition, in fp64: one warp per query row, online softmax over 32 keys at a time, lanes own keys while
 * scoring and columns while accumulating. blockIdx.y picks a slab of 256 columns; each slab scores all keys again and
 * adds its part of the row's spread, which arrives zeroed. */
template <enum attn_dtype kDtype>
__global__ void reference_kernel(const reference_args a) {
  const struct attn_shape &s = a.shape;
  const uint64_t place = uint64_t{blockIdx.x} * kReferenceWarps + threadIdx.x / 32;
  if (place >= a.sample.count) return; /* whole warps leave: no barrier below */
  const uint64_t row = pattern_sample_row(&a.sample, place), kv_base = kv_offset(s, row);
  const uint32_t lane = threadIdx.x % 32, column0 = blockIdx.y * kReferenceColumns;
  const uint32_t keys = attn_keys_of_row(&s, static_cast<uint32_t>(row % s.Sq));
  const double softmax_scale = 1.0 / sqrt(static_cast<double>(s.D));
  row_state state = {};
  state.largest = -INFINITY;
  for (uint32_t j0 = 0; j0 < keys; j0 += 32) {
    const uint32_t j = j0 + lane;
    double score = -INFINITY;
    if (j < keys) {
      double dot = 0;
      for (uint32_t d = 0; d < s.D; ++d) {
        dot += load_double<kDtype>(a.q, row * s.D + d) * load_double<kDtype>(a.k, kv_base + uint64_t{j} * s.D + d);
      }
      score = dot * softmax_scale;
      state.most = fmax(state.most, fabs(score));
    }
    const double next = fmax(state.largest, warp_max(score)), shrink = exp(state.largest - next);
    const double p = j < keys ? exp(score - next) : 0.0;
    state.total = state.total * shrink + warp_sum(p);
    state.largest = next;
    state.spread *= shrink * shrink;
    for (double &out : state.out) out *= shrink;
    weigh_keys<kDtype>(a, kv_base, column0, j0, min(32u, keys - j0), p, &state);
  }
  for (int i = 0; i < kPerLane; ++i) {
    const uint32_t d = column0 + lane + 32 * i;
    if (d >= s.D) break;
    a.o[place * s.D + d] = keys > 0 ? state.out[i] / state.total : 0.0;
  }
  double q_squares = 0;
  for (uint32_t d = lane; d < s.D; d += 32) {
    const double q = load_double<kDtype>(a.q, row * s.D + d);
    q_squares += q * q;
  }
  const double spread = warp_sum(state.spread), most = warp_max(state.most), q_all = warp_sum(q_squares);
  if (lane != 0) return;
  /* All but the spread are the same from every slab. */
  struct reference_row *const out = &a.rows[place];
  out->largest = most;
  out->lse = state.largest + log(state.total); /* -infinity without keys */
  out->q_size = sqrt(q_all / s.D);
  if (keys > 0) atomicAdd(&out->spread_square, spread / (state.total * state.total));
}

struct status compute_reference(struct cuda_problem *p, struct cuda_reference *r) {
  const struct attn_shape &s = p->base.shape;
  const dim3 grid(static_cast<unsigned>((r->sample.count + kReferenceWarps - 1) / kReferenceWarps),
                  (s.D + kReferenceColumns - 1) / kReferenceColumns);
  const reference_args args = {
      data_of(p, PROBLEM_Q), data_of(p, PROBLEM_K), data_of(p, PROBLEM_V), r->o, r->rows, s, r->sample};
  void (*const kernels[])(reference_args) = {reference_kernel<ATTN_F16>, reference_kernel<ATTN_BF16>,
                                             reference_kernel<ATTN_F32>};
  CUDA_TRY(cudaMemsetAsync(r->rows, 0, r->sample.count * sizeof *r->rows, stream_of(p)));
  kernels[s.dtype]<<<grid, 32 * kReferenceWarps, 0, stream_of(p)>>>(args);
  CUDA_TRY(cudaGetLastError());
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  return status_ok();
}

/* ---- is the reference right? --------------------------------------------------------------------------------- */

constexpr uint64_t kVerifyAllWork = uint64_t{1} << 20;       /* rows * Skv * D up to which every row is verified */
constexpr uint64_t kVerifyRows[2] = {32, PATTERN_KINDS + 3}; /* of random and of hard inputs */
constexpr double kVerifyTolerance = 1e-11; /* of the row's norms; fp64 sums in another order stay far below */

template <typename T>
struct status fetch(struct cuda_problem *p, const T *from, size_t count, T *to) {
  CUDA_TRY(cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyDeviceToHost, stream_of(p)));
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  return status_ok();
}

/* Both NaN, the same infinity, or near each other. */
bool agree(double a, double b, double tolerance) {
  return (std::isnan(a) && std::isnan(b)) || a == b || fabs(a - b) <= tolerance;
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
  const struct problem *problem;
  const struct pattern_sample *sample;
  std::vector<verified_row> rows;
};

struct status verify_row(const struct verify_job *job, struct verified_row *v) {
  const struct attn_shape &s = job->problem->shape;
  std::vector<double> o(s.D);
  struct reference_row facts;
  const uint64_t row = pattern_sample_row(job->sample, v->place);
  STATUS_TRY(oracle_row(&s, &job->problem->inputs, row, o.data(), &facts));
  double square = facts.spread_square;
  for (const double x : o) square += x * x;
  /* An error of a score, which is as large as the largest of them, is one of its weight. */
  const double tolerance = kVerifyTolerance * (1 + facts.largest);
  bool right = agree(facts.spread_square, v->gpu_facts.spread_square, tolerance * facts.spread_square) &&
               agree(facts.largest, v->gpu_facts.largest, tolerance) &&
               agree(facts.lse, v->gpu_facts.lse, tolerance) &&
               agree(facts.q_size, v->gpu_facts.q_size, kVerifyTolerance * facts.q_size);
  for (uint32_t d = 0; d < s.D; ++d) {
    right = right && agree(o[d], v->gpu_o[d], tolerance * sqrt(square));
    if (!std::isnan(o[d])) v->difference = fmax(v->difference, fabs(v->gpu_o[d] - o[d]));
  }
  if (right) return status_ok();
  return status_make(STATUS_DEVICE, "the GPU's fp64 reference differs from the CPU oracle in row %llu of launch %u",
                     static_cast<unsigned long long>(row), job->problem->inputs.launch);
}

void verify_task(void *context, uint64_t index, unsigned) {
  struct verify_job *job = static_cast<struct verify_job *>(context);
  job->rows[index].status = verify_row(job, &job->rows[index]);
}

/* All rows of a small problem; else the first, the last and pseudo-random ones, the same on every machine. Long rows
 * of keys take the CPU milliseconds each, so its threads share them. */
struct status verify_reference(struct cuda_problem *p, struct cuda_reference *r) {
  const struct attn_shape &s = p->base.shape;
  const uint64_t rows = r->sample.count, few = kVerifyRows[p->base.inputs.launch > 0];
  const bool all = rows * s.Skv <= kVerifyAllWork / s.D || rows <= few;
  struct verify_job job = {&p->base, &r->sample, std::vector<verified_row>(all ? rows : few)};
  for (uint64_t i = 0; i < job.rows.size(); ++i) {
    struct verified_row &v = job.rows[i];
    v.place = all ? i : i == 0 ? 0 : i == 1 ? rows - 1 : input_mix(i) % rows;
    v.gpu_o.resize(s.D);
    STATUS_TRY(fetch(p, r->o + v.place * s.D, s.D, v.gpu_o.data()));
    STATUS_TRY(fetch(p, r->rows + v.place, 1, &v.gpu_facts));
  }
  cpu_parallel_for(cpu_threads_available(), job.rows.size(), verify_task, &job);
  for (const struct verified_row &v : job.rows) {
    STATUS_TRY(v.status);
    r->oracle.max_difference = fmax(r->oracle.max_difference, v.difference);
  }
  r->oracle.rows_verified = job.rows.size();
  return status_ok();
}

/* Only one that was found right gets a name. */
struct status make_reference(struct cuda_problem *p, struct cuda_reference *r) {
  r->oracle = {};
  r->sample = pattern_sample_of(&p->base.inputs);
  if (r->o == nullptr) CUDA_TRY(cudaMalloc(&r->o, r->sample.count * p->base.shape.D * sizeof *r->o));
  if (r->rows == nullptr) CUDA_TRY(cudaMalloc(&r->rows, r->sample.count * sizeof *r->rows));
  STATUS_TRY(compute_reference(p, r));
  STATUS_TRY(verify_reference(p, r));
  r->oracle.name = "gpu_fp64";
  return status_ok();
}

/* ---- comparing ----------------------------------------------------------------------------------------------- */

struct compare_args {
  const void *output;
  const float *lse; /* NULL: not asked for */
  const double *o;
  const struct reference_row *rows;
  struct attn_shape shape;
  struct pattern_sample sample;
  struct tolerance tolerance;
  uint64_t flips; /* of the inputs, against the reference's */
};

struct compare_args compare_args_of(const struct cuda_problem *p, const struct tolerance *tolerance) {
  const struct cuda_reference &r = p->reference[p->base.inputs.launch];
  return {data_of(p, PROBLEM_O),
          static_cast<const float *>(data_of(p, PROBLEM_LSE)),
          r.o,
          r.rows,
          p->base.shape,
          r.sample,
          *tolerance,
          p->base.inputs.flips};
}

__device__ struct compare_bound bound_of(const compare_args &a, uint64_t place, uint64_t row) {
  const uint32_t keys = attn_keys_of_row(&a.shape, static_cast<uint32_t>(row % a.shape.Sq));
  return compare_bound_of(&a.tolerance, a.shape.D, keys, &a.rows[place]);
}

__device__ uint64_t warp_count(uint64_t x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}

/* Element d of a row of the reference, as the inputs are now. */
__device__ double expected_of(const compare_args &a, uint64_t kv_head, uint32_t d, double reference) {
  return a.flips != 0 && pattern_is_flipped(a.flips, PATTERN_FLIP_VO, kv_head, d) ? -reference : reference;
}

/* A warp compares row `place` of the sample; where the reference is NaN, no output is defined. */
template <enum attn_dtype kDtype>
__device__ void compare_one_row(const compare_args &a, uint64_t place, struct compare_partial *mine) {
  const uint32_t lane = threadIdx.x % 32, D = a.shape.D;
  const uint64_t row = pattern_sample_row(&a.sample, place), kv_head = pattern_kv_head(&a.shape, row);
  const double *reference = a.o + place * D;
  if (isnan(reference[0])) return;
  const struct compare_bound bound = bound_of(a, place, row);
  struct compare_row sums = {};
  for (uint32_t d = lane; d < D; d += 32) {
    const uint64_t index = row * D + d;
    compare_element(mine, &sums, &bound, index, load_double<kDtype>(a.output, index),
                    expected_of(a, kv_head, d, reference[d]));
  }
  sums.error_squares = warp_sum(sums.error_squares);
  sums.reference_squares = warp_sum(sums.reference_squares);
  sums.bad = warp_count(sums.bad);
  if (lane != 0) return;
  compare_row_end(mine, &sums, &bound, row * D);
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

constexpr int kWitnessThreads = 1024; /* a warp per row that is looked at */
constexpr uint32_t kWitnessColumns = 256;

constexpr uint32_t kFlipColumns = 128; /* of a row, for one warp: rows may be few and long */

__host__ __device__ inline uint64_t flip_slabs(uint32_t D) { return (D + kFlipColumns - 1) / kFlipColumns; }

/* A warp turns the signs of one slab of a row after another. */
template <typename Bits>
__global__ void flip_kernel(Bits *data, const struct attn_shape shape, enum input_tensor tensor, uint64_t flips) {
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const bool is_q = tensor == INPUT_Q;
  const uint64_t rows = is_q ? pattern_rows(&shape) : uint64_t{shape.B} * shape.Hkv * shape.Skv;
  const enum pattern_flip what = tensor == INPUT_V ? PATTERN_FLIP_VO : PATTERN_FLIP_QK;
  const uint64_t slabs = flip_slabs(shape.D);
  for (uint64_t slab = grid_thread() / 32; slab < rows * slabs; slab += grid_stride() / 32) {
    const uint64_t row = slab / slabs, kv_head = is_q ? pattern_kv_head(&shape, row) : row / shape.Skv;
    const uint32_t column0 = static_cast<uint32_t>(slab % slabs) * kFlipColumns;
    for (uint32_t d = column0 + threadIdx.x % 32; d < min(shape.D, column0 + kFlipColumns); d += 32) {
      if (pattern_is_flipped(flips, what, kv_head, d)) data[row * shape.D + d] ^= kSign;
    }
  }
}

template <typename Bits>
struct status flip_inputs(struct cuda_problem *p, uint64_t flips) {
  for (int i = 0; i < 3; ++i) {
    const uint64_t rows = problem_elements(&p->base.shape, kInputs[i]) / p->base.shape.D;
    flip_kernel<<<grid_for(32 * rows * flip_slabs(p->base.shape.D)), kThreads, 0, stream_of(p)>>>(
        static_cast<Bits *>(data_of(p, kInputs[i])), p->base.shape, kInputNames[i], flips);
    CUDA_TRY(cudaGetLastError());
  }
  return status_ok();
}

/* Looks at some elements of some rows; *wrong counts the launches of this kernel that saw a wrong one. */
template <enum attn_dtype kDtype>
__global__ void witness_kernel(const compare_args a, uint64_t random, unsigned long long *wrong) {
  const uint64_t mixed = input_mix(random + threadIdx.x / 32), place = mixed % a.sample.count;
  const uint64_t row = pattern_sample_row(&a.sample, place), kv_head = pattern_kv_head(&a.shape, row);
  const uint32_t D = a.shape.D, slabs = (D + kWitnessColumns - 1) / kWitnessColumns;
  const uint32_t column0 = static_cast<uint32_t>(mixed >> 40) % slabs * kWitnessColumns;
  const struct compare_bound bound = bound_of(a, place, row);
  struct compare_partial mine;
  struct compare_row sums = {};
  compare_start(&mine);
  for (uint32_t d = column0 + threadIdx.x % 32; d < min(D, column0 + kWitnessColumns); d += 32) {
    const uint64_t index = row * D + d;
    compare_element(&mine, &sums, &bound, index, load_double<kDtype>(a.output, index),
                    expected_of(a, kv_head, d, a.o[place * D + d]));
  }
  if (a.lse != nullptr && threadIdx.x % 32 == 0) compare_lse(&mine, &bound, row, a.lse[row], a.rows[place].lse);
  if (__syncthreads_or(sums.bad + mine.result.lse.bad_rows > 0) && threadIdx.x == 0) atomicAdd(wrong, 1ull);
}

}  // namespace

struct status fill_redzones(struct cuda_problem *p, enum problem_tensor t) {
  return run_redzones(p, t, nullptr);
}

struct status fill_inputs(struct cuda_problem *p) {
  for (int i = 0; i < 3; ++i) {
    const uint64_t elements = problem_elements(&p->base.shape, kInputs[i]);
    fill_input_kernel<<<grid_for(elements), kThreads, 0, stream_of(p)>>>(data_of(p, kInputs[i]), p->base.inputs,
                                                                         kInputNames[i], elements);
    CUDA_TRY(cudaGetLastError());
  }
  return status_ok();
}

struct status check_fill(struct problem *problem) {
  return fill_inputs(as_cuda(problem));
}

void drop_references(struct cuda_problem *p) {
  for (struct cuda_reference &r : p->reference) {
    cudaFree(r.o);
    cudaFree(r.rows);
  }
}

struct status check_poison(struct problem *problem) {
  struct cuda_problem *p = as_cuda(problem);
  STATUS_TRY(poison(p, PROBLEM_O));
  STATUS_TRY(poison(p, PROBLEM_LSE));
  return poison(p, PROBLEM_WORKSPACE);
}

struct status check_reference(struct problem *problem, struct oracle_result *out) {
  struct cuda_problem *p = as_cuda(problem);
  struct cuda_reference *r = &p->reference[problem->inputs.launch];
  if (r->oracle.name == nullptr) STATUS_TRY(make_reference(p, r));
  *out = r->oracle;
  return status_ok();
}

struct status check_guard(struct problem *problem, struct guard_result *out) {
  struct cuda_problem *p = as_cuda(problem);
  unsigned long long counts[PROBLEM_TENSOR_COUNT + 3];
  CUDA_TRY(cudaMemsetAsync(p->counters, 0, sizeof counts, stream_of(p)));
  for (int t = 0; t < PROBLEM_TENSOR_COUNT; ++t) {
    if (p->block[t] != nullptr) STATUS_TRY(run_redzones(p, static_cast<enum problem_tensor>(t), p->counters + t));
  }
  for (int i = 0; i < 3; ++i) {
    const uint64_t elements = problem_elements(&p->base.shape, kInputs[i]);
    guard_input_kernel<<<grid_for(elements), kThreads, 0, stream_of(p)>>>(
        data_of(p, kInputs[i]), p->base.inputs, kInputNames[i], elements, p->counters + PROBLEM_TENSOR_COUNT + i);
    CUDA_TRY(cudaGetLastError());
  }
  CUDA_TRY(cudaMemcpyAsync(counts, p->counters, sizeof counts, cudaMemcpyDeviceToHost, stream_of(p)));
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  *out = {0, 0, nullptr};
  for (int t = 0; t < PROBLEM_TENSOR_COUNT; ++t) {
    out->redzone_bytes_changed += counts[t];
    if (counts[t] > 0 && out->first == nullptr) out->first = problem_tensor_name(static_cast<enum problem_tensor>(t));
  }
  for (int i = 0; i < 3; ++i) out->input_elements_changed += counts[PROBLEM_TENSOR_COUNT + i];
  return status_ok();
}

struct status check_compare(struct problem *problem, const struct tolerance *tolerance, struct compare_result *out) {
  struct cuda_problem *p = as_cuda(problem);
  std::vector<struct compare_partial> partials(COMPARE_BLOCKS);
  void (*const kernels[])(compare_args, struct compare_partial *) = {
      compare_kernel<ATTN_F16>, compare_kernel<ATTN_BF16>, compare_kernel<ATTN_F32>};
  kernels[problem->shape.dtype]<<<COMPARE_BLOCKS, COMPARE_THREADS, 0, stream_of(p)>>>(compare_args_of(p, tolerance),
                                                                                      p->partials);
  CUDA_TRY(cudaGetLastError());
  STATUS_TRY(fetch(p, p->partials, COMPARE_BLOCKS, partials.data()));
  struct compare_partial whole;
  compare_start(&whole);
  for (const struct compare_partial &part : partials) compare_merge(&whole, &part);
  compare_finish(&whole, tolerance);
  *out = whole.result;
  return status_ok();
}

struct status witness_load() {
  cudaFuncAttributes unused;
  const void *const kernels[] = {reinterpret_cast<const void *>(flip_kernel<uint16_t>),
                                 reinterpret_cast<const void *>(flip_kernel<uint32_t>),
                                 reinterpret_cast<const void *>(witness_kernel<ATTN_F16>),
                                 reinterpret_cast<const void *>(witness_kernel<ATTN_BF16>),
                                 reinterpret_cast<const void *>(witness_kernel<ATTN_F32>)};
  for (const void *kernel : kernels) CUDA_TRY(cudaFuncGetAttributes(&unused, kernel));
  return status_ok();
}

struct status witness_change(struct cuda_problem *p) {
  const uint64_t flips = pattern_fresh_flips(p->base.inputs.seed, p->base.changes++);
  p->base.inputs.flips ^= flips;
  return p->base.shape.dtype == ATTN_F32 ? flip_inputs<uint32_t>(p, flips) : flip_inputs<uint16_t>(p, flips);
}

struct status witness_prepare(struct cuda_problem *p) {
  if ((input_mix(p->looks) & 1) != 0) return witness_change(p);
  STATUS_TRY(poison(p, PROBLEM_O));
  return poison(p, PROBLEM_LSE);
}

struct status witness_look(struct cuda_problem *p) {
  void (*const kernels[])(compare_args, uint64_t, unsigned long long *) = {
      witness_kernel<ATTN_F16>, witness_kernel<ATTN_BF16>, witness_kernel<ATTN_F32>};
  const enum attn_dtype dtype = p->base.shape.dtype;
  if (p->reference[p->base.inputs.launch].oracle.name == nullptr) return status_ok();
  kernels[dtype]<<<1, kWitnessThreads, 0, stream_of(p)>>>(compare_args_of(p, &compare_tolerance[dtype]),
                                                          input_mix(p->base.inputs.seed ^ p->looks++),
                                                          p->witness + p->swapped);
  CUDA_TRY(cudaGetLastError());
  ++p->bound.looks;
  return status_ok();
}

struct status check_witness(struct problem *problem, struct witness_result *out) {
  struct cuda_problem *p = as_cuda(problem);
  unsigned long long wrong = 0;
  STATUS_TRY(fetch(p, p->witness + p->swapped, 1, &wrong));
  CUDA_TRY(cudaMemsetAsync(p->witness + p->swapped, 0, sizeof wrong, stream_of(p)));
  *out = {p->bound.looks, wrong};
  p->bound.looks = 0;
  return status_ok();
}

}  // namespace attn
