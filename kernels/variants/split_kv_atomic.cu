/* split_kv_atomic: the keys are split over blocks as in `split_kv`, but the blocks of a q tile merge their
 * results themselves, one after the other, in one buffer under a lock made of atomics.
 *
 * Idea: each (q tile, split) is a block of the same kernel as in `split_kv`. Each of its four warps then
 *   locks its 16 rows in a global fp32 buffer (output, maximum, sum), brings both sides to a common
 *   maximum, adds, and unlocks; the last warp to arrive normalises and writes O instead. atomicAdd alone
 *   cannot do this: the maximum, the sum and D outputs of a row must change together. One word per strip
 *   of 16 rows is both lock and counter: 2 * arrivals + locked. Pass "reset" zeroes these words, since
 *   the workspace holds garbage at launch; nothing else needs a start value.
 *
 * Source: the obvious alternative to FlashDecoding's second pass (stream-K's fix-up does the same for
 *   matrix products). No block waits for one that is not running: the holder of a lock waits for nothing,
 *   so any order of blocks makes progress.
 *
 * Can win: against `split_kv` in workspace, rows * (4 D + 8) bytes whatever the splits instead of times
 *   splits: 64 times less for decoding with 64 splits. And where splits=1, since no partial result is
 *   written at all: at B=8, H=16, S=512, D=64 `split_kv` moves 2 * 17 MB through L2, some 6 us.
 *
 * Cannot: be deterministic: sums are formed in the order in which warps get the lock, so the last bits
 *   differ from run to run. Nor be fast where splits are needed: they finish together and queue up. A
 *   merge is a chain of round trips to L2 of some 300 clocks each (lock, maximum, output) and two fences
 *   of 300 to 500: 1500 to 2000 clocks, 0.9 us at 1.9 GHz. The last of n splits waits (n - 1) * 0.9 us;
 *   `split_kv` reads all n at once in a second pass of about 2 us. With 0.5 us for "reset", predicted
 *   against `split_kv`: 1 us slower at 4 splits (B=1, H=8, S=512), 5 us at 8 splits (H=1), even at 2 or 3.
 *   For both reasons the two passes of `split_kv` are preferred.
 *
 * Budget: shared memory and registers of "split" as in `wmma` (61 KB at D = 64, 93 KB at D = 128); the
 *   merge works on the strip's output in shared memory and needs some 20 registers, after the fragments
 *   are dead. "reset": one warp per q tile, 4 words. */
#include "kernels/tiles/split_tile.cuh"

