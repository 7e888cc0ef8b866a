/* wmma_qk: `wmma` with tensor cores for Q K^T only; P V runs on CUDA cores.
 *
 * Idea: the first step from a scalar kernel to tensor cores. Scores come from WMMA through shared memory, which the
 *   softmax has to read row by row anyway; O += P V stays what it was, fused multiply-adds in fp32. Nothing else
 *   differs from `wmma`, so the two times tell what the second product on tensor cores is worth.
 *
 * Source: a common first step, since the second product needs P in fragments and O rescaled between tiles.
 *
 * Can win: against kernels that do both products on CUDA cores.
 *
 * Cannot: come near `wmma`. Per tile of 64 keys a block has 64 * 64 * D multiply-adds of P V: at 128 per
 *   clock and SM 2048 clocks at D = 64, for which tensor cores at 1360 (mma.sync) need 193. Each 32 of
 *   them share one 16-byte read of V and eight conversions to fp32.
 *
 * Predicted on an H200: 1.3 to 2 times the time of `wmma` at D = 64, where softmax and the traffic of S and O
 *   cost both alike, and 1.5 to 2.5 times at D = 128. With one block on an SM its 4 warps reach half of the
 *   128 per clock at best: 8 tiles of 4096 clocks are 17 us of the mission shape.
 *
 * Budget: shared memory as `wmma`: 61 KB at D = 64 (3 blocks of 228 KB), 93 KB at D = 128 (2 blocks). Registers: a
 *   lane's 4 rows x 8 columns of O, 8 of V, 16 weights, D / 16 fragments of Q at 8: 79 to 128. */
#include "kernels/tiles/wmma_tile.cuh"

namespace attn {

#ifdef __CUDACC__

template <typename T, uint32_t D>
__global__ void __launch_bounds__(wmma_tile::kComputeThreads) wmma_qk_kernel(const __grid_constant__ Params p) {
  extern __shared__ __align__(128) unsigned char smem_base[];
  wmma_tile::attend_tiles<T, D, wmma_tile::PvOn::kCudaCores>(p, smem_base);
}

static const void *wmma_qk_kernel_for(const attn_problem &shape) {
  return for_type<__half, __nv_bfloat16>(shape.dtype, [&](auto t) {
    using T = typename decltype(t)::type;
    return shape.D == 64 ? handle(wmma_qk_kernel<T, 64>) : handle(wmma_qk_kernel<T, 128>);
  });
}

static struct status wmma_qk_bind(const attn_problem *shape, const attn_plan *, const attn_buffers *buffers,
                                  attn_pass_args args[ATTN_PASSES_MAX]) {
  put_args(args[0], params_of(*shape, *buffers));
  return status_ok();
}

#else
static const void *wmma_qk_kernel_for(const attn_problem &) { return nullptr; }
constexpr decltype(attn_variant::bind) wmma_qk_bind = nullptr;
#endif

static const char *wmma_qk_supports(const attn_problem *shape, const attn_tuning *, const device_info *device) {
  return wmma_tile::check(*shape, *device, wmma_tile::smem_bytes(shape->D, 1));
}

static void wmma_qk_plan(const attn_problem *shape, const attn_tuning *, const device_info *, attn_plan *plan) {
  wmma_tile::plan_blocks(*shape, wmma_qk_kernel_for(*shape), *plan);
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_wmma_qk = {
    .name = "wmma_qk",
    .summary = "tensor cores through WMMA for QK^T only, PV on CUDA cores; otherwise wmma",
    .limits = "compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = attn::wmma_tile::kNoFp32,
    .dims = attn::wmma_tile::kDims,
    .tunables = nullptr,
    .supports = attn::wmma_qk_supports,
    .plan = attn::wmma_qk_plan,
    .bind = attn::wmma_qk_bind,
    .run = nullptr,
};
