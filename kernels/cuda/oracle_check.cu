/* Everything about being right: inputs, poison, redzones, the fp64 reference and the comparison, on the GPU. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <vector>

#include "kernels/cpu/oracle.h"
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

/* What input.h says element `index` is, in the tensor's own bits. */
__device__ uint32_t input_bits(enum attn_dtype dtype, uint64_t seed, enum input_tensor tensor, uint64_t index) {
  const float value = input_value(seed, tensor, index);
  if (dtype == ATTN_F32) return input_float_bits(value);
  return dtype == ATTN_F16 ? input_to_f16(value) : input_to_bf16(value);
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

__global__ void fill_input_kernel(void *data, enum attn_dtype dtype, uint64_t seed, enum input_tensor tensor,
                                  uint64_t elements) {
  for (uint64_t i = grid_thread(); i < elements; i += grid_stride()) {
    store_bits(data, dtype, i, input_bits(dtype, seed, tensor, i));
  }
}

/* Counts elements that are not what the seed says, and puts them right. */
__global__ void guard_input_kernel(void *data, enum attn_dtype dtype, uint64_t seed, enum input_tensor tensor,
                                   uint64_t elements, unsigned long long *changed) {
  for (uint64_t i = grid_thread(); i < elements; i += grid_stride()) {
    const uint32_t bits = input_bits(dtype, seed, tensor, i);
    if (load_bits(data, dtype, i) == bits) continue;
    store_bits(data, dtype, i, bits);
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
  const void *q, *k, *v;     /* [B][Hq][Sq][D], [B][Hkv][Skv][D] twice */
  double *reference, *scale; /* [B][Hq][Sq][D]: O, and sum_j p_ij |v_jd| */
  struct attn_shape shape;
};

/* The definition, in fp64: one warp per query row, online softmax over 32 keys at a time, lanes own keys while
 * scoring and columns while accumulating. blockIdx.y picks a slab of 256 columns; each slab scores all keys again. */
template <enum attn_dtype kDtype>
__global__ void reference_kernel(const reference_args a) {
  const struct attn_shape s = a.shape;
  const uint64_t rows = uint64_t{s.B} * s.Hq * s.Sq, row = uint64_t{blockIdx.x} * kReferenceWarps + threadIdx.x / 32;
  if (row >= rows) return; /* whole warps leave: no barrier below */
  const uint32_t lane = threadIdx.x % 32, column0 = blockIdx.y * kReferenceColumns;
  const uint64_t head = row / s.Sq, b = head / s.Hq, h = head % s.Hq;
  const uint64_t kv_base = (b * s.Hkv + h / (s.Hq / s.Hkv)) * s.Skv * s.D;
  const uint32_t keys = attn_keys_of_row(&s, static_cast<uint32_t>(row % s.Sq));
  const double softmax_scale = 1.0 / sqrt(static_cast<double>(s.D));
  double out[kPerLane] = {}, absolute[kPerLane] = {}, largest = -INFINITY, total = 0;
  for (uint32_t j0 = 0; j0 < keys; j0 += 32) {
    const uint32_t j = j0 + lane;
    double score = -INFINITY;
    if (j < keys) {
      double dot = 0;
      for (uint32_t d = 0; d < s.D; ++d) {
        dot += load_double<kDtype>(a.q, row * s.D + d) * load_double<kDtype>(a.k, kv_base + uint64_t{j} * s.D + d);
      }
      score = dot * softmax_scale;
    }
    const double next = fmax(largest, warp_max(score)), shrink = exp(largest - next);
    const double p = j < keys ? exp(score - next) : 0.0;
    total = total * shrink + warp_sum(p);
    largest = next;
    for (int i = 0; i < kPerLane; ++i) out[i] *= shrink, absolute[i] *= shrink;
    for (uint32_t t = 0; t < min(32u, keys - j0); ++t) {
      const double weight = __shfl_sync(~0u, p, static_cast<int>(t));
      for (int i = 0; i < kPerLane; ++i) {
        const uint32_t d = column0 + lane + 32 * i;
        if (d >= s.D) break;
        const double v = load_double<kDtype>(a.v, kv_base + uint64_t{j0 + t} * s.D + d);
        out[i] += weight * v;
        absolute[i] += weight * fabs(v);
      }
    }
  }
  for (int i = 0; i < kPerLane; ++i) {
    const uint32_t d = column0 + lane + 32 * i;
    if (d >= s.D) break;
    a.reference[row * s.D + d] = keys > 0 ? out[i] / total : 0.0;
    a.scale[row * s.D + d] = keys > 0 ? absolute[i] / total : 0.0;
  }
}

struct status compute_reference(struct cuda_problem *p) {
  const struct attn_shape &s = p->base.shape;
  const uint64_t rows = uint64_t{s.B} * s.Hq * s.Sq;
  const dim3 grid(static_cast<unsigned>((rows + kReferenceWarps - 1) / kReferenceWarps),
                  (s.D + kReferenceColumns - 1) / kReferenceColumns);
  const reference_args args = {
      data_of(p, PROBLEM_Q), data_of(p, PROBLEM_K), data_of(p, PROBLEM_V), p->reference, p->scale, s};
  void (*const kernels[])(reference_args) = {reference_kernel<ATTN_F16>, reference_kernel<ATTN_BF16>,
                                             reference_kernel<ATTN_F32>};
  kernels[s.dtype]<<<grid, 32 * kReferenceWarps, 0, stream_of(p)>>>(args);
  CUDA_TRY(cudaGetLastError());
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  return status_ok();
}

/* ---- is the reference right? --------------------------------------------------------------------------------- */

constexpr uint64_t kVerifyAllWork = uint64_t{1} << 22; /* rows * Skv * D up to which every row is verified */
constexpr uint64_t kVerifyRows = 32;
constexpr double kVerifyTolerance = 1e-11; /* of the error scale; fp64 sums in another order stay far below */

/* One row of D doubles from the device. */
struct status read_row(struct cuda_problem *p, const double *from, uint64_t row, std::vector<double> *to) {
  const uint64_t D = p->base.shape.D;
  CUDA_TRY(cudaMemcpyAsync(to->data(), from + row * D, D * sizeof(double), cudaMemcpyDeviceToHost, stream_of(p)));
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  return status_ok();
}

struct status verify_row(struct cuda_problem *p, uint64_t row, double *max_difference) {
  const struct attn_shape &s = p->base.shape;
  std::vector<double> o(s.D), scale(s.D), gpu_o(s.D), gpu_scale(s.D);
  STATUS_TRY(oracle_row(&s, p->base.seed, row, o.data(), scale.data()));
  STATUS_TRY(read_row(p, p->reference, row, &gpu_o));
  STATUS_TRY(read_row(p, p->scale, row, &gpu_scale));
  for (uint32_t d = 0; d < s.D; ++d) {
    const double difference = fmax(fabs(gpu_o[d] - o[d]), fabs(gpu_scale[d] - scale[d]));
    if (!(difference <= kVerifyTolerance * scale[d])) {
      return status_make(STATUS_DEVICE,
                         "the GPU's fp64 reference differs from the CPU oracle by %.3g in row %llu, column %u",
                         difference, static_cast<unsigned long long>(row), d);
    }
    *max_difference = fmax(*max_difference, difference);
  }
  return status_ok();
}

/* All rows of a small problem; else the first, the last and pseudo-random ones, the same on every machine. */
struct status verify_reference(struct cuda_problem *p) {
  const struct attn_shape &s = p->base.shape;
  const uint64_t rows = uint64_t{s.B} * s.Hq * s.Sq;
  const bool all = rows * s.Skv <= kVerifyAllWork / s.D || rows <= kVerifyRows;
  const uint64_t count = all ? rows : kVerifyRows;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t row = all ? i : i == 0 ? 0 : i == 1 ? rows - 1 : input_mix(i) % rows;
    STATUS_TRY(verify_row(p, row, &p->oracle.max_difference));
  }
  p->oracle.rows_verified = count;
  return status_ok();
}

/* Only one that was found right gets a name. */
struct status make_reference(struct cuda_problem *p) {
  const uint64_t bytes = problem_elements(&p->base.shape, PROBLEM_O) * sizeof(double);
  if (p->reference == nullptr) CUDA_TRY(cudaMalloc(&p->reference, bytes));
  if (p->scale == nullptr) CUDA_TRY(cudaMalloc(&p->scale, bytes));
  p->oracle = {};
  STATUS_TRY(compute_reference(p));
  STATUS_TRY(verify_reference(p));
  p->oracle.name = "gpu_fp64";
  return status_ok();
}

/* ---- comparing
 * ------------------------------------------------------------------------------------------------------- */

template <enum attn_dtype kDtype>
__global__ void compare_kernel(const void *o, const double *reference, const double *scale, uint64_t elements,
                               const struct tolerance tolerance, struct compare_partial *partials) {
  __shared__ struct compare_partial all[COMPARE_THREADS];
  struct compare_partial mine;
  compare_start(&mine);
  for (uint64_t i = grid_thread(); i < elements; i += grid_stride()) {
    compare_add(&mine, &tolerance, i, load_double<kDtype>(o, i), reference[i], scale[i]);
  }
  all[threadIdx.x] = mine;
  __syncthreads(); /* orders the stores to all[] before thread 0 reads them */
  if (threadIdx.x != 0) return;
  for (int t = 1; t < COMPARE_THREADS; ++t) compare_merge(&mine, &all[t]);
  partials[blockIdx.x] = mine;
}

}  // namespace

