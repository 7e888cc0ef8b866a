/* What warps do with the fragments of mma.sync and wgmma, which have one layout: pairs become operands, and the four
 * lanes of a quad, which share a row, exchange what they have of it. */
#ifndef ATTNBENCH_KERNELS_TILES_FRAGMENT_CUH
#define ATTNBENCH_KERNELS_TILES_FRAGMENT_CUH

#include <stdint.h>
#include <string.h>

#include "kernels/tiles/attn_device.cuh"

namespace attn {

/* Two neighbours as one operand register. */
template <typename T>
__device__ __forceinline__ uint32_t pack(float lower, float upper);
template <>
__device__ __forceinline__ uint32_t pack<__half>(float lower, float upper) {
  const __half2 two = __floats2half2_rn(lower, upper);
  uint32_t bits;
  memcpy(&bits, &two, sizeof bits);
  return bits;
}
template <>
__device__ __forceinline__ uint32_t pack<__nv_bfloat16>(float lower, float upper) {
  const __nv_bfloat162 two = __floats2bfloat162_rn(lower, upper);
  uint32_t bits;
  memcpy(&bits, &two, sizeof bits);
  return bits;
}

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kFullWarp, x, 1));
  return fmaxf(x, __shfl_xor_sync(kFullWarp, x, 2));
}
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(kFullWarp, x, 1);
  return x + __shfl_xor_sync(kFullWarp, x, 2);
}

/* One exchange of a transposition: lanes that differ in `bit` swap the low lane's y for the high lane's x. */
__device__ __forceinline__ void quad_swap(uint32_t &x, uint32_t &y, uint32_t bit) {
  const bool high = threadIdx.x & bit;
  const uint32_t got = __shfl_xor_sync(kFullWarp, high ? x : y, bit);
  if (high)
    x = got;
  else
    y = got;
}
/* Lane t of a quad gives w[0..3] and receives the w[t] of lanes 0..3. */
__device__ __forceinline__ void quad_transpose(uint32_t (&w)[4]) {
  quad_swap(w[0], w[1], 1);
  quad_swap(w[2], w[3], 1);
  quad_swap(w[0], w[2], 2);
  quad_swap(w[1], w[3], 2);
}

}  // namespace attn

#endif
