/* Kernels that nobody calls, ATTN_UNUSED_KERNELS of them, before everything else of a source (`make builds`, which
 * includes this in OTHER_SOURCES). Programs that differ by these and by the order of their objects run the same
 * kernels at other addresses. */
#ifndef ATTNBENCH_TESTS_BUILDS_UNUSED_CUH
#define ATTNBENCH_TESTS_BUILDS_UNUSED_CUH

#include <cstddef>
#include <utility>

namespace {

template <std::size_t kLength>
__global__ void unused_kernel(float *x) {
  float sum = x[threadIdx.x];
#pragma unroll
  for (std::size_t i = 0; i < 32 * (kLength + 1); ++i) sum = sum * sum + static_cast<float>(i);
  x[threadIdx.x] = sum;
}

using UnusedKernel = void (*)(float *);

template <std::size_t... kLengths>
UnusedKernel choose_unused(std::size_t which, std::index_sequence<kLengths...>) {
  const UnusedKernel kernels[] = {unused_kernel<kLengths>...};
  return kernels[which];
}

[[maybe_unused]] UnusedKernel unused(std::size_t which) {
  return choose_unused(which, std::make_index_sequence<ATTN_UNUSED_KERNELS>{});
}

}  // namespace

#endif
