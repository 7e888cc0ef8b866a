/* split_kv: the keys are split over blocks, and a second pass merges the partial results.
 *
 * Idea: pass "split": each (q tile, split) is a block of the `wmma` kernel that sees a contiguous
 *   range of the key tiles and leaves its unnormalised fp32 output, row maximum and row sum in the
 *   workspace. Pass "combine": one warp per query row brings the splits to a common maximum and adds
 *   them.
 *
 * Source: FlashDecoding (Dao et al. 2023). Two passes without atomics: every sum has a fixed order, so
 *   results are the same bits in each run.
 *
 * Can win: when B * Hq * Sq / 64 blocks leave SMs idle: short queries, small batches, long keys. The
 *   time of a block falls with its share of the keys.
 *
 * Cannot: win once the grid of `wmma` fills the GPU: the work is the same, and the partial results
 *   (splits * (4 D + 8) bytes per row) and a second launch come on top.
 *
 * Budget: split: shared memory and registers as in `wmma` (61 KB at D = 64, 93 KB at D = 128).
 *   combine: no shared memory; D / 32 sums, 2 pairs (maximum, sum) and loads in flight: 32 to 40
 *   registers. */
#include "kernels/occupancy.h"
#include "kernels/wmma_tile.cuh"

namespace attn {

constexpr uint32_t kSplitThreads = wmma_tile::kComputeThreads;
constexpr uint32_t kSplitsMax = 64;
constexpr uint32_t kCombineWarps = 8;
static_assert(kSplitsMax <= 2 * 32, "a lane of the combining warp holds the maximum and sum of at most two splits");

/* Of one row and split. */
struct RowStats {
  float max; /* -inf: the row attends no key of this split, and its partial output may be garbage */
  float sum;
};

struct SplitParams {
  Params attention;
  float *partial;  /* [B][Hq][Sq][splits][D] */
  RowStats *stats; /* [B][Hq][Sq][splits] */
  uint32_t splits;
};

constexpr uint64_t partial_bytes(uint64_t rows, uint32_t splits, uint32_t D) {
  return rows * splits * D * sizeof(float);
}
constexpr uint64_t stats_bytes(uint64_t rows, uint32_t splits) { return rows * splits * sizeof(RowStats); }
inline uint64_t query_rows(const attn_shape &shape) { return (uint64_t)shape.B * shape.Hq * shape.Sq; }

struct SplitHandles {
  const void *split, *combine;
};

#ifdef __CUDACC__

/* grid (q tiles * splits, Hq, B), the split running fastest */
template <typename T, uint32_t D>
__global__ void __launch_bounds__(kSplitThreads) split_kernel(const __grid_constant__ SplitParams a) {
  using namespace wmma_tile;
  extern __shared__ __align__(128) unsigned char smem_base[];
  const Params &p = a.attention;
  const Smem<T, D> smem = {smem_base};
  const uint32_t h = blockIdx.y, b = blockIdx.z, warp = threadIdx.x / kWarp;
  const uint32_t split = blockIdx.x % a.splits, block_row = blockIdx.x / a.splits * kRows;
  const uint32_t strip_row = block_row + warp * kFragment;
  const uint32_t strip_rows = rows_in_tile(p.Sq, strip_row, kFragment);
  const uint32_t block_rows = rows_in_tile(p.Sq, block_row, kRows);
  /* Each q tile divides its own key tiles, so that under a causal mask all its splits get work alike. */
  const uint32_t tiles = ceil_div(visible_keys(p, block_row + block_rows - 1), kKeys);
  const uint32_t first_tile = (uint32_t)((uint64_t)tiles * split / a.splits);
  const uint32_t end_tile = (uint32_t)((uint64_t)tiles * (split + 1) / a.splits);
  /* An empty strip's address stays inside the tensor, though nothing is read or written through it. */
  const size_t q_offset = row_offset(b, p.Hq, h, p.Sq, strip_rows ? strip_row : block_row, D);
  const size_t kv_offset = row_offset(b, p.Hkv, kv_head(p, h), p.Skv, 0, D);
  const T *k = static_cast<const T *>(p.k) + kv_offset, *v = static_cast<const T *>(p.v) + kv_offset;

  Strip<T, D> strip;
  strip.open(smem, 1, warp, static_cast<const T *>(p.q) + q_offset, strip_rows);
  const uint32_t row_keys = strip.row() < strip_rows ? visible_keys(p, strip_row + strip.row()) : 0;
  for (uint32_t tile = first_tile; tile < end_tile; ++tile) {
    const uint32_t first = tile * kKeys, keys = rows_in_tile(p.Skv, first, kKeys);
    const size_t offset = (size_t)first * D;
    __syncthreads(); /* orders all warps' reads of the previous K and V before they are overwritten */
    load_rows<T, D>(smem.k(0), kv_stride(D), k + offset, kKeys, keys, threadIdx.x, kSplitThreads);
    load_rows<T, D>(smem.v(0), kv_stride(D), v + offset, kKeys, keys, threadIdx.x, kSplitThreads);
    __syncthreads(); /* orders the stores of K and V before all warps' fragment loads */
    strip.attend(smem.k(0), smem.v(0), rows_in_tile(row_keys, first, kKeys), p.scale_log2);
  }
  const size_t row = row_offset(b, p.Hq, h, p.Sq, strip_row, 1);
  if (first_tile < end_tile)
    strip.store_partial(a.partial + (row * a.splits + split) * D, (size_t)a.splits * D, strip_rows);
  if (strip.lane < strip_rows) a.stats[(row + strip.lane) * a.splits + split] = {strip.max, strip.sum};
}

template <uint32_t N>
__device__ __forceinline__ void load_floats(float (&x)[N], const float *p) {
  static_assert(N == 2 || N == 4, "a lane holds 2 columns at D = 64 and 4 at D = 128");
  if constexpr (N == 2) {
    const float2 two = *reinterpret_cast<const float2 *>(p);
    x[0] = two.x, x[1] = two.y;
  } else {
    const float4 four = *reinterpret_cast<const float4 *>(p);
    x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
  }
}

/* grid (rows / kCombineWarps, Hq, B); one warp per row, D / 32 columns per lane */
template <typename T, uint32_t D>
__global__ void __launch_bounds__(kCombineWarps *kWarp) combine_kernel(const __grid_constant__ SplitParams a) {
  constexpr uint32_t kColumns = D / kWarp;
  const Params &p = a.attention;
  const uint32_t lane = threadIdx.x % kWarp, q_row = blockIdx.x * kCombineWarps + threadIdx.x / kWarp;
  if (q_row >= p.Sq) return; /* a whole warp */
  const size_t row = row_offset(blockIdx.z, p.Hq, blockIdx.y, p.Sq, q_row, 1);
  const RowStats *stats = a.stats + row * a.splits;
  const float *partial = a.partial + row * a.splits * D + lane * kColumns;

  const RowStats none = {minus_infinity(), 0.0f};
  const RowStats lower = lane < a.splits ? stats[lane] : none;
  const RowStats upper = lane + kWarp < a.splits ? stats[lane + kWarp] : none;
  float max = fmaxf(lower.max, upper.max);
#pragma unroll
  for (uint32_t mask = kWarp / 2; mask; mask /= 2) max = fmaxf(max, __shfl_xor_sync(kFullWarp, max, mask));
  const float base = max == minus_infinity() ? 0.0f : max; /* a row without keys: all factors are 2^-inf = 0 */
  const float lower_factor = ptx::ex2(lower.max - base), upper_factor = ptx::ex2(upper.max - base);
  float sum = lower.sum * lower_factor + upper.sum * upper_factor;
#pragma unroll
  for (uint32_t mask = kWarp / 2; mask; mask /= 2) sum += __shfl_xor_sync(kFullWarp, sum, mask);

  float acc[kColumns] = {};
#pragma unroll 4
  for (uint32_t split = 0; split < a.splits; ++split) {
    const float factor = __shfl_sync(kFullWarp, split < kWarp ? lower_factor : upper_factor, split % kWarp);
    if (factor == 0.0f) continue; /* never 0 * garbage: a split without keys has written no output */
    float x[kColumns];
    load_floats(x, partial + (size_t)split * D);
#pragma unroll
    for (uint32_t c = 0; c < kColumns; ++c) acc[c] = fmaf(x[c], factor, acc[c]);
  }
  const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
  T *o = static_cast<T *>(p.o) + row * D + lane * kColumns;
#pragma unroll
  for (uint32_t c = 0; c < kColumns; ++c) o[c] = from_float<T>(acc[c] * inverse);
}

template <typename T>
static SplitHandles split_of_dim(uint32_t D) {
  if (D == 64) return {handle(split_kernel<T, 64>), handle(combine_kernel<T, 64>)};
  return {handle(split_kernel<T, 128>), handle(combine_kernel<T, 128>)};
}

static SplitHandles split_kernels_for(const attn_shape &shape) {
  return shape.dtype == ATTN_F16 ? split_of_dim<__half>(shape.D) : split_of_dim<__nv_bfloat16>(shape.D);
}

static void split_bind(const attn_shape *shape, const attn_plan *plan, const attn_buffers *buffers,
                       attn_pass_args args[ATTN_PASSES_MAX]) {
  SplitParams params = {};
  params.attention = params_of(*shape, *buffers);
  params.splits = plan->splits;
  unsigned char *workspace = static_cast<unsigned char *>(buffers->workspace);
  params.partial = reinterpret_cast<float *>(workspace);
  params.stats = reinterpret_cast<RowStats *>(workspace + partial_bytes(query_rows(*shape), plan->splits, shape->D));
  put_args(args[0], params);
  put_args(args[1], params);
}

#else
static SplitHandles split_kernels_for(const attn_shape &) { return {nullptr, nullptr}; }
constexpr decltype(attn_variant::bind) split_bind = nullptr;
#endif

enum { SPLIT_SPLITS }; /* index into the tuning */

static const attn_tunable split_tunables[] = {
    {"splits", 0, (int32_t)kSplitsMax, 0, "blocks that share the keys of a q tile; 0 = chosen to fill one wave"},
    {nullptr, 0, 0, 0, nullptr},
};

static const char *split_supports(const attn_shape *shape, const attn_tuning *tuning, const device_info *device) {
  const int32_t splits = tuning->value[SPLIT_SPLITS];
  if (splits < 0 || splits > (int32_t)kSplitsMax) return "splits must be 0 to 64";
  if ((uint64_t)ceil_div(shape->Sq, wmma_tile::kRows) * kSplitsMax > INT32_MAX)
    return "Sq must be at most 2^31, so that q tiles * splits fits grid.x";
  return wmma_tile::check(*shape, *device, wmma_tile::smem_bytes(shape->D, 1));
}

/* Key tiles that q tile `tile` attends. */
static uint32_t tiles_of(const attn_shape &shape, uint32_t tile) {
  const uint64_t last = (uint64_t)tile * wmma_tile::kRows + wmma_tile::kRows - 1;
  const uint32_t row = last < shape.Sq ? (uint32_t)last : shape.Sq - 1;
  return ceil_div(attn_keys_of_row(&shape, row), wmma_tile::kKeys);
}

/* Blocks that have keys to work on: under a causal mask the upper q tiles have fewer key tiles than splits. Stops
 * counting above `limit`. */
static uint64_t busy_blocks(const attn_shape &shape, uint32_t splits, uint64_t limit) {
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
static uint32_t auto_splits(const attn_shape &shape, const device_info &device, uint32_t splits_max) {
  const uint32_t resident =
      occupancy_of(&device, kSplitThreads, 0, wmma_tile::smem_bytes(shape.D, 1)).resident_blocks;
  const uint64_t wave = (uint64_t)device.sms * (resident ? resident : 1);
  uint32_t splits = 1;
  while (splits < splits_max && busy_blocks(shape, splits + 1, wave) <= wave) ++splits;
  const uint32_t tiles = ceil_div(shape.Skv, wmma_tile::kKeys);
  return ceil_div(tiles, ceil_div(tiles, splits));
}

/* Never more splits than key tiles. */
static uint32_t resolve_splits(const attn_shape &shape, const attn_tuning &tuning, const device_info &device) {
  const uint32_t tiles = ceil_div(shape.Skv, wmma_tile::kKeys), asked = (uint32_t)tuning.value[SPLIT_SPLITS];
  const uint32_t most = tiles < kSplitsMax ? tiles : kSplitsMax;
  if (asked == 0) return auto_splits(shape, device, most);
  return asked < most ? asked : most;
}

static void split_plan(const attn_shape *shape, const attn_tuning *tuning, const device_info *device,
                       attn_plan *plan) {
  const SplitHandles kernels = split_kernels_for(*shape);
  const uint32_t splits = resolve_splits(*shape, *tuning, *device);
  plan->pass_count = 2;
  plan->tile_q = wmma_tile::kRows, plan->tile_kv = wmma_tile::kKeys;
  plan->splits = splits, plan->stages = 1;
  plan->workspace_bytes =
      partial_bytes(query_rows(*shape), splits, shape->D) + stats_bytes(query_rows(*shape), splits);

  attn_pass &split = plan->pass[0];
  split.name = "split";
  split.kernel = kernels.split;
  set_grid(split, ceil_div(shape->Sq, wmma_tile::kRows) * splits, ATTN_COVERS_Q | ATTN_COVERS_SPLIT, shape->Hq,
           ATTN_COVERS_H, shape->B, ATTN_COVERS_B);
  set_block(split, kSplitThreads, kSplitThreads, wmma_tile::smem_bytes(shape->D, 1));

  attn_pass &combine = plan->pass[1];
  combine.name = "combine";
  combine.kernel = kernels.combine;
  set_grid(combine, ceil_div(shape->Sq, kCombineWarps), ATTN_COVERS_Q, shape->Hq, ATTN_COVERS_H, shape->B,
           ATTN_COVERS_B);
  set_block(combine, kCombineWarps * 32, kCombineWarps * 32, 0);
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_split_kv = {
    .name = "split_kv",
    .summary = "wmma with the keys split over blocks, then a deterministic combine pass (FlashDecoding)",
    .limits = "f16, bf16; D 64 or 128; compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .tunables = attn::split_tunables,
    .supports = attn::split_supports,
    .plan = attn::split_plan,
    .bind = attn::split_bind,
    .run = nullptr,
};
