/* Put into every kernel of the slowed variants: whichever way a block leaves, each of its warps first spins. */
#ifndef ATTNBENCH_TESTS_SLOWED_GUARD_CUH
#define ATTNBENCH_TESTS_SLOWED_GUARD_CUH

#include "kernels/tiles/attn_params.cuh"

#ifdef __CUDACC__

namespace slowed {

__device__ __forceinline__ const attn::Params &attention_of(const attn::Params &p) { return p; }
template <typename P>
__device__ __forceinline__ const attn::Params &attention_of(const P &p) {
  return p.attention;
}

/* Keeps nothing but where the argument is, which is known when the kernel is compiled: the kernel has the registers
 * and the instructions that it always has, until it is done. */
template <typename P>
struct Guard {
  const P &argument;
  __device__ __forceinline__ explicit Guard(const P &p) : argument(p) {}
  __device__ __forceinline__ ~Guard() {
    const uint32_t cycles = attention_of(argument).slow_cycles;
    if (cycles == 0 || threadIdx.x % 32 != 0) return;
    const long long start = clock64();
    while (clock64() - start < static_cast<long long>(cycles)) continue;
  }
};

}  // namespace slowed

#endif
#endif
