/* serial: a grid that covers the query rows only; batch and heads are loops inside the kernel.
 *
 * Idea: one block takes 256 query rows, 128 at a time, and walks over B, over H and over the keys by
 *   itself.
 *
 * Source: a common first draft: the launch is dim3 grid(blocks_of_S), and batch and heads become `for`
 *   loops. Kept as an example of that mistake; the same row code under a full grid is `scalar`.
 *
 * Can win: never. At B = H = 1 and long S it is merely as good as any other one-thread-per-row kernel.
 *
 * Cannot: use the GPU: the number of blocks is ceil(Sq / 256) whatever B and H are (2 blocks at S =
 *   512), so time grows as B * H on an empty GPU. The fix costs one line: put B * H on a grid axis.
 *
 * Budget: shared memory, elements: Q 128 (DP + 4), K 32 DP, V 32 DP; at DP = 128 in fp32 100352 bytes.
 *   Registers per thread as in `scalar`: 128 to 170 at DP = 64, 225 to 255 at DP = 128. */
#include "kernels/tiles/attn_params.cuh"
#include "kernels/tiles/row_tile.cuh"

namespace attn {

constexpr uint32_t kSerialThreads = 128;
constexpr uint32_t kSerialChunks = 2; /* chunks of kSerialThreads rows per block, one after the other */
constexpr uint32_t kSerialKeys = 32;  /* keys per tile */
/* Blocks per SM that the registers allow: 255 of them per thread. Left to itself, ptxas aims at 4 blocks and spills.
 */
constexpr uint32_t kSerialResident = 2;

constexpr uint32_t serial_smem_bytes(uint32_t DP, uint32_t element_bytes) {
  return row_tile::smem_bytes(kSerialThreads, kSerialKeys, DP, element_bytes);
}
static_assert(serial_smem_bytes(128, 4) == 100352, "the header's budget for fp32 at DP = 128");
static_assert(serial_smem_bytes(128, 4) <= 99 * 1024, "the largest tiles fit a block on compute capability 8.9");
static_assert(kSerialKeys % row_tile::kGroup == 0, "a tile is a whole number of softmax groups");

#ifdef __CUDACC__

/* One chunk of rows of one head of sequence b: rows.first + threadIdx.x is this thread's row. */
template <typename T, uint32_t DP, bool kGeneral>
__device__ __forceinline__ void serial_chunk(const row_tile::RowParams &p, unsigned char *smem, const Sequence &s,
                                             uint32_t b, uint32_t h, attn_row_tile chunk) {
  constexpr uint32_t kQStride = DP + row_tile::kPad;
  T *q_tile = reinterpret_cast<T *>(smem);        /* [kSerialThreads][kQStride] */
  T *k_tile = q_tile + kSerialThreads * kQStride; /* [kSerialKeys][DP] */
  T *v_tile = k_tile + kSerialKeys * DP;          /* [kSerialKeys][DP] */
  const uint32_t row0 = chunk.first, rows = chunk.rows, row = row0 + threadIdx.x;
  const Views &at = p.extras.at; /* read by the general kernels alone */
  const uint32_t Dv = row_tile::v_columns<kGeneral>(p), kv_h = kv_head(p, h);
  const T *q = static_cast<const T *>(p.q) + row_tile::query_of<kGeneral>(at.q, p, s, h, row0, p.D);
  const size_t k = row_tile::keys_from<kGeneral>(at.k, p, s, kv_h, p.D);
  const size_t v = row_tile::keys_from<kGeneral>(at.v, p, s, kv_h, Dv);
  const size_t q_stride = row_tile::row_stride_of<kGeneral>(at.q, p.D);
  const size_t k_stride = row_tile::row_stride_of<kGeneral>(at.k, p.D);
  const size_t v_stride = row_tile::row_stride_of<kGeneral>(at.v, Dv);
  const attn_keys row_keys = threadIdx.x < rows ? row_tile::keys_of<kGeneral>(p, s, row, 1) : attn_keys{0, 0};
  const attn_keys tile_keys = row_tile::keys_of<kGeneral>(p, s, row0, rows);
  const attn_blocks blocks = row_tile::blocks_of<kGeneral>(p, b, h, row0);

  row_tile::Row<DP> state;
  state.template start<kGeneral>(p, h);
  __syncthreads(); /* orders the previous chunk's last reads of Q before Q is overwritten */
  row_tile::load_tile<DP, kSerialThreads>(q_tile, kQStride, q, kSerialThreads, rows, p.D, q_stride);
  for (uint32_t i = 0; i < blocks.count; ++i) {
    const attn_keys keys_of_tile = attn_blocks_keys(&blocks, i, tile_keys);
    const attn_keys keys_of_row = attn_blocks_keys(&blocks, i, row_keys);
    for (uint32_t first = keys_of_tile.first / kSerialKeys * kSerialKeys; first < keys_of_tile.end;
         first += kSerialKeys) {
      const uint32_t keys = rows_in_tile(s.Skv, first, kSerialKeys);
      __syncthreads(); /* orders the previous tile's reads of K and V before they are overwritten */
      row_tile::load_keys<DP, kSerialThreads, kGeneral>(k_tile, p, p.k, k, at.k, s, kv_h, first, kSerialKeys, keys,
                                                        p.D, k_stride);
      row_tile::load_keys<DP, kSerialThreads, kGeneral>(v_tile, p, p.v, v, at.v, s, kv_h, first, kSerialKeys, keys,
                                                        Dv, v_stride);
      __syncthreads(); /* orders the stores of Q, K and V before the reads by all rows */
      state.template attend<kGeneral>(q_tile + threadIdx.x * kQStride, k_tile, v_tile,
                                      row_tile::within_tile(keys_of_row, first, kSerialKeys), p,
                                      row_tile::scales_of_tile<kGeneral>(p, b, kv_h, first));
    }
  }
  if (threadIdx.x < rows) state.template store_row<kGeneral, T>(p, s, h, row);
}

template <typename T, uint32_t DP, bool kGeneral>
__global__ void __launch_bounds__(kSerialThreads, kSerialResident)
    serial_kernel(const __grid_constant__ row_tile::RowParams p) {
  extern __shared__ __align__(128) unsigned char smem[];
  for (uint32_t b = 0; b < p.B; ++b) {
    const Sequence s = row_tile::sequence_of<kGeneral>(p, b);
    for (uint32_t h = 0; h < p.Hq; ++h)
      for (uint32_t chunk = 0; chunk < kSerialChunks; ++chunk) {
        const attn_row_tile rows =
            row_tile::rows_of<kGeneral>(p, s, blockIdx.x * kSerialChunks + chunk, kSerialThreads);
        if (rows.rows > 0) serial_chunk<T, DP, kGeneral>(p, smem, s, b, h, rows);
      }
  }
}

template <typename T, bool kGeneral>
static const void *serial_of_dim(uint32_t DP) {
  return DP == 64 ? handle(serial_kernel<T, 64, kGeneral>) : handle(serial_kernel<T, 128, kGeneral>);
}

static const void *serial_kernel_for(const attn_problem &shape) {
  const uint32_t DP = row_tile::padded_dim(shape);
  if (shape.dtype == ATTN_E4M3) return serial_of_dim<__nv_fp8_e4m3, true>(DP);
  return for_type<__half, __nv_bfloat16, float>(shape.dtype, [&](auto t) {
    using T = typename decltype(t)::type;
    return row_tile::is_general(shape) ? serial_of_dim<T, true>(DP) : serial_of_dim<T, false>(DP);
  });
}

static struct status serial_bind(const attn_problem *shape, const attn_plan *, const attn_buffers *buffers,
                                 attn_pass_args args[ATTN_PASSES_MAX]) {
  put_args(args[0], row_tile::row_params_of(*shape, *buffers));
  return status_ok();
}

#else
static const void *serial_kernel_for(const attn_problem &) { return nullptr; }
constexpr decltype(attn_variant::bind) serial_bind = nullptr;
#endif

static const char *serial_supports(const attn_problem *shape, const attn_tuning *, const device_info *device) {
  return check_device(*device, serial_smem_bytes(row_tile::padded_dim(*shape), attn_dtype_bytes(shape->dtype)));
}

static void serial_plan(const attn_problem *shape, const attn_tuning *, const device_info *, attn_plan *plan) {
  plan->pass_count = 1;
  plan->tile_q = kSerialThreads, plan->tile_kv = kSerialKeys; /* rows that share a read of K and V, not a block's */
  plan->splits = 1, plan->stages = 1;
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = serial_kernel_for(*shape);
  const uint32_t tiles = attn_row_tiles(shape->sparse.block, shape->Sq, kSerialThreads);
  set_grid(pass, ceil_div(tiles, kSerialChunks), ATTN_COVERS_Q, 1, ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING);
  set_block(pass, kSerialThreads, kSerialThreads,
            serial_smem_bytes(row_tile::padded_dim(*shape), attn_dtype_bytes(shape->dtype)));
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_serial = {
    .name = "serial",
    .summary = "example of a mistake: the grid covers q rows only, B and H are loops inside the kernel",
    .limits = "compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_FP32,
    .takes = attn::row_tile::kTakes,
    .dtypes = ATTN_DTYPES_FLOAT | ATTN_DTYPE_BIT(ATTN_E4M3),
    .dims = {.most = 128, .why = "a row's output is held in the registers of one thread"},
    .tunables = nullptr,
    .supports = attn::serial_supports,
    .plan = attn::serial_plan,
    .bind = attn::serial_bind,
    .run = nullptr,
};
