/* cp_async: `wmma` with a pipeline. A fifth warp does nothing but start asynchronous copies of K and
 * V.
 *
 * Idea: K and V tiles go through a ring of `stages` buffers. The producer warp keeps up to `stages`
 *   tiles in flight with cp.async (global to shared without registers) while the four compute warps work
 *   on the oldest one.
 *
 * Source: CUTLASS's multistage pipeline (Ampere) with the warp specialisation of its Hopper kernels.
 *
 * Can win: when a tile's load latency is a large part of its time: few resident blocks and long Skv.
 *
 * Cannot: help a kernel that is bound by its own shared-memory traffic, as this WMMA tile mostly is;
 *   and each stage costs shared memory, hence resident blocks, which hide latency too.
 *
 * Handshake: full[s] and empty[s] are mbarriers. Producer: wait empty[s], fill s, wait for its copies,
 *   arrive full[s]. Compute warps: wait full[s], use s, arrive empty[s].
 *
 * Budget: shared memory: `stages` times K and V 2 * 64 (D + 8) * 2, then S, P and O as in `wmma`; with
 *   2 and 3 stages 79 KB and 97 KB at D = 64, 127 KB and 161 KB at D = 128. Registers: as in `wmma` plus
 *   the producer's addresses, 123 to 158. */
#include "kernels/tiles/wmma_tile.cuh"

