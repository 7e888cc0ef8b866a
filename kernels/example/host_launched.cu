/* host_launched: a library that launches its own kernels, for `attnbench --load`. Copy it and put your library's
 * calls in the place of the namespace `library`: CUTLASS, FlashAttention, a cuBLAS chain, anything that takes a
 * stream.
 *
 * attnbench hands over a shape, a stream and pointers, and captures one call into a CUDA graph: grids, blocks,
 * registers and memsets in the report are read back from there, whatever the library chose.
 *
 * Idea of this library: the keys of a query row are split over blocks of one warp; the one that finishes last, told
 * by a counter that a memset has cleared, puts the parts together. Can win: at few query rows and many keys. Cannot:
 * elsewhere; every row reads all of K and V by itself. Budget: 8 + 8 fp32 values of Q and of the output per lane (D
 * <= 256), no shared memory; workspace D + 2 floats per row and split. */
#include <math.h>

#include <new>

#include "kernels/plugin.h"

#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

namespace host_launched {

constexpr uint32_t kWarp = 32, kLaneElements = 8, kMaxSplits = 32;

#ifdef __CUDACC__

/* ---- the library: of somebody else, and none of it known to attnbench ----------------------------------------- */

namespace library {

struct Call {
  const __half *q, *k, *v;
  __half *o;
  float *parts;      /* [rows][splits][D + 2]: the output, then maximum and sum of the weights */
  unsigned *arrived; /* [rows] */
  attn_problem shape;
  uint32_t splits;
};

__device__ __forceinline__ float sum_over_warp(float x) {
#pragma unroll
  for (unsigned lanes = kWarp / 2; lanes > 0; lanes /= 2) x += __shfl_xor_sync(0xffffffffu, x, lanes);
  return x;
}

/* One split of one row: its weighted sum of V, and what the sum is relative to. */
__device__ void write_part(const Call &c, uint32_t row, uint32_t split, float *part) {
  const attn_problem &s = c.shape;
  const uint32_t head = row / s.Sq, keys = attn_keys_of_row(&s, row % s.Sq).end;
  const uint32_t kv_head = head / s.Hq * s.Hkv + head % s.Hq / (s.Hq / s.Hkv);
  const uint32_t first = (uint64_t)keys * split / c.splits, last = (uint64_t)keys * (split + 1) / c.splits;
  const float scale_log2 = 1.4426950408889634f * rsqrtf((float)s.D);
  float q[kLaneElements], o[kLaneElements] = {}, top = -INFINITY, sum = 0.0f;
#pragma unroll
  for (uint32_t i = 0; i < kLaneElements; ++i) {
    const uint32_t d = threadIdx.x + kWarp * i;
    q[i] = d < s.D ? __half2float(c.q[(size_t)row * s.D + d]) : 0.0f;
  }
  for (uint32_t key = first; key < last; ++key) {
    const size_t at = ((size_t)kv_head * s.Skv + key) * s.D;
    float dot = 0.0f;
#pragma unroll
    for (uint32_t i = 0; i < kLaneElements; ++i) {
      const uint32_t d = threadIdx.x + kWarp * i;
      if (d < s.D) dot += q[i] * __half2float(c.k[at + d]);
    }
    const float score = sum_over_warp(dot) * scale_log2, new_top = fmaxf(top, score);
    const float keep = exp2f(top - new_top), weight = exp2f(score - new_top);
    top = new_top;
    sum = sum * keep + weight;
#pragma unroll
    for (uint32_t i = 0; i < kLaneElements; ++i) {
      const uint32_t d = threadIdx.x + kWarp * i;
      if (d < s.D) o[i] = o[i] * keep + weight * __half2float(c.v[at + d]);
    }
  }
#pragma unroll
  for (uint32_t i = 0; i < kLaneElements; ++i) {
    const uint32_t d = threadIdx.x + kWarp * i;
    if (d < s.D) __stcg(part + d, o[i]);
  }
  if (threadIdx.x == 0) __stcg(part + s.D, top), __stcg(part + s.D + 1, sum);
}

/* Each part counts by its share of all weights. Splits without a key have a sum of 0 and a maximum of -inf. */
__device__ void combine(const Call &c, uint32_t row, const float *parts) {
  const uint32_t D = c.shape.D, stride = D + 2;
  float top = -INFINITY, sum = 0.0f;
  for (uint32_t i = 0; i < c.splits; ++i) top = fmaxf(top, __ldcg(parts + i * stride + D));
  const float base = top == -INFINITY ? 0.0f : top;
  for (uint32_t i = 0; i < c.splits; ++i)
    sum += __ldcg(parts + i * stride + D + 1) * exp2f(__ldcg(parts + i * stride + D) - base);
  const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f; /* a row that attends no key has an output of zeros */
  for (uint32_t d = threadIdx.x; d < D; d += kWarp) {
    float o = 0.0f;
    for (uint32_t i = 0; i < c.splits; ++i)
      o += __ldcg(parts + i * stride + d) * exp2f(__ldcg(parts + i * stride + D) - base);
    c.o[(size_t)row * D + d] = __float2half_rn(o * inverse);
  }
}

__global__ void __launch_bounds__(kWarp) split_kernel(Call c) {
  const uint32_t row = blockIdx.x, split = blockIdx.y, stride = c.shape.D + 2;
  float *parts = c.parts + (size_t)row * c.splits * stride;
  write_part(c, row, split, parts + (size_t)split * stride);
  __threadfence();
  __syncwarp();
  unsigned before = 0;
  if (threadIdx.x == 0) before = atomicAdd(c.arrived + row, 1u);
  if (__shfl_sync(0xffffffffu, before, 0) != c.splits - 1) return;
  __threadfence();
  combine(c, row, parts);
}

static size_t rows_of(const attn_problem &s) { return (size_t)s.B * s.Hq * s.Sq; }
static size_t workspace_bytes(const Call &c) {
  return rows_of(c.shape) * (sizeof(unsigned) + sizeof(float) * c.splits * (c.shape.D + 2));
}

static cudaError_t run(const Call &c, cudaStream_t stream) {
  const unsigned rows = (unsigned)rows_of(c.shape);
  const cudaError_t error = cudaMemsetAsync(c.arrived, 0, rows * sizeof *c.arrived, stream);
  if (error != cudaSuccess) return error;
  split_kernel<<<dim3(rows, c.splits), kWarp, 0, stream>>>(c);
  return cudaGetLastError();
}

}  // namespace library

/* ---- what attnbench calls ------------------------------------------------------------------------------------- */

struct State {
  library::Call call;
  cudaStream_t stream;
};

static const char *missing() { return nullptr; }
static const char *name_and_version() { return "split example 1.0"; }

/* Chooses, and says how much memory attach() must find. Nothing here is timed. */
static struct status open(const attn_problem *shape, const attn_tuning *tuning, const device_info *device,
                          void *stream, void **state, uint64_t *workspace_bytes) {
  State *s = new (std::nothrow) State{};
  if (s == nullptr) return status_make(STATUS_MEMORY, "no host memory for a call");
  const uint64_t rows = library::rows_of(*shape), warps = 16ull * device->sms;
  const uint64_t wanted = tuning->value[0] > 0 ? (uint64_t)tuning->value[0] : (warps + rows - 1) / rows;
  s->call.shape = *shape;
  s->call.splits = (uint32_t)(wanted < kMaxSplits ? wanted : kMaxSplits);
  s->stream = static_cast<cudaStream_t>(stream);
  *workspace_bytes = library::workspace_bytes(s->call);
  *state = s;
  return status_ok();
}

/* Once, before the first enqueue(). */
static struct status attach(void *state, const attn_buffers *buffers) {
  library::Call &c = static_cast<State *>(state)->call;
  c.q = static_cast<const __half *>(buffers->q);
  c.k = static_cast<const __half *>(buffers->k);
  c.v = static_cast<const __half *>(buffers->v);
  c.o = static_cast<__half *>(buffers->o);
  c.arrived = static_cast<unsigned *>(buffers->workspace);
  c.parts = reinterpret_cast<float *>(c.arrived + library::rows_of(c.shape));
  return status_ok();
}

/* One launch: asynchronous, on this stream alone, as it can be captured into a CUDA graph. */
static struct status enqueue(void *state) {
  const State *s = static_cast<const State *>(state);
  const cudaError_t error = library::run(s->call, s->stream);
  return error == cudaSuccess ? status_ok()
                              : status_make(STATUS_DEVICE, "split_kernel: %s", cudaGetErrorString(error));
}

static void close(void *state) { delete static_cast<State *>(state); }

#else /* without nvcc there is no library; that much is still known */
static const char *missing() { return "this object was built without nvcc"; }
static const char *name_and_version() { return "split example 1.0"; }
static struct status open(const attn_problem *, const attn_tuning *, const device_info *, void *, void **,
                          uint64_t *) {
  return status_make(STATUS_UNSUPPORTED, "%s", missing());
}
static struct status attach(void *, const attn_buffers *) { return status_ok(); }
static struct status enqueue(void *) { return status_ok(); }
static void close(void *) {}
#endif

static const attn_vendor calls = {missing, name_and_version, open, attach, enqueue, close, nullptr};

static const attn_tunable tunables[] = {
    {.name = "splits",
     .max = kMaxSplits,
     .help = "blocks that share the keys of a query row; 0: as many as fill the GPU"},
    {.name = nullptr},
};

static const char *supports(const attn_problem *shape, const attn_tuning *, const device_info *device) {
  if (device->cc_major < 8) return "the compute capability must be at least 8.0";
  if ((uint64_t)shape->B * shape->Hq * shape->Sq > INT32_MAX)
    return "B * Hq * Sq must be below 2^31, the limit of grid.x";
  return nullptr;
}

/* What the library launches is its own affair: no passes. */
static void plan(const attn_problem *, const attn_tuning *, const device_info *, attn_plan *) {}

static const attn_variant variant = {
    .name = "example_library",
    .summary = "example of a library that launches its own kernels: keys split, the last block combines",
    .limits = "compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_FP32,
    .dtypes = ATTN_DTYPE_BIT(ATTN_F16),
    .dims = {.most = kWarp * kLaneElements, .why = "32 lanes hold 8 elements of a row each"},
    .tunables = tunables,
    .supports = supports,
    .plan = plan,
    .bind = nullptr,
    .run = nullptr,
    .vendor = &calls,
    .picks = nullptr,
};

static const attn_variant *const variants[] = {&variant};

}  // namespace host_launched

ATTN_PLUGIN(host_launched::variants, NULL);
