/* wmma: tensor cores for Q K^T and for P V through the portable WMMA interface, streaming softmax
 * between them.
 *
 * Idea: 64 query rows per block, 4 warps of 16 rows; K and V pass through shared memory in tiles of 64
 *   keys that all four warps share. Scores, weights and the fp32 output live in shared memory as well.
 *
 * Source: FlashAttention-2's split of a tile by rows over warps (Dao 2023); the data flow that
 *   nvcuda::wmma forces.
 *
 * Can win: against any CUDA-core kernel as soon as the multiply-adds matter.
 *
 * Cannot: come near the tensor peak: each tile is loaded, waited for, then used, with nothing in
 *   flight meanwhile, and a fragment's layout is opaque, so S, P and O cross shared memory several times
 *   per tile. One block per 64 rows leaves most SMs idle when B * H * Sq / 64 is small: see `split_kv`.
 *
 * Budget: shared memory: K and V 2 * 64 (D + 8) * 2, S 64 * 68 * 4, P 64 * 72 * 2, O 64 (D + 4) * 4;
 *   sum 61 KB at D = 64 (3 blocks of 228 KB) and 93 KB at D = 128 (2 blocks). Registers: D / 16
 *   fragments of Q at 8, 4 of P at 8, 32 scores, addresses: 80 to 130. */
#include "kernels/tiles/wmma_tile.cuh"

namespace attn {

#ifdef __CUDACC__

template <typename T, uint32_t D>
__global__ void __launch_bounds__(wmma_tile::kComputeThreads) wmma_kernel(const __grid_constant__ Params p) {
  extern __shared__ __align__(128) unsigned char smem_base[];
  wmma_tile::attend_tiles<T, D, wmma_tile::PvOn::kTensorCores>(p, smem_base);
}

static const void *wmma_kernel_for(const attn_problem &shape) {
  return for_type<__half, __nv_bfloat16>(shape.dtype, [&](auto t) {
    using T = typename decltype(t)::type;
    return shape.D == 64 ? handle(wmma_kernel<T, 64>) : handle(wmma_kernel<T, 128>);
  });
}

static struct status wmma_bind(const attn_problem *shape, const attn_plan *, const attn_buffers *buffers,
                               attn_pass_args args[ATTN_PASSES_MAX]) {
  put_args(args[0], params_of(*shape, *buffers));
  return status_ok();
}

#else
static const void *wmma_kernel_for(const attn_problem &) { return nullptr; }
constexpr decltype(attn_variant::bind) wmma_bind = nullptr;
#endif

static const char *wmma_supports(const attn_problem *shape, const attn_tuning *, const device_info *device) {
  return wmma_tile::check(*shape, *device, wmma_tile::smem_bytes(shape->D, 1));
}

static void wmma_plan(const attn_problem *shape, const attn_tuning *, const device_info *, attn_plan *plan) {
  wmma_tile::plan_blocks(*shape, wmma_kernel_for(*shape), *plan);
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_wmma = {
    .name = "wmma",
    .summary = "tensor cores through WMMA for QK^T and PV: 64x64 tiles, 4 warps, streaming softmax",
    .limits = "compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = attn::wmma_tile::kNoFp32,
    .dims = attn::wmma_tile::kDims,
    .tunables = nullptr,
    .supports = attn::wmma_supports,
    .plan = attn::wmma_plan,
    .bind = attn::wmma_bind,
    .run = nullptr,
};
