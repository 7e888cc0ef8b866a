/* Included before a kernel's source (-include), which a C++ compiler then takes as CUDA for the emulated GPU. The
 * toolkit's headers give the types; what the compiler would give, its keywords, indices and intrinsics, is here. */
#ifndef ATTNBENCH_TESTS_EMULATED_CUDA_CUH
#define ATTNBENCH_TESTS_EMULATED_CUDA_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <math.h>

#include <algorithm>
#include <utility>

#include "tests/emulated/emulator.cuh"

#define __CUDACC__ 1
#undef __launch_bounds__
#undef __grid_constant__
#undef __shared__
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ thread_local /* a thread of the host runs one cluster at a time */

#define threadIdx (::emulated::thread_index())
#define blockIdx  (::emulated::block_index())
#define gridDim   (::emulated::grid_size())
#define blockDim  (::emulated::block_size())

namespace attn {
using std::max;
using std::min;
extern thread_local unsigned char smem_base[];
}  // namespace attn

static inline float __int_as_float(int bits) { return emulated::from_bits<float>((uint32_t)bits); }
static inline float __uint_as_float(uint32_t bits) { return emulated::from_bits<float>(bits); }
static inline uint32_t __float_as_uint(float x) { return (uint32_t)emulated::as_bits(x); }
template <typename T>
static inline T __ldg(const T *from) {
  return *from;
}
template <typename T>
static inline T __ldcg(const T *from) {
  return *from;
}
static inline int __float_as_int(float x) { return (int)(uint32_t)emulated::as_bits(x); }

/* Byte i of the result is the one of b:a that digit i of the selector names. */
static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = (uint64_t)b << 32 | a;
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < 4; ++i) bytes |= (uint32_t)(both >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return bytes;
}

template <typename T>
static inline T __shfl_xor_sync(unsigned, T x, int mask) {
  return emulated::from_bits<T>(emulated::gather(emulated::as_bits(x))[emulated::lane() ^ (uint32_t)mask]);
}
template <typename T>
static inline T __shfl_sync(unsigned, T x, int from) {
  return emulated::from_bits<T>(emulated::gather(emulated::as_bits(x))[(uint32_t)from % 32]);
}
template <typename T>
static inline T __shfl_up_sync(unsigned, T x, uint32_t by) {
  const uint32_t lane = emulated::lane();
  return emulated::from_bits<T>(emulated::gather(emulated::as_bits(x))[lane >= by ? lane - by : lane]);
}
template <typename T>
static inline T atomicAdd(T *sum, T x) {
  const T before = *sum;
  *sum += x;
  return before;
}
template <typename T>
static inline T atomicExch(T *place, T x) {
  return std::exchange(*place, x);
}
static inline bool __any_sync(unsigned, bool x) {
  const uint64_t *all = emulated::gather(x);
  return std::any_of(all, all + 32, [](uint64_t one) { return one != 0; });
}
static inline void __syncwarp() { emulated::gather(0); }
static inline void __syncthreads() { emulated::named_barrier(0, emulated::block_size().x, true); }

#endif
