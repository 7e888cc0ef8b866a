/* What `split_kv` and `split_kv_atomic` share: the keys of a q tile divided over blocks, each of which runs the
 * tensor-core tile of wmma_tile.cuh over its part. The two differ in how the parts of a row come together again. */
#ifndef ATTNBENCH_KERNELS_TILES_SPLIT_TILE_CUH
#define ATTNBENCH_KERNELS_TILES_SPLIT_TILE_CUH

#include "kernels/occupancy.h"
#include "kernels/tiles/wmma_tile.cuh"

namespace attn::split_tile {

constexpr uint32_t kThreads = wmma_tile::kComputeThreads;
constexpr uint32_t kSplitsMax = 64;

/* Of one row and the keys taken in so far. */
struct RowStats {
  float max; /* -inf: the row attends none of those keys, and the output beside it may be garbage */
  float sum;
};

inline uint64_t query_rows(const attn_problem &shape) { return (uint64_t)shape.B * shape.Hq * shape.Sq; }

/* ---- tunables and plan --------------------------------------------------------------------------------------- */

enum { TUNE_SPLITS }; /* index into the tuning */

inline const attn_tunable tunables[] = {
    {.name = "splits",
     .max = (int32_t)kSplitsMax,
     .help = "blocks that share the keys of a q tile; 0 = chosen to fill one wave"},
    {.name = nullptr},
};

inline const char *supports(const attn_problem *shape, const attn_tuning *tuning, const device_info *device) {
  const int32_t splits = tuning->value[TUNE_SPLITS];
  if (splits < 0 || splits > (int32_t)kSplitsMax) return "splits must be 0 to 64";
  if ((uint64_t)ceil_div(shape->Sq, wmma_tile::kRows) * kSplitsMax > INT32_MAX)
    return "Sq must be at most 2^31, so that q tiles * splits fits grid.x";
  return wmma_tile::check(*shape, *device, wmma_tile::smem_bytes(shape->D, 1));
}

/* Key tiles that q tile `tile` attends. */
inline uint32_t tiles_of(const attn_problem &shape, uint32_t tile) {
  const uint64_t last = (uint64_t)tile * wmma_tile::kRows + wmma_tile::kRows - 1;
  const uint32_t row = last < shape.Sq ? (uint32_t)last : shape.Sq - 1;
  return ceil_div(attn_keys_of_row(&shape, row).end, wmma_tile::kKeys);
}

/* Blocks that have keys to work on: under a causal mask the upper q tiles have fewer key tiles than splits. Stops
 * counting above `limit`. */
inline uint64_t busy_blocks(const attn_problem &shape, uint32_t splits, uint64_t limit) {
  const uint64_t heads = (uint64_t)shape.B * shape.Hq;
  const uint32_t q_tiles = ceil_div(shape.Sq, wmma_tile::kRows);
  uint64_t blocks = 0;
  for (uint32_t tile = 0; tile < q_tiles && blocks <= limit; ++tile) {
    const uint32_t tiles = tiles_of(shape, tile);
    blocks += heads * (tiles < splits ? tiles : splits);
  }
  return blocks;
}

/* As many splits as one wave holds; then the fewest that leave the longest block just as short, since every split
 * adds partial results to write and read. */
inline uint32_t auto_splits(const attn_problem &shape, const device_info &device, uint32_t splits_max) {
  const uint32_t resident = occupancy_of(&device, kThreads, 0, wmma_tile::smem_bytes(shape.D, 1)).resident_blocks;
  const uint64_t wave = (uint64_t)device.sms * (resident ? resident : 1);
  uint32_t splits = 1;
  while (splits < splits_max && busy_blocks(shape, splits + 1, wave) <= wave) ++splits;
  const uint32_t tiles = ceil_div(shape.Skv, wmma_tile::kKeys);
  return ceil_div(tiles, ceil_div(tiles, splits));
}

/* Never more splits than key tiles. */
inline uint32_t resolve_splits(const attn_problem &shape, const attn_tuning &tuning, const device_info &device) {
  const uint32_t tiles = ceil_div(shape.Skv, wmma_tile::kKeys), asked = (uint32_t)tuning.value[TUNE_SPLITS];
  const uint32_t most = tiles < kSplitsMax ? tiles : kSplitsMax;
  if (asked == 0) return auto_splits(shape, device, most);
  return asked < most ? asked : most;
}

/* The pass that computes the parts: grid (q tiles * splits, Hq, B), the split running fastest. */
inline void plan_pass(const attn_problem &shape, uint32_t splits, const void *kernel, attn_pass &pass) {
  pass.name = "split";
  pass.kernel = kernel;
  set_grid(pass, ceil_div(shape.Sq, wmma_tile::kRows) * splits, ATTN_COVERS_Q | ATTN_COVERS_SPLIT, shape.Hq,
           ATTN_COVERS_H, shape.B, ATTN_COVERS_B);
  set_block(pass, kThreads, kThreads, wmma_tile::smem_bytes(shape.D, 1));
}

}  // namespace attn::split_tile

