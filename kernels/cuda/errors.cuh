/* CUDA calls as statuses: one checker that keeps the call, its place and the error's name and text. */
#ifndef ATTNBENCH_KERNELS_CUDA_ERRORS_CUH
#define ATTNBENCH_KERNELS_CUDA_ERRORS_CUH

#include <cuda_runtime.h>

#include "kernels/status.h"

namespace attn {

/* Also clears the runtime's "last error", so that it is not reported a second time by an innocent call. */
struct status cuda_status(cudaError_t error, const char *call, const char *file, int line);

}  // namespace attn

/* Returns from the enclosing function (of type struct status) when the call fails. */
#define CUDA_TRY(call)                                                     \
  do {                                                                     \
    const cudaError_t cuda_try_error = (call);                             \
    if (cuda_try_error != cudaSuccess) {                                   \
      return attn::cuda_status(cuda_try_error, #call, __FILE__, __LINE__); \
    }                                                                      \
  } while (0)

#endif
