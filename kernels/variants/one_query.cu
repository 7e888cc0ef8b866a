/* one_query: one query row per block, for any head dimension.
 *
 * Idea: a block of 256 threads takes one query. Its warps share the keys: lanes walk along D and add up by
 *   shuffles. The scores of all keys lie in shared memory; after the softmax, thread t owns columns t, t +
 *   256, ... of the output and walks over the keys.
 *
 * Source: the plain way to write attention for D = 512 to 8192, where a row fits neither the registers of a
 *   thread nor a tile. Kept as an example of a mistake: every query reads all of K and V again, and the grid has B *
 *   Hq * Sq blocks whatever D is. The same problem with D on the grid and shared K and V is `d_split`.
 *
 * Can win: at Sq = 1 and few keys, where there is nothing to share between queries; and it takes any D.
 *
 * Cannot: reuse K or V, except by luck in L1: 2 FLOP per 4 bytes that pass through L2, so that L2's 8.9 TB/s
 *   on an H200 stand for 4.5 TFLOP/s. Nor fill the GPU for a few queries: 4 heads of 16 are 64 blocks.
 *
 * Floors, H200, hot, fp32, B = 1, H = 4, Sq = Skv = 64: 256 blocks read 2 * 64 * D * 4 bytes each: 67 MB at D
 *   = 512, 1.07 GB at 8192; at 8.9 TB/s 7.5, 30, 60 and 121 us for D = 512, 2048, 4096 and 8192. With 16 warps
 *   per SM and about 4 loads of 128 bytes in flight each, 5 TB/s are likely: 15, 55, 105 and 210 us. Half of
 *   that in f16.
 *
 * Budget: (Skv + 32) * 4 bytes of shared memory: the scores, and a slot per warp for block-wide sums. At
 *   most 40 registers: 4 products in flight, addresses. 8 blocks per SM. */
#include "kernels/tiles/attn_params.cuh"

#ifdef __CUDACC__
#include "kernels/tiles/attn_device.cuh"
#include "kernels/tiles/ptx.cuh"
#endif

namespace attn {

constexpr uint32_t kOneQueryThreads = 256;
constexpr uint32_t kOneQueryWarps = kOneQueryThreads / 32;
constexpr uint32_t kOneQuerySlots = 32;

constexpr uint64_t one_query_smem_bytes(uint32_t Skv) { return ((uint64_t)Skv + kOneQuerySlots) * 4; }

#ifdef __CUDACC__

__device__ __forceinline__ float one_query_float(float x) { return x; }
__device__ __forceinline__ float one_query_float(__half x) { return __half2float(x); }
__device__ __forceinline__ float one_query_float(__nv_bfloat16 x) { return __bfloat162float(x); }

/* The dot product of two rows, in every lane of the warp. */
template <typename T>
__device__ __forceinline__ float one_query_dot(const T *x, const T *y, uint32_t D) {
  float sum = 0.0f;
#pragma unroll 4
  for (uint32_t d = threadIdx.x % kWarp; d < D; d += kWarp)
    sum = fmaf(one_query_float(x[d]), one_query_float(y[d]), sum);
  return warp_sum(sum);
}

/* grid (B * Hq * Sq) */
template <typename T>
__global__ void __launch_bounds__(kOneQueryThreads) one_query_kernel(const __grid_constant__ Params p) {
  extern __shared__ __align__(128) unsigned char smem[];
  float *scores = reinterpret_cast<float *>(smem), *slots = scores + p.Skv;
  const uint32_t row = blockIdx.x % p.Sq, h = blockIdx.x / p.Sq % p.Hq, b = blockIdx.x / p.Sq / p.Hq;
  const uint32_t warp = threadIdx.x / kWarp, keys = visible_keys(p, row);
  const size_t q_offset = row_offset(b, p.Hq, h, p.Sq, row, p.D);
  const size_t kv_offset = row_offset(b, p.Hkv, kv_head(p, h), p.Skv, 0, p.D);
  const T *q = static_cast<const T *>(p.q) + q_offset, *k = static_cast<const T *>(p.k) + kv_offset;
  const T *v = static_cast<const T *>(p.v) + kv_offset;

  float max = minus_infinity();
  for (uint32_t key = warp; key < keys; key += kOneQueryWarps) {
    const float score = one_query_dot(q, k + (size_t)key * p.D, p.D);
    max = fmaxf(max, score);
    if (threadIdx.x % kWarp == 0) scores[key] = score;
  }
  if (threadIdx.x % kWarp == 0) slots[warp] = max;
  __syncthreads(); /* orders the scores and maxima of all warps before they are read */
  max = warp_max(slots[threadIdx.x % kOneQueryWarps]);
  __syncthreads(); /* orders the reads of the maxima before the sums take their place */

  float sum = 0.0f;
  for (uint32_t key = threadIdx.x; key < keys; key += kOneQueryThreads) {
    const float weight = ptx::ex2((scores[key] - max) * p.scale_log2);
    scores[key] = weight;
    sum += weight;
  }
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) slots[warp] = sum;
  __syncthreads(); /* orders the weights and sums of all warps before they are read */
  sum = 0.0f;
#pragma unroll
  for (uint32_t i = 0; i < kOneQueryWarps; ++i) sum += slots[i];
  const float factor = sum > 0.0f ? 1.0f / sum : 0.0f;

