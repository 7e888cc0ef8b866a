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
#include "kernels/tiles/split_tile.cuh"

namespace attn {

using split_tile::RowStats;

constexpr uint32_t kCombineWarps = 8;
static_assert(split_tile::kSplitsMax <= 2 * 32,
              "a lane of the combining warp holds the maximum and sum of at most two splits");

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

struct SplitHandles {
  const void *split, *combine;
};

#ifdef __CUDACC__

/* grid (q tiles * splits, Hq, B), the split running fastest */
template <typename T, uint32_t D>
__global__ void __launch_bounds__(split_tile::kThreads) split_kernel(const __grid_constant__ SplitParams a) {
  extern __shared__ __align__(128) unsigned char smem_base[];
  const Params &p = a.attention;
  const split_tile::Part part = split_tile::part_of(p, a.splits);
  wmma_tile::Strip<T, D> strip;
  split_tile::attend_part(strip, wmma_tile::Smem<T, D>{smem_base}, p, part);
  const size_t row = row_offset(part.b, p.Hq, part.h, p.Sq, part.row, 1);
  if (part.first_tile < part.end_tile)
    strip.store_partial(a.partial + (row * a.splits + part.split) * D, (size_t)a.splits * D, part.rows);
  if (strip.lane < part.rows) a.stats[(row + strip.lane) * a.splits + part.split] = {strip.max, strip.sum};
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
  max = warp_max(max);
  const float base = max == minus_infinity() ? 0.0f : max; /* a row without keys: all factors are 2^-inf = 0 */
  const float lower_factor = ptx::ex2(lower.max - base), upper_factor = ptx::ex2(upper.max - base);
  float sum = lower.sum * lower_factor + upper.sum * upper_factor;
  sum = warp_sum(sum);

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

static SplitHandles split_kernels_for(const attn_problem &shape) {
  return for_type<__half, __nv_bfloat16>(shape.dtype,
                                         [&](auto t) { return split_of_dim<typename decltype(t)::type>(shape.D); });
}

static struct status split_bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                                attn_pass_args args[ATTN_PASSES_MAX]) {
  SplitParams params = {};
  params.attention = params_of(*shape, *buffers);
  params.splits = plan->splits;
  unsigned char *workspace = static_cast<unsigned char *>(buffers->workspace);
  params.partial = reinterpret_cast<float *>(workspace);
  params.stats =
      reinterpret_cast<RowStats *>(workspace + partial_bytes(split_tile::query_rows(*shape), plan->splits, shape->D));
  put_args(args[0], params);
  put_args(args[1], params);
  return status_ok();
}

#else
static SplitHandles split_kernels_for(const attn_problem &) { return {nullptr, nullptr}; }
constexpr decltype(attn_variant::bind) split_bind = nullptr;
#endif

static void split_plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *device,
                       attn_plan *plan) {
  const SplitHandles kernels = split_kernels_for(*shape);
  const uint32_t splits = split_tile::resolve_splits(*shape, *tuning, *device);
  plan->pass_count = 2;
  plan->tile_q = wmma_tile::kRows, plan->tile_kv = wmma_tile::kKeys;
  plan->splits = splits, plan->stages = 1;
  plan->workspace_bytes = partial_bytes(split_tile::query_rows(*shape), splits, shape->D) +
                          stats_bytes(split_tile::query_rows(*shape), splits);

  split_tile::plan_pass(*shape, splits, kernels.split, plan->pass[0]);

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
    .limits = "compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = attn::wmma_tile::kNoFp32,
    .dims = attn::wmma_tile::kDims,
    .tunables = attn::split_tile::tunables,
    .supports = attn::split_tile::supports,
    .plan = attn::split_plan,
    .bind = attn::split_bind,
    .run = nullptr,
};