#ifdef __CUDACC__

namespace attn::split_tile {

/* What the calling warp works on: up to 16 rows of a q tile, and the block's range of its key tiles. */
struct Part {
  uint32_t b, h, q_tile, split, warp;
  uint32_t row, rows;                   /* first row, and how many exist */
  uint32_t tiles, first_tile, end_tile; /* key tiles of the q tile; the block's range of them */
};

__device__ __forceinline__ Part part_of(const Params &p, uint32_t splits) {
  using namespace wmma_tile;
  Part part;
  part.b = blockIdx.z, part.h = blockIdx.y;
  part.split = blockIdx.x % splits, part.q_tile = blockIdx.x / splits;
  part.warp = threadIdx.x / kWarp;
  const uint32_t block_row = part.q_tile * kRows, block_rows = rows_in_tile(p.Sq, block_row, kRows);
  part.row = block_row + part.warp * kFragment;
  part.rows = rows_in_tile(p.Sq, part.row, kFragment);
  /* Each q tile divides its own key tiles, so that under a causal mask all its splits get work alike. */
  part.tiles = ceil_div(visible_keys(p, block_row + block_rows - 1), kKeys);
  part.first_tile = (uint32_t)((uint64_t)part.tiles * part.split / splits);
  part.end_tile = (uint32_t)((uint64_t)part.tiles * (part.split + 1) / splits);
  return part;
}

/* Opens the warp's strip and takes in the part's keys. */
template <typename T, uint32_t D>
__device__ __forceinline__ void attend_part(wmma_tile::Strip<T, D> &strip, const wmma_tile::Smem<T, D> &smem,
                                            const Params &p, const Part &part) {
  using namespace wmma_tile;
  /* An empty strip's address stays inside the tensor, though nothing is read or written through it. */
  const size_t q_offset = row_offset(part.b, p.Hq, part.h, p.Sq, part.rows ? part.row : part.q_tile * kRows, D);
  const size_t kv_offset = row_offset(part.b, p.Hkv, kv_head(p, part.h), p.Skv, 0, D);
  const T *k = static_cast<const T *>(p.k) + kv_offset, *v = static_cast<const T *>(p.v) + kv_offset;

  strip.open(smem, 1, part.warp, static_cast<const T *>(p.q) + q_offset, part.rows);
  const uint32_t row_keys = strip.row() < part.rows ? visible_keys(p, part.row + strip.row()) : 0;
  for (uint32_t tile = part.first_tile; tile < part.end_tile; ++tile) {
    const uint32_t first = tile * kKeys, keys = rows_in_tile(p.Skv, first, kKeys);
    const size_t offset = (size_t)first * D;
    __syncthreads(); /* orders all warps' reads of the previous K and V before they are overwritten */
    load_rows<T, D>(smem.k(0), kv_stride(D), k + offset, kKeys, keys, threadIdx.x, kThreads);
    load_rows<T, D>(smem.v(0), kv_stride(D), v + offset, kKeys, keys, threadIdx.x, kThreads);
    __syncthreads(); /* orders the stores of K and V before all warps' fragment loads */
    strip.attend(smem.k(0), smem.v(0), rows_in_tile(row_keys, first, kKeys), p.scale_log2);
  }
}

}  // namespace attn::split_tile
#endif

#endif
