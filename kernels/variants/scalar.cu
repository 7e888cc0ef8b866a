/* scalar: FlashAttention-1 on CUDA cores, one thread per query row. Also the template for new
 * variants: copy this file to kernels/variants/NAME.cu, rename, and add VARIANT(NAME) to
 * kernels/variants.def.
 *
 * Idea: a block holds 64 query rows and streams over K and V in tiles of 64 keys through shared
 *   memory. The softmax is online (a running maximum and sum per row), so the Sq x Skv scores never
 *   exist in memory.
 *
 * Source: FlashAttention (Dao et al. 2022), algorithm 1, in its plainest CUDA form.
 *
 * Can win: where launch latency is everything (a few keys), in fp32, and at head dimensions that
 *   tensor-core tiles do not take: any D from 1 to 128.
 *
 * Cannot: win anywhere else. 64 of the 256 threads hold a row; the other 192 only help to load, so a
 *   block computes with 2 of its 8 warps. Every multiply-add runs on the FP32 pipe. The rows' results
 *   leave one thread each, D elements apart, which is uncoalesced.
 *
 * Budget: shared memory, elements: Q 64 (DP + 4), K 64 DP, V 64 DP. At DP = 64 in f16 (64 * 68 + 2 *
 *   64 * 64) * 2 = 25088 bytes, 8 blocks of 228 KB; at DP = 128 in fp32 99328 bytes. Registers per
 *   thread: DP for the output row, 8 weights, 8 to 64 for operands of multiply-adds in flight, some 30
 *   for addresses and loop state: 125 to 170 at DP = 64, 220 to 255 at DP = 128. Times 256 threads, that
 *   allows 2 blocks or 1 on an SM of 65536 registers. */
#include "kernels/tiles/attn_params.cuh"
#include "kernels/tiles/row_tile.cuh"