struct status fill_redzones(struct cuda_problem *p, enum problem_tensor t) {
  return run_redzones(p, t, nullptr);
}

struct status fill_inputs(struct cuda_problem *p) {
  for (int i = 0; i < 3; ++i) {
    const uint64_t elements = problem_elements(&p->base.shape, kInputs[i]);
    fill_input_kernel<<<grid_for(elements), kThreads, 0, stream_of(p)>>>(data_of(p, kInputs[i]), p->base.shape.dtype,
                                                                         p->base.seed, kInputNames[i], elements);
    CUDA_TRY(cudaGetLastError());
  }
  return status_ok();
}

struct status check_poison(struct problem *problem) {
  struct cuda_problem *p = as_cuda(problem);
  CUDA_TRY(cudaMemsetAsync(data_of(p, PROBLEM_O), DEVICE_POISON_BYTE, p->bytes[PROBLEM_O], stream_of(p)));
  if (p->bytes[PROBLEM_WORKSPACE] > 0) {
    CUDA_TRY(cudaMemsetAsync(data_of(p, PROBLEM_WORKSPACE), DEVICE_POISON_BYTE, p->bytes[PROBLEM_WORKSPACE],
                             stream_of(p)));
  }
  return status_ok();
}

struct status check_reference(struct problem *problem, struct oracle_result *out) {
  struct cuda_problem *p = as_cuda(problem);
  if (p->oracle.name == nullptr) STATUS_TRY(make_reference(p));
  *out = p->oracle;
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
    guard_input_kernel<<<grid_for(elements), kThreads, 0, stream_of(p)>>>(data_of(p, kInputs[i]), p->base.shape.dtype,
                                                                          p->base.seed, kInputNames[i], elements,
                                                                          p->counters + PROBLEM_TENSOR_COUNT + i);
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
  void (*const kernels[])(const void *, const double *, const double *, uint64_t, struct tolerance,
                          struct compare_partial *) = {compare_kernel<ATTN_F16>, compare_kernel<ATTN_BF16>,
                                                       compare_kernel<ATTN_F32>};
  kernels[p->base.shape.dtype]<<<COMPARE_BLOCKS, COMPARE_THREADS, 0, stream_of(p)>>>(
      data_of(p, PROBLEM_O), p->reference, p->scale, problem_elements(&p->base.shape, PROBLEM_O), *tolerance,
      p->partials);
  CUDA_TRY(cudaGetLastError());
  CUDA_TRY(cudaMemcpyAsync(partials.data(), p->partials, COMPARE_BLOCKS * sizeof *p->partials, cudaMemcpyDeviceToHost,
                           stream_of(p)));
  CUDA_TRY(cudaStreamSynchronize(stream_of(p)));
  struct compare_partial whole;
  compare_start(&whole);
  for (const struct compare_partial &part : partials) compare_merge(&whole, &part);
  compare_finish(&whole);
  *out = whole.result;
  return status_ok();
}

}  // namespace attn