namespace attn {

constexpr uint32_t kPipeThreads = wmma_tile::kComputeThreads + 32; /* the last warp is the producer */

constexpr uint32_t pipe_smem_bytes(uint32_t D, uint32_t stages) { return wmma_tile::smem_bytes(D, stages); }
static_assert(pipe_smem_bytes(64, 3) <= 99 * 1024, "3 stages at D = 64 fit a block on compute capability 8.9");
static_assert(pipe_smem_bytes(128, 2) <= 163 * 1024, "2 stages at D = 128 fit a block on compute capability 8.0");
static_assert(pipe_smem_bytes(128, 3) <= 163 * 1024, "3 stages at D = 128 fit a block on compute capability 8.0");

#ifdef __CUDACC__

/* One phase of a barrier per use of its stage: tile i is use i / Stages of stage i % Stages. */
template <uint32_t Stages>
struct PipeBarriers {
  uint64_t full[Stages];  /* 32 arrivals: the producer's lanes */
  uint64_t empty[Stages]; /* kComputeThreads arrivals */
};

template <uint32_t Stages>
__device__ __forceinline__ void pipe_init(PipeBarriers<Stages> &barriers) {
  if (threadIdx.x < Stages) {
    ptx::mbarrier_init(&barriers.full[threadIdx.x], kWarp);
    ptx::mbarrier_init(&barriers.empty[threadIdx.x], wmma_tile::kComputeThreads);
  }
  __syncthreads(); /* orders the initialisation before any arrival */
}

/* wmma_tile::load_rows with asynchronous copies, for one warp and a tile of kKeys rows. */
template <typename T, uint32_t D>
__device__ __forceinline__ void copy_tile_async(T *tile, const T *rows, uint32_t valid, uint32_t lane) {
  using namespace wmma_tile;
  constexpr uint32_t kWords = D * sizeof(T) / 16;
#pragma unroll 4
  for (uint32_t i = lane; i < kKeys * kWords; i += kWarp) {
    const uint32_t r = i / kWords, c = i % kWords * 8;
    const bool inside = r < valid;
    ptx::cp_async_16(tile + r * kv_stride(D) + c, rows + (inside ? (size_t)r * D + c : 0), inside);
  }
}

/* Iteration i starts tile i and publishes tile i - (Stages - 1). The last iterations commit empty groups, so that the
 * number of groups after the published one is always Stages - 1. */
template <typename T, uint32_t D, uint32_t Stages>
__device__ __forceinline__ void pipe_produce(const wmma_tile::Smem<T, D> &smem, PipeBarriers<Stages> &barriers,
                                             const T *k, const T *v, uint32_t Skv, uint32_t tiles) {
  using namespace wmma_tile;
  const uint32_t lane = threadIdx.x % kWarp;
  for (uint32_t i = 0; i < tiles + Stages - 1; ++i) {
    if (i < tiles) {
      const uint32_t stage = i % Stages, keys = rows_in_tile(Skv, i * kKeys, kKeys);
      const size_t offset = (size_t)i * kKeys * D;
      /* Orders all compute warps' reads of tile i - Stages before its buffer is overwritten. */
      if (i >= Stages) ptx::mbarrier_wait(&barriers.empty[stage], (i / Stages - 1) & 1);
      copy_tile_async<T, D>(smem.k(stage), k + offset, keys, lane);
      copy_tile_async<T, D>(smem.v(stage), v + offset, keys, lane);
    }
    ptx::cp_async_commit();
    if (i >= Stages - 1) {
      ptx::cp_async_wait<(int)Stages - 1>(); /* this lane's copies of tile i - (Stages - 1) have landed */
      /* Orders the copied bytes before the compute warps' fragment loads. */
      ptx::mbarrier_arrive(&barriers.full[(i - (Stages - 1)) % Stages]);
    }
  }
}

template <typename T, uint32_t D, uint32_t Stages>
__device__ __forceinline__ void pipe_consume(const Params &p, const wmma_tile::Smem<T, D> &smem,
                                             PipeBarriers<Stages> &barriers, uint32_t warp, uint32_t block_row,
                                             uint32_t tiles) {
  using namespace wmma_tile;
  const uint32_t strip_row = block_row + warp * kFragment;
  const uint32_t strip_rows = rows_in_tile(p.Sq, strip_row, kFragment);
  /* An empty strip's address stays inside the tensor, though nothing is read or written through it. */
  const size_t q_offset = row_offset(blockIdx.z, p.Hq, blockIdx.y, p.Sq, strip_rows ? strip_row : block_row, D);
  Strip<T, D> strip;
  strip.open(smem, Stages, warp, static_cast<const T *>(p.q) + q_offset, strip_rows);
  const uint32_t row_keys = strip.row() < strip_rows ? visible_keys(p, strip_row + strip.row()) : 0;
  for (uint32_t i = 0; i < tiles; ++i) {
    const uint32_t stage = i % Stages;
    /* Orders the producer's copies of tile i before this warp's fragment loads. */
    ptx::mbarrier_wait(&barriers.full[stage], i / Stages & 1);
    strip.attend(smem.k(stage), smem.v(stage), rows_in_tile(row_keys, i * kKeys, kKeys), p.scale_log2);
    ptx::mbarrier_arrive(&barriers.empty[stage]); /* orders this thread's reads of tile i before the buffer's reuse */
  }
  strip.store(static_cast<T *>(p.o) + q_offset, strip_rows);
}

/* grid (q tiles, Hq, B). Asking for two blocks per SM lets a thread have 65536 / 320 = 204 registers; left alone,
 * ptxas aims for fewer and spills. */
template <typename T, uint32_t D, uint32_t Stages>
__global__ void __launch_bounds__(kPipeThreads, 2) cp_async_kernel(const __grid_constant__ Params p) {
  using namespace wmma_tile;
  extern __shared__ __align__(128) unsigned char smem_base[];
  __shared__ PipeBarriers<Stages> barriers;
  const Smem<T, D> smem = {smem_base};
  const uint32_t warp = threadIdx.x / kWarp, block_row = blockIdx.x * kRows;
  const uint32_t block_rows = rows_in_tile(p.Sq, block_row, kRows);
  const uint32_t tiles = ceil_div(visible_keys(p, block_row + block_rows - 1), kKeys); /* last row attends most */
  pipe_init(barriers);
  if (warp < kComputeWarps) {
    pipe_consume<T, D, Stages>(p, smem, barriers, warp, block_row, tiles);
  } else {
    const size_t kv_offset = row_offset(blockIdx.z, p.Hkv, kv_head(p, blockIdx.y), p.Skv, 0, D);
    pipe_produce<T, D, Stages>(smem, barriers, static_cast<const T *>(p.k) + kv_offset,
                               static_cast<const T *>(p.v) + kv_offset, p.Skv, tiles);
  }
}

template <typename T, uint32_t D>
static const void *pipe_of_stages(int32_t stages) {
  return stages == 2 ? handle(cp_async_kernel<T, D, 2>) : handle(cp_async_kernel<T, D, 3>);
}

static const void *pipe_kernel_for(const attn_problem &shape, int32_t stages) {
  return for_type<__half, __nv_bfloat16>(shape.dtype, [&](auto t) {
    using T = typename decltype(t)::type;
    return shape.D == 64 ? pipe_of_stages<T, 64>(stages) : pipe_of_stages<T, 128>(stages);
  });
}

static struct status pipe_bind(const attn_problem *shape, const attn_plan *, const attn_buffers *buffers,
                               attn_pass_args args[ATTN_PASSES_MAX]) {
  put_args(args[0], params_of(*shape, *buffers));
  return status_ok();
}

#else
static const void *pipe_kernel_for(const attn_problem &, int32_t) { return nullptr; }
constexpr decltype(attn_variant::bind) pipe_bind = nullptr;
#endif

enum { PIPE_STAGES }; /* index into the tuning */

static const attn_tunable pipe_tunables[] = {
    {.name = "stages",
     .min = 2,
     .max = 3,
     .default_value = 2,
     .help = "K/V tiles in the ring of shared-memory buffers"},
    {.name = nullptr},
};

static const char *pipe_supports(const attn_problem *shape, const attn_tuning *tuning, const device_info *device) {
  const int32_t stages = tuning->value[PIPE_STAGES];
  if (stages < pipe_tunables[PIPE_STAGES].min || stages > pipe_tunables[PIPE_STAGES].max)
    return "stages must be 2 or 3";
  return wmma_tile::check(*shape, *device, pipe_smem_bytes(shape->D, (uint32_t)stages));
}

static void pipe_plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *, attn_plan *plan) {
  const int32_t stages = tuning->value[PIPE_STAGES];
  plan->pass_count = 1;
  plan->tile_q = wmma_tile::kRows, plan->tile_kv = wmma_tile::kKeys;
  plan->splits = 1, plan->stages = (uint32_t)stages;
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = pipe_kernel_for(*shape, stages);
  set_grid(pass, ceil_div(shape->Sq, wmma_tile::kRows), ATTN_COVERS_Q, shape->Hq, ATTN_COVERS_H, shape->B,
           ATTN_COVERS_B);
  set_block(pass, kPipeThreads, wmma_tile::kComputeThreads, pipe_smem_bytes(shape->D, (uint32_t)stages));
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_cp_async = {
    .name = "cp_async",
    .summary = "wmma with a cp.async pipeline: one producer warp feeds four compute warps through 2 or 3 stages",
    .limits = "compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = attn::wmma_tile::kNoFp32,
    .dims = attn::wmma_tile::kDims,
    .tunables = attn::pipe_tunables,
    .supports = attn::pipe_supports,
    .plan = attn::pipe_plan,
    .bind = attn::pipe_bind,
    .run = nullptr,
};
