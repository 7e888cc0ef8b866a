/* Device code that every attention kernel here uses: element types, masks, offsets of rows and heads. */
#ifndef ATTNBENCH_KERNELS_TILES_ATTN_DEVICE_CUH
#define ATTNBENCH_KERNELS_TILES_ATTN_DEVICE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <iterator>
#include <type_traits>
#include <utility>

#include "kernels/tiles/attn_params.cuh"
#include "kernels/tiles/ptx.cuh"

namespace attn {

constexpr uint32_t kWarp = 32;
constexpr unsigned kFullWarp = 0xffffffffu;

__device__ __forceinline__ float minus_infinity() { return __int_as_float((int)0xff800000u); }

/* ---- over the lanes of a warp --------------------------------------------------------------------------------- */

/* The same in every lane, with the same bits. */
__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (uint32_t mask = kWarp / 2; mask; mask /= 2) x += __shfl_xor_sync(kFullWarp, x, mask);
  return x;
}
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (uint32_t mask = kWarp / 2; mask; mask /= 2) x = fmaxf(x, __shfl_xor_sync(kFullWarp, x, mask));
  return x;
}

/* ---- element types ------------------------------------------------------------------------------------------- */

/* A C++ type and its enumerator. */
template <typename T, attn_dtype kDtype>
struct ElementType {
  using type = T;
  static constexpr attn_dtype dtype = kDtype;
};
template <typename T>
struct Type;
template <>
struct Type<float> : ElementType<float, ATTN_F32> {};
template <>
struct Type<__half> : ElementType<__half, ATTN_F16> {};
template <>
struct Type<__nv_bfloat16> : ElementType<__nv_bfloat16, ATTN_BF16> {};
template <>
struct Type<__nv_fp8_e4m3> : ElementType<__nv_fp8_e4m3, ATTN_E4M3> {};

/* What `of` gives for the C++ type of `dtype`, out of the types that kernels are compiled for; zero: it is none of
 * these. */
template <typename... Ts, typename Of>
inline auto for_type(enum attn_dtype dtype, Of of) {
  std::common_type_t<decltype(of(Type<Ts>{}))...> out = {};
  (void)((Type<Ts>::dtype == dtype && (out = of(Type<Ts>{}), true)) || ...);
  return out;
}

/* What `of` gives for the row with this index of a table of `Rows` rows. It gets the index as a constant, from which
 * a kernel can be instantiated; zero: there is no such row. */
template <size_t Rows, typename Of>
inline auto for_row(size_t row, Of of) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    std::common_type_t<decltype(of(std::integral_constant<size_t, I>{}))...> out = {};
    (void)((I == row && (out = of(std::integral_constant<size_t, I>{}), true)) || ...);
    return out;
  }
  (std::make_index_sequence<Rows>{});
}

template <typename T>
__device__ __forceinline__ T from_float(float x);
template <>
__device__ __forceinline__ float from_float<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ __half from_float<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__device__ __forceinline__ __nv_fp8_e4m3 from_float<__nv_fp8_e4m3>(float x) {
  return __nv_fp8_e4m3(x); /* saturates */
}

/* Four neighbours as floats; the address is a multiple of four elements. */
__device__ __forceinline__ float4 load4(const float *p) { return *reinterpret_cast<const float4 *>(p); }
__device__ __forceinline__ float4 load4(const __half *p) {
  const float2 lo = __half22float2(reinterpret_cast<const __half2 *>(p)[0]);
  const float2 hi = __half22float2(reinterpret_cast<const __half2 *>(p)[1]);
  return make_float4(lo.x, lo.y, hi.x, hi.y);
}
__device__ __forceinline__ float4 load4(const __nv_bfloat16 *p) {
  const float2 lo = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 *>(p)[0]);
  const float2 hi = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162 *>(p)[1]);
  return make_float4(lo.x, lo.y, hi.x, hi.y);
}

__device__ __forceinline__ float4 load4(const __nv_fp8_e4m3 *p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
  /* The GPU has no instruction for it, and what cuda_fp8.h has instead takes nvcc several times as long. */
  const uchar4 x = *reinterpret_cast<const uchar4 *>(p);
  return make_float4(input_from_e4m3(x.x), input_from_e4m3(x.y), input_from_e4m3(x.z), input_from_e4m3(x.w));
#else
  return static_cast<float4>(*reinterpret_cast<const __nv_fp8x4_e4m3 *>(p));
#endif
}