namespace attn {

/* 1. The geometry, as constants that the kernel and the plan share. */
constexpr uint32_t kScalarThreads = 256;
constexpr uint32_t kScalarRows = 64; /* query rows of a block, one thread each */
constexpr uint32_t kScalarKeys = 64; /* keys per tile */

constexpr uint32_t scalar_smem_bytes(uint32_t DP, uint32_t element_bytes) {
  return row_tile::smem_bytes(kScalarRows, kScalarKeys, DP, element_bytes);
}
static_assert(scalar_smem_bytes(64, 2) == 25088, "the header's budget for f16 at DP = 64");
static_assert(scalar_smem_bytes(128, 4) <= 99 * 1024, "the largest tiles fit a block on compute capability 8.9");
static_assert(kScalarKeys % row_tile::kGroup == 0, "a tile is a whole number of softmax groups");

/* 2. The kernel: one struct by value, external linkage, all memory from the runner. Everything that needs nvcc is in
 *    this #ifdef; the rest of the file also compiles with a C++ compiler alone, for planning without CUDA. */
#ifdef __CUDACC__

template <typename T, uint32_t DP, bool kGeneral>
__global__ void __launch_bounds__(kScalarThreads, kGeneral ? 1 : 0)
    scalar_kernel(const __grid_constant__ row_tile::RowParams p) {
  extern __shared__ __align__(128) unsigned char smem[];
  constexpr uint32_t kQStride = DP + row_tile::kPad;
  T *q_tile = reinterpret_cast<T *>(smem);     /* [kScalarRows][kQStride] */
  T *k_tile = q_tile + kScalarRows * kQStride; /* [kScalarKeys][DP] */
  T *v_tile = k_tile + kScalarKeys * DP;       /* [kScalarKeys][DP] */

  const uint32_t h = blockIdx.x;
  const Sequence s = row_tile::sequence_of<kGeneral>(p, blockIdx.y);
  const attn_row_tile own = row_tile::rows_of<kGeneral>(p, s, blockIdx.z, kScalarRows);
  const uint32_t row0 = own.first, rows = own.rows, row = row0 + threadIdx.x;
  if (kGeneral && rows == 0) return; /* the grid has the tiles of the longest sequence; the whole block leaves */
  const Views &at = p.extras.at;     /* read by the general kernels alone */
  const uint32_t Dv = row_tile::v_columns<kGeneral>(p), kv_h = kv_head(p, h);
  const T *q = static_cast<const T *>(p.q) + row_tile::query_of<kGeneral>(at.q, p, s, h, row0, p.D);
  const size_t k = row_tile::keys_from<kGeneral>(at.k, p, s, kv_h, p.D);
  const size_t v = row_tile::keys_from<kGeneral>(at.v, p, s, kv_h, Dv);
  const size_t q_stride = row_tile::row_stride_of<kGeneral>(at.q, p.D);
  const size_t k_stride = row_tile::row_stride_of<kGeneral>(at.k, p.D);
  const size_t v_stride = row_tile::row_stride_of<kGeneral>(at.v, Dv);
  const bool has_row = threadIdx.x < rows;
  const attn_keys row_keys = has_row ? row_tile::keys_of<kGeneral>(p, s, row, 1) : attn_keys{0, 0};
  const attn_keys tile_keys = row_tile::keys_of<kGeneral>(p, s, row0, rows);
  const attn_blocks blocks = row_tile::blocks_of<kGeneral>(p, blockIdx.y, h, row0);

  row_tile::Row<DP> state;
  state.template start<kGeneral>(p, h);
  row_tile::load_tile<DP, kScalarThreads>(q_tile, kQStride, q, kScalarRows, rows, p.D, q_stride);
  for (uint32_t i = 0; i < blocks.count; ++i) {
    const attn_keys keys_of_tile = attn_blocks_keys(&blocks, i, tile_keys);
    const attn_keys keys_of_row = attn_blocks_keys(&blocks, i, row_keys);
    for (uint32_t first = keys_of_tile.first / kScalarKeys * kScalarKeys; first < keys_of_tile.end;
         first += kScalarKeys) {
      const uint32_t keys = rows_in_tile(s.Skv, first, kScalarKeys);
      __syncthreads(); /* orders the previous tile's reads of K and V before they are overwritten */
      row_tile::load_keys<DP, kScalarThreads, kGeneral>(k_tile, p, p.k, k, at.k, s, kv_h, first, kScalarKeys, keys,
                                                        p.D, k_stride);
      row_tile::load_keys<DP, kScalarThreads, kGeneral>(v_tile, p, p.v, v, at.v, s, kv_h, first, kScalarKeys, keys,
                                                        Dv, v_stride);
      __syncthreads(); /* orders the stores of Q, K and V before the reads by the row threads */
      if (has_row)
        state.template attend<kGeneral>(q_tile + threadIdx.x * kQStride, k_tile, v_tile,
                                        row_tile::within_tile(keys_of_row, first, kScalarKeys), p,
                                        row_tile::scales_of_tile<kGeneral>(p, blockIdx.y, kv_h, first));
    }
  }
  if (has_row) state.template store_row<kGeneral, T>(p, s, h, row);
}

template <typename T, bool kGeneral>
static const void *scalar_of_dim(uint32_t DP) {
  return DP == 64 ? handle(scalar_kernel<T, 64, kGeneral>) : handle(scalar_kernel<T, 128, kGeneral>);
}

/* 3. From a shape to the instance that runs it: the only place that names instances. */
static const void *scalar_kernel_for(const attn_problem &shape) {
  const uint32_t DP = row_tile::padded_dim(shape);
  if (shape.dtype == ATTN_E4M3) return scalar_of_dim<__nv_fp8_e4m3, true>(DP);
  return for_type<__half, __nv_bfloat16, float>(shape.dtype, [&](auto t) {
    using T = typename decltype(t)::type;
    return row_tile::is_general(shape) ? scalar_of_dim<T, true>(DP) : scalar_of_dim<T, false>(DP);
  });
}

/* 4. The argument of each pass. */
static struct status scalar_bind(const attn_problem *shape, const attn_plan *, const attn_buffers *buffers,
                                 attn_pass_args args[ATTN_PASSES_MAX]) {
  put_args(args[0], row_tile::row_params_of(*shape, *buffers));
  return status_ok();
}

#else
static const void *scalar_kernel_for(const attn_problem &) { return nullptr; }
constexpr decltype(attn_variant::bind) scalar_bind = nullptr;
#endif

/* Of the rows of a head. */
static uint32_t scalar_tiles(const attn_problem &shape) {
  return attn_row_tiles(shape.sparse.block, shape.Sq, kScalarRows);
}

/* 5. What it can run, as a sentence when it cannot. */
static const char *scalar_supports(const attn_problem *shape, const attn_tuning *, const device_info *device) {
  if (shape->B > kGridYzMax) return "B must be at most 65535, the limit of grid.y";
  if (scalar_tiles(*shape) > kGridYzMax)
    return "Sq must be at most 64 * 65535, the limit of grid.z; where it is sparse, in blocks of 64 or more";
  return check_device(*device, scalar_smem_bytes(row_tile::padded_dim(*shape), attn_dtype_bytes(shape->dtype)));
}

/* 6. The launch, exactly as it will happen; diagnostics read the same struct. */
static void scalar_plan(const attn_problem *shape, const attn_tuning *, const device_info *, attn_plan *plan) {
  plan->pass_count = 1;
  plan->tile_q = kScalarRows, plan->tile_kv = kScalarKeys;
  plan->splits = 1, plan->stages = 1;
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = scalar_kernel_for(*shape);
  set_grid(pass, shape->Hq, ATTN_COVERS_H, shape->B, ATTN_COVERS_B, scalar_tiles(*shape), ATTN_COVERS_Q);
  set_block(pass, kScalarThreads, kScalarRows,
            scalar_smem_bytes(row_tile::padded_dim(*shape), attn_dtype_bytes(shape->dtype)));
}

}  // namespace attn

/* 7. The descriptor that the registry finds. */
extern "C" const struct attn_variant attn_variant_scalar = {
    .name = "scalar",
    .summary = "FlashAttention-1 on CUDA cores: 64x64 tiles, one thread per query row, 64 of 256 threads compute",
    .limits = "compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_FP32,
    .takes = attn::row_tile::kTakes, /* problems with an axis whose bit is not set here are skipped */
    .dtypes = ATTN_DTYPES_FLOAT | ATTN_DTYPE_BIT(ATTN_E4M3),
    .dims = {.most = 128, .why = "a row's output is held in the registers of one thread"},
    .tunables = nullptr,
    .supports = attn::scalar_supports,
    .plan = attn::scalar_plan,
    .bind = attn::scalar_bind,
    .run = nullptr,
};