namespace attn {

using split_tile::RowStats;

constexpr uint32_t kStrips = wmma_tile::kComputeWarps; /* of a q tile: one per warp, each with its own lock */
constexpr uint32_t kResetThreads = 32;
constexpr uint32_t kAtomicBlocks = 2; /* on an SM at D = 128; lets the compiler take the registers that it needs */
static_assert(kStrips <= kResetThreads, "a lane resets one lock");

struct AtomicParams {
  Params attention;
  float *out;      /* [B][Hq][Sq][D], sum of 2^(score - max) * V over the splits merged so far */
  RowStats *stats; /* [B][Hq][Sq] */
  uint32_t *locks; /* [B][Hq][q tiles][kStrips]: 2 * arrivals + locked */
  uint32_t splits;
};

struct AtomicHandles {
  const void *reset, *split;
};

inline uint64_t atomic_out_bytes(const attn_problem &shape) {
  return split_tile::query_rows(shape) * shape.D * sizeof(float);
}
inline uint64_t atomic_stats_bytes(const attn_problem &shape) {
  return split_tile::query_rows(shape) * sizeof(RowStats);
}
inline uint64_t atomic_locks_bytes(const attn_problem &shape) {
  return (uint64_t)shape.B * shape.Hq * ceil_div(shape.Sq, wmma_tile::kRows) * kStrips * sizeof(uint32_t);
}

#ifdef __CUDACC__

__device__ __forceinline__ uint32_t *atomic_locks_of(const AtomicParams &a, uint32_t b, uint32_t h, uint32_t q_tile) {
  const uint32_t q_tiles = ceil_div(a.attention.Sq, wmma_tile::kRows);
  return a.locks + (((size_t)b * a.attention.Hq + h) * q_tiles + q_tile) * kStrips;
}

/* grid (q tiles, Hq, B) */
__global__ void __launch_bounds__(kResetThreads) atomic_reset_kernel(const __grid_constant__ AtomicParams a) {
  if (threadIdx.x < kStrips) atomic_locks_of(a, blockIdx.z, blockIdx.y, blockIdx.x)[threadIdx.x] = 0;
}

/* Waits until the warp holds the strip; returns how many splits were merged before. */
__device__ __forceinline__ uint32_t atomic_lock(uint32_t *lock, uint32_t lane) {
  constexpr uint32_t kBackoffNs = 64;
  uint32_t word = 0;
  if (lane == 0) {
    while ((word = atomicOr(lock, 1u)) & 1u) __nanosleep(kBackoffNs);
    __threadfence(); /* orders the lock before the reads of what its last holder wrote */
  }
  __syncwarp(); /* orders lane 0's fence before the other lanes' reads */
  return __shfl_sync(kFullWarp, word, 0) / 2;
}

/* Counts the caller as arrived and gives the strip back: 2n + 1 becomes 2(n + 1). */
__device__ __forceinline__ void atomic_unlock(uint32_t *lock, uint32_t lane) {
  __syncwarp(); /* orders all lanes' stores before lane 0's fence */
  if (lane == 0) {
    __threadfence(); /* orders the stores before the lock is seen free */
    atomicAdd(lock, 1u);
  }
}

/* Adds what earlier splits left to the strip, in shared memory. Reads go around L1, which knows nothing of other
 * SMs' stores. */
template <typename T, uint32_t D>
__device__ __forceinline__ void atomic_absorb(wmma_tile::Strip<T, D> &strip, const float *out, const RowStats *stats,
                                              uint32_t rows) {
  using namespace wmma_tile;
  constexpr uint32_t kWords = D / 4;
  const float2 old = strip.row() < rows ? __ldcg(reinterpret_cast<const float2 *>(stats + strip.row()))
                                        : make_float2(minus_infinity(), 0.0f);
  const float largest = fmaxf(old.x, strip.max);
  const float base = largest == minus_infinity() ? 0.0f : largest; /* a row without keys: both factors are 0 */
  const float old_factor = ptx::ex2(old.x - base), factor = ptx::ex2(strip.max - base);
  strip.max = largest;
  strip.sum = strip.sum * factor + old.y * old_factor;
#pragma unroll
  for (uint32_t i = strip.lane; i < kFragment * kWords; i += kWarp) {
    const uint32_t r = i / kWords, c = i % kWords * 4;
    const float f = __shfl_sync(kFullWarp, factor, r), old_f = __shfl_sync(kFullWarp, old_factor, r);
    float *at = strip.out + r * out_stride(D) + c;
    const float4 x = load4(at);
    const float4 y = r < rows ? __ldcg(reinterpret_cast<const float4 *>(out + r * D + c)) : x;
    *reinterpret_cast<float4 *>(at) = make_float4(fmaf(y.x, old_f, x.x * f), fmaf(y.y, old_f, x.y * f),
                                                  fmaf(y.z, old_f, x.z * f), fmaf(y.w, old_f, x.w * f));
  }
  __syncwarp(); /* orders the stores before other lanes read them to write O */
}

/* grid (q tiles * splits, Hq, B), the split running fastest */
template <typename T, uint32_t D>
__global__ void __launch_bounds__(split_tile::kThreads, kAtomicBlocks)
    atomic_split_kernel(const __grid_constant__ AtomicParams a) {
  extern __shared__ __align__(128) unsigned char smem_base[];
  const Params &p = a.attention;
  const split_tile::Part part = split_tile::part_of(p, a.splits);
  /* Parts that have keys; where no row of the q tile has any, split 0 alone goes on and writes the zeros. */
  const uint32_t parts = max(1u, min(part.tiles, a.splits));
  if (part.first_tile == part.end_tile && (part.tiles != 0 || part.split != 0)) return;

  wmma_tile::Strip<T, D> strip;
  split_tile::attend_part(strip, wmma_tile::Smem<T, D>{smem_base}, p, part);
  if (part.rows == 0) return;
  const size_t row = row_offset(part.b, p.Hq, part.h, p.Sq, part.row, 1);
  uint32_t *lock = atomic_locks_of(a, part.b, part.h, part.q_tile) + part.warp;
  float *out = a.out + row * D;
  const uint32_t arrived = parts > 1 ? atomic_lock(lock, strip.lane) : 0;
  if (arrived > 0) atomic_absorb(strip, out, a.stats + row, part.rows);
  if (arrived + 1 < parts) {
    strip.store_partial(out, D, part.rows);
    if (strip.lane < part.rows) a.stats[row + strip.lane] = {strip.max, strip.sum};
    atomic_unlock(lock, strip.lane);
  } else {
    strip.store(static_cast<T *>(p.o) + row * D, part.rows); /* the last to arrive: nobody waits for the lock */
  }
}

template <typename T>
static const void *atomic_split_of_dim(uint32_t D) {
  return D == 64 ? handle(atomic_split_kernel<T, 64>) : handle(atomic_split_kernel<T, 128>);
}

static AtomicHandles atomic_kernels_for(const attn_problem &shape) {
  return {handle(atomic_reset_kernel), for_type<__half, __nv_bfloat16>(shape.dtype, [&](auto t) {
            return atomic_split_of_dim<typename decltype(t)::type>(shape.D);
          })};
}

static struct status atomic_bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                                 attn_pass_args args[ATTN_PASSES_MAX]) {
  unsigned char *workspace = static_cast<unsigned char *>(buffers->workspace);
  AtomicParams params = {};
  params.attention = params_of(*shape, *buffers);
  params.splits = plan->splits;
  params.out = reinterpret_cast<float *>(workspace);
  params.stats = reinterpret_cast<RowStats *>(workspace + atomic_out_bytes(*shape));
  params.locks = reinterpret_cast<uint32_t *>(workspace + atomic_out_bytes(*shape) + atomic_stats_bytes(*shape));
  put_args(args[0], params);
  put_args(args[1], params);
  return status_ok();
}

