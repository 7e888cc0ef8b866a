/* kernels/tiles/tensor_map.cuh for the emulated GPU. */
#ifndef ATTNBENCH_TESTS_EMULATED_TENSOR_MAP_CUH
#define ATTNBENCH_TESTS_EMULATED_TENSOR_MAP_CUH

#include "kernels/variant.h"
#include "tests/emulated/cuda.cuh"

#define CUtensorMap ::emulated::TensorMap
enum CUtensorMapL2promotion { CU_TENSOR_MAP_L2_PROMOTION_L2_128B };

namespace attn {

inline struct status tensor_map_make(CUtensorMap *map, const void *tensor, enum attn_dtype, uint64_t matrices,
                                     uint32_t rows, uint32_t columns, uint32_t box_rows,
                                     CUtensorMapL2promotion = {}) {
  *map = {static_cast<unsigned char *>(const_cast<void *>(tensor)),
          3,
          {columns, rows, matrices},
          {2, 2ull * columns, 2ull * columns * rows},
          {64, box_rows, 1}};
  return status_ok();
}

inline struct status tensor_map_make(CUtensorMap *map, const void *tensor, enum attn_dtype, const attn_view &view,
                                     uint32_t box_rows, uint32_t box_heads = 1) {
  *map = {static_cast<unsigned char *>(const_cast<void *>(tensor)),
          4,
          {view.columns, view.tokens, view.heads, view.batch},
          {2, 2 * view.token_stride, 2 * view.head_stride, 2 * view.batch_stride},
          {64, box_rows, box_heads, 1}};
  return status_ok();
}

}  // namespace attn

#endif
