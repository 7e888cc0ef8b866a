/* The PTX instructions that CUDA C++ has no plain spelling for. */
#ifndef ATTNBENCH_KERNELS_PTX_CUH
#define ATTNBENCH_KERNELS_PTX_CUH

#include <stddef.h>
#include <stdint.h>

namespace attn::ptx {

/* 2^x within 2 ulp, subnormals flushed; 2^-inf = 0. exp2f spends three more instructions on subnormals, which a
 * softmax weight that is rounded to 16 bits cannot show. */
__device__ __forceinline__ float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/* Starts an asynchronous copy of 16 bytes, global to shared, around L1. valid = false writes 16 zero bytes and reads
 * nothing, though `global` must still be a mapped address. */
__device__ __forceinline__ void cp_async_16(void *shared, const void *global, bool valid) {
  const uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
  const uint32_t bytes = valid ? 16u : 0u;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
}

/* Closes the calling thread's current group of copies. */
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/* Waits until at most `Pending` of the calling thread's groups are in flight. */
template <int Pending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace attn::ptx

#endif