#else
static AtomicHandles atomic_kernels_for(const attn_problem &) { return {nullptr, nullptr}; }
constexpr decltype(attn_variant::bind) atomic_bind = nullptr;
#endif

static void atomic_plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *device,
                        attn_plan *plan) {
  const AtomicHandles kernels = atomic_kernels_for(*shape);
  plan->pass_count = 2;
  plan->tile_q = wmma_tile::kRows, plan->tile_kv = wmma_tile::kKeys;
  plan->splits = split_tile::resolve_splits(*shape, *tuning, *device), plan->stages = 1;
  plan->workspace_bytes = atomic_out_bytes(*shape) + atomic_stats_bytes(*shape) + atomic_locks_bytes(*shape);

  attn_pass &reset = plan->pass[0];
  reset.name = "reset";
  reset.kernel = kernels.reset;
  set_grid(reset, ceil_div(shape->Sq, wmma_tile::kRows), ATTN_COVERS_Q, shape->Hq, ATTN_COVERS_H, shape->B,
           ATTN_COVERS_B);
  set_block(reset, kResetThreads, 0, 0);

  split_tile::plan_pass(*shape, plan->splits, kernels.split, plan->pass[1]);
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_split_kv_atomic = {
    .name = "split_kv_atomic",
    .summary = "wmma with the keys split over blocks that merge their results under a lock (nondeterministic)",
    .limits = "compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = attn::wmma_tile::kNoFp32,
    .dims = attn::wmma_tile::kDims,
    .tunables = attn::split_tile::tunables,
    .supports = attn::split_tile::supports,
    .plan = attn::atomic_plan,
    .bind = attn::atomic_bind,
    .run = nullptr,
};
