/* K and V in pages, as the copy engine brings them: a tile of keys in boxes, each of which is a page or a part of
 * one. A warp fetches a tile, a lane a box of it. Behind a sequence's last key its last page may hold anything, NaN
 * too. In K the mask removes it; in V it is replaced by zeros, since a weight of 0 times NaN is NaN. */
#ifndef ATTNBENCH_KERNELS_PAGE_BOXES_CUH
#define ATTNBENCH_KERNELS_PAGE_BOXES_CUH

#include "kernels/tiles/attn_params.cuh"

#ifdef __CUDACC__
#include "kernels/tiles/ptx.cuh"
#endif

namespace attn {

constexpr uint32_t kLeastPage = 8; /* tokens: the swizzle of shared memory repeats after so many rows */

/* Why the copy engine brings no boxes of a problem's pages; nullptr: it does, or K and V are contiguous. */
inline const char *page_refusal(const attn_problem &shape) {
  if (attn_is_paged(&shape) && (shape.page < kLeastPage || (shape.page & (shape.page - 1)) != 0))
    return "page must be a power of two, 8 or more: boxes of a page fill a tile, and the swizzle of shared memory "
           "repeats every 8 rows";
  return nullptr;
}

/* A part of a kernel's argument. */
struct PageBoxes {
  uint32_t shift;   /* log2 of the tokens of a page */
  uint32_t rows;    /* keys of a box: as many as are asked for, or those of a page if they are fewer */
  uint32_t outside; /* pages of the cache. A page of this number lies outside of it, and reads as zeros */
};

inline PageBoxes page_boxes(const attn_problem &shape, uint32_t rows_most) {
  PageBoxes boxes = {0, rows_most, attn_view_of(&shape, ATTN_K).batch};
  while (shape.page >> boxes.shift > 1) ++boxes.shift;
  if (attn_is_paged(&shape) && shape.page < rows_most) boxes.rows = shape.page;
  return boxes;
}

#ifdef __CUDACC__

/* Where a box begins: in a page, or in a batch of contiguous keys. */
struct Box {
  uint32_t token, matrix;
};

/* Of K and V in pages: the box that begins at key number `key` of a sequence, whose pages `pages` lists in order.
 * From `Skv` on it reads as zeros. */
__device__ __forceinline__ Box box_at(const PageBoxes &boxes, const int32_t *pages, uint32_t key, uint32_t Skv) {
  if (key >= Skv) return {0, boxes.outside};
  const uint32_t page = key >> boxes.shift;
  return {key - (page << boxes.shift), (uint32_t)__ldg(pages + page)};
}

/* Writes zeros over the keys [first, end) of the tile at the shared address `tile`. `threads` threads share the work,
 * of which the caller is number `thread`; they have to be synchronized before the tile is read. The tile has
 * `Columns` columns of 16 bits, in slabs of 64 columns, `SlabBytes` apart. */
template <uint32_t Columns, uint32_t SlabBytes>
__device__ __forceinline__ void clear_keys(uint32_t tile, uint32_t first, uint32_t end, uint32_t thread,
                                           uint32_t threads) {
  constexpr uint32_t kChunks = (Columns + 63) / 64 * 8; /* chunks of 16 bytes in a key */
#pragma unroll 1
  for (uint32_t i = thread; i < (end - first) * kChunks; i += threads)
    ptx::store_shared(tile + i % kChunks / 8 * SlabBytes + (first + i / kChunks) * 128 + i % 8 * 16,
                      make_uint4(0, 0, 0, 0));
}

#endif

}  // namespace attn

#endif