  T *o = static_cast<T *>(p.o) + q_offset;
  for (uint32_t d = threadIdx.x; d < p.D; d += kOneQueryThreads) {
    float out = 0.0f;
#pragma unroll 4
    for (uint32_t key = 0; key < keys; ++key) out = fmaf(scores[key], one_query_float(v[(size_t)key * p.D + d]), out);
    o[d] = from_float<T>(out * factor);
  }
}

static const void *one_query_kernel_for(const attn_problem &shape) {
  return for_type<__half, __nv_bfloat16, float>(
      shape.dtype, [](auto t) { return handle(one_query_kernel<typename decltype(t)::type>); });
}

static struct status one_query_bind(const attn_problem *shape, const attn_plan *, const attn_buffers *buffers,
                                    attn_pass_args args[ATTN_PASSES_MAX]) {
  put_args(args[0], params_of(*shape, *buffers));
  return status_ok();
}

#else
static const void *one_query_kernel_for(const attn_problem &) { return nullptr; }
constexpr decltype(attn_variant::bind) one_query_bind = nullptr;
#endif

static const char *one_query_supports(const attn_problem *shape, const attn_tuning *, const device_info *device) {
  if ((uint64_t)shape->B * shape->Hq * shape->Sq > INT32_MAX)
    return "B * Hq * Sq must be below 2^31, the limit of grid.x";
  if (const char *kind = check_device(*device, 0)) return kind;
  if (one_query_smem_bytes(shape->Skv) > device->smem_per_block_bytes)
    return "Skv is too large: the shared memory of one block (smem_per_block_bytes) holds a score per key";
  return nullptr;
}

static void one_query_plan(const attn_problem *shape, const attn_tuning *, const device_info *, attn_plan *plan) {
  plan->pass_count = 1;
  plan->tile_q = 1, plan->tile_kv = kOneQueryWarps;
  plan->splits = 1, plan->stages = 1;
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = one_query_kernel_for(*shape);
  set_grid(pass, shape->B * shape->Hq * shape->Sq, ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q, 1,
           ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING);
  set_block(pass, kOneQueryThreads, kOneQueryThreads, (uint32_t)one_query_smem_bytes(shape->Skv));
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_one_query = {
    .name = "one_query",
    .summary = "example of a mistake: one block per query row, so K and V are read again for every query",
    .limits = "any D; Skv up to the shared memory of one block / 4; compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_FP32,
    .dtypes = ATTN_DTYPES_FLOAT,
    .tunables = nullptr,
    .supports = attn::one_query_supports,
    .plan = attn::one_query_plan,
    .bind = attn::one_query_bind,
    .run = nullptr,
};