/* Eight floats rounded to a 16-bit type, stored as one 16-byte word. */
template <typename T>
__device__ __forceinline__ void store8(T *p, const float (&x)[8]) {
  static_assert(sizeof(T) == 2, "store8 writes eight 16-bit elements as one 16-byte word");
  union {
    uint4 word;
    unsigned short element[8];
  } packed;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const T rounded = from_float<T>(x[i]);
    memcpy(&packed.element[i], &rounded, sizeof rounded);
  }
  *reinterpret_cast<uint4 *>(p) = packed.word;
}

/* ---- softmax -------------------------------------------------------------------------------------------------- */

/* tanh where |x| <= 1/2, off by 6.4e-7 of it: a minimax fit of (tanh(x) / x - 1) / x^2 in x^2. */
__device__ __forceinline__ float tanh_small(float x) {
  const float u = x * x;
  return fmaf(x, u * fmaf(fmaf(-0.0447505890f, u, 0.1320535771f), u, -0.3332815917f), x);
}
/* tanh, off by 2.4e-7. */
__device__ __forceinline__ float tanh_any(float x) {
  return fmaf(-2.0f, ptx::rcp(1.0f + ptx::ex2(x * 2.885390082f)), 1.0f); /* 1 - 2 / (1 + e^(2 x)) */
}

/* The log-sum-exp of a row from the sum of its weights, which are 2^(score - reference). A row that attends no key
 * has a sum of 0, and so minus infinity. The logarithm is off by 2^-22, times itself where it is above 1. */
__device__ __forceinline__ float log_sum_exp(float reference, float sum) {
  return 0.693147180559945f * (reference + ptx::lg2(sum));
}

/* ---- shape arithmetic ---------------------------------------------------------------------------------------- */

/* Sequence b, whose offsets are read where the batch is ragged. */
__device__ __forceinline__ Sequence sequence_of(const Params &p, const Views &at, uint32_t b) {
  const int32_t *pages = at.page_table != nullptr ? at.page_table + (size_t)b * at.entries : nullptr;
  if (at.cu_seqlens_q == nullptr) return {b, p.Sq, p.Skv, 0, 0, pages};
  const uint32_t q_first = static_cast<uint32_t>(at.cu_seqlens_q[b]);
  const uint32_t k_first = static_cast<uint32_t>(at.cu_seqlens_k[b]);
  return {0,
          static_cast<uint32_t>(at.cu_seqlens_q[b + 1]) - q_first,
          static_cast<uint32_t>(at.cu_seqlens_k[b + 1]) - k_first,
          q_first,
          k_first,
          pages};
}

/* Keys that query `row` attends: keys [0, n). */
__device__ __forceinline__ uint32_t visible_keys(const Params &p, uint32_t row) {
  return keys_under_mask(p.causal, p.Sq, p.Skv, row);
}

/* How many of the `tile` rows (or keys) that start at `first` lie below `end`. */
__device__ __forceinline__ uint32_t rows_in_tile(uint32_t end, uint32_t first, uint32_t tile) {
  return end <= first ? 0u : min(end - first, tile);
}

/* First element of row `row` of head h of batch b, of a [B][heads][rows][D] tensor; B*H*S*D can be > 2^32. */
__device__ __forceinline__ size_t row_offset(uint32_t b, uint32_t heads, uint32_t h, uint32_t rows, uint32_t row,
                                             uint32_t D) {
  return (((size_t)b * heads + h) * rows + row) * D;
}

__device__ __forceinline__ uint32_t kv_head(const Params &p, uint32_t q_head) { return q_head / (p.Hq / p.Hkv); }

/* The sum of x over this thread of the block and those before it; `sums`, in shared memory, gets the sum of each
 * warp. All threads of whole warps call it. */
__device__ __forceinline__ uint32_t sum_until(uint32_t x, uint32_t *sums) {
  const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (uint32_t step = 1; step < kWarp; step *= 2) {
    const uint32_t before = __shfl_up_sync(kFullWarp, x, step);
    x += lane >= step ? before : 0;
  }
  if (lane == kWarp - 1) sums[warp] = x;
  __syncthreads(); /* orders the warps' sums before the reads */
  for (uint32_t w = 0; w < warp; ++w) x += sums[w];
  return x;
}

}  // namespace attn

#endif
