/* Tensor maps for the copy engine of compute capability 9.0 and up, made on the host, once per binding. A kernel
 * takes one inside its argument, `const __grid_constant__`, at a multiple of 64 bytes. */
#ifndef ATTNBENCH_KERNELS_TENSOR_MAP_CUH
#define ATTNBENCH_KERNELS_TENSOR_MAP_CUH

#ifdef __CUDACC__
#include <cuda.h>
#include <cuda_runtime.h>

#include "kernels/variant.h"

namespace attn {

inline CUtensorMapDataType tensor_map_type(enum attn_dtype dtype) {
  static_assert(ATTN_DTYPE_COUNT == 4, "a new type needs a case below: nvcc does not warn of one that is missing");
  switch (dtype) {
    case ATTN_F16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case ATTN_BF16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case ATTN_E4M3: return CU_TENSOR_MAP_DATA_TYPE_UINT8; /* what a copy needs to know of it */
    case ATTN_F32: break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

/* The driver's function, looked up at run time: nothing links with the driver's library. NULL: it has none. */
inline decltype(&cuTensorMapEncodeTiled) tensor_map_encoder() {
  void *found = nullptr;
  cudaDriverEntryPointQueryResult answer = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &answer);
#else
  const cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &answer);
#endif
  if (error == cudaSuccess && answer == cudaDriverEntryPointSuccess)
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  cudaGetLastError();
  return nullptr;
}

/* The tensor of a view, [batch][heads][tokens][columns] of 16-bit elements, read in boxes of `box_rows` tokens (256
 * at most) by 64 columns of `box_heads` heads, with the 128-byte swizzle. Columns and strides are multiples of 8.
 * What a box holds outside of the tensor reads as zeros and is not written. `promotion`: what L2 fetches of memory
 * when the copy engine asks for less; 256 bytes cost 7 % where K and V are read once (decode). */
inline struct status tensor_map_make(CUtensorMap *map, const void *tensor, enum attn_dtype dtype,
                                     const attn_view &view, uint32_t box_rows, uint32_t box_heads = 1,
                                     CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B) {
  const auto encode = tensor_map_encoder();
  if (encode == nullptr)
    return status_make(STATUS_UNSUPPORTED, "the driver has no cuTensorMapEncodeTiled: it is older than CUDA 12.0");
  const cuuint64_t extent[4] = {view.columns, view.tokens, view.heads, view.batch};
  const cuuint64_t stride[3] = {2 * view.token_stride, 2 * view.head_stride, 2 * view.batch_stride};
  const cuuint32_t box[4] = {64, box_rows, box_heads, 1}, step[4] = {1, 1, 1, 1};
  const CUresult result =
      encode(map, tensor_map_type(dtype), 4, const_cast<void *>(tensor), extent, stride, box, step,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return status_ok();
  return status_make(STATUS_DEVICE, "cuTensorMapEncodeTiled: error %d for [%u][%u][%u][%u] in boxes of %u rows",
                     (int)result, view.batch, view.heads, view.tokens, view.columns, box_rows);
}

/* The same of a dense tensor [matrices][rows][columns], which counts its heads through the batch. */
inline struct status tensor_map_make(CUtensorMap *map, const void *tensor, enum attn_dtype dtype, uint64_t matrices,
                                     uint32_t rows, uint32_t columns, uint32_t box_rows,
                                     CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B) {
  const auto encode = tensor_map_encoder();
  if (encode == nullptr)
    return status_make(STATUS_UNSUPPORTED, "the driver has no cuTensorMapEncodeTiled: it is older than CUDA 12.0");
  const cuuint64_t extent[3] = {columns, rows, matrices};
  const cuuint64_t stride[2] = {2ull * columns, 2ull * columns * rows};
  const cuuint32_t box[3] = {64, box_rows, 1}, step[3] = {1, 1, 1};
  const CUresult result =
      encode(map, tensor_map_type(dtype), 3, const_cast<void *>(tensor), extent, stride, box, step,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return status_ok();
  return status_make(STATUS_DEVICE, "cuTensorMapEncodeTiled: error %d for [%llu][%u][%u] in boxes of %u rows",
                     (int)result, (unsigned long long)matrices, rows, columns, box_rows);
}

}  // namespace attn
#endif

#endif
