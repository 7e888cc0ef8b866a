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
#include "kernels/wmma_tile.cuh"

namespace attn {

constexpr uint32_t kWmmaThreads = wmma_tile::kComputeThreads;

#ifdef __CUDACC__

/* grid (q tiles, Hq, B) */
template <typename T, uint32_t D>
__global__ void __launch_bounds__(kWmmaThreads) wmma_kernel(const __grid_constant__ Params p) {
  using namespace wmma_tile;
  extern __shared__ __align__(128) unsigned char smem_base[];
  const Smem<T, D> smem = {smem_base};
  const uint32_t h = blockIdx.y, b = blockIdx.z, warp = threadIdx.x / kWarp;
  const uint32_t block_row = blockIdx.x * kRows, strip_row = block_row + warp * kFragment;
  const uint32_t strip_rows = rows_in_tile(p.Sq, strip_row, kFragment);
  const uint32_t block_rows = rows_in_tile(p.Sq, block_row, kRows);
  /* An empty strip's address stays inside the tensor, though nothing is read or written through it. */
  const size_t q_offset = row_offset(b, p.Hq, h, p.Sq, strip_rows ? strip_row : block_row, D);
  const size_t kv_offset = row_offset(b, p.Hkv, kv_head(p, h), p.Skv, 0, D);
  const T *k = static_cast<const T *>(p.k) + kv_offset, *v = static_cast<const T *>(p.v) + kv_offset;

  Strip<T, D> strip;
  strip.open(smem, 1, warp, static_cast<const T *>(p.q) + q_offset, strip_rows);
  const uint32_t row_keys = strip.row() < strip_rows ? visible_keys(p, strip_row + strip.row()) : 0;
  const uint32_t block_keys = visible_keys(p, block_row + block_rows - 1); /* the last row attends most */
  for (uint32_t first = 0; first < block_keys; first += kKeys) {
    const uint32_t keys = rows_in_tile(p.Skv, first, kKeys);
    const size_t offset = (size_t)first * D;
    __syncthreads(); /* orders all warps' reads of the previous K and V before they are overwritten */
    load_rows<T, D>(smem.k(0), kv_stride(D), k + offset, kKeys, keys, threadIdx.x, kWmmaThreads);
    load_rows<T, D>(smem.v(0), kv_stride(D), v + offset, kKeys, keys, threadIdx.x, kWmmaThreads);
    __syncthreads(); /* orders the stores of K and V before all warps' fragment loads */
    strip.attend(smem.k(0), smem.v(0), rows_in_tile(row_keys, first, kKeys), p.scale_log2);
  }
  strip.store(static_cast<T *>(p.o) + q_offset, strip_rows);
}

static const void *wmma_kernel_for(const attn_shape &shape) {
  if (shape.dtype == ATTN_F16)
    return shape.D == 64 ? handle(wmma_kernel<__half, 64>) : handle(wmma_kernel<__half, 128>);
  return shape.D == 64 ? handle(wmma_kernel<__nv_bfloat16, 64>) : handle(wmma_kernel<__nv_bfloat16, 128>);
}

static void wmma_bind(const attn_shape *shape, const attn_plan *, const attn_buffers *buffers,
                      attn_pass_args args[ATTN_PASSES_MAX]) {
  put_args(args[0], params_of(*shape, *buffers));
}

#else
static const void *wmma_kernel_for(const attn_shape &) { return nullptr; }
constexpr decltype(attn_variant::bind) wmma_bind = nullptr;
#endif

static const char *wmma_supports(const attn_shape *shape, const attn_tuning *, const device_info *device) {
  return wmma_tile::check(*shape, *device, wmma_tile::smem_bytes(shape->D, 1));
}

static void wmma_plan(const attn_shape *shape, const attn_tuning *, const device_info *, attn_plan *plan) {
  plan->pass_count = 1;
  plan->tile_q = wmma_tile::kRows, plan->tile_kv = wmma_tile::kKeys;
  plan->splits = 1, plan->stages = 1;
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = wmma_kernel_for(*shape);
  set_grid(pass, ceil_div(shape->Sq, wmma_tile::kRows), ATTN_COVERS_Q, shape->Hq, ATTN_COVERS_H, shape->B,
           ATTN_COVERS_B);
  set_block(pass, kWmmaThreads, kWmmaThreads, wmma_tile::smem_bytes(shape->D, 1));
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_wmma = {
    .name = "wmma",
    .summary = "tensor cores through WMMA for QK^T and PV: 64x64 tiles, 4 warps, streaming softmax",
    .limits = "f16, bf16; D 64 or 128; compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .tunables = nullptr,
    .supports = attn::wmma_supports,
    .plan = attn::wmma_plan,
    .bind = attn::wmma_bind,
    .run = nullptr,
};
