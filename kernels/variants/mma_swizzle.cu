/* mma_swizzle: `cp_async` without WMMA. mma.sync and ldmatrix let scores, weights and the output stay in registers;
 * what is left to shared memory are Q, K and V. Three rungs on top are tunables.
 *
 * Idea: 128 query rows per block (64 when those are too few blocks), 4 warps of 32 (16) rows, tiles of 64 keys
 *   through a ring of `stages` buffers that all threads fill with cp.async. WMMA cannot read a swizzled tile, and
 *   hides which lane holds which element; so this rung leaves it, and the rest follows.
 *
 * Source: FlashAttention-2 (Dao 2023), its Ampere kernels' layout; the conditional rescaling of
 *   FlashAttention-4: the softmax reference moves only when it would grow by more than 2^2.
 *
 * Can win: against every WMMA variant. Clocks of an SM per 64 keys for 128 rows, D = 64 / 128:
 *     tensor cores    4 * 128 * 64 * D / 2720 FLOP of mma.sync             771 / 1542
 *     shared memory   4 warps * (K + V; at D = 128 also Q) + the copies   640 / 1536
 *     ex2             128 * 64 / 16                                       512 /  512
 *   `cp_async` moves S, P and O as well, and K and V for 16 rows at a time: 2560 at D = 64 for as many rows.
 *
 * Cannot: pass 66 % of the tensor peak of compute capability 9.0, which only wgmma reaches; or fill a GPU
 *   with few q tiles: see `split_kv`. At D = 128 shared memory is as busy as the tensor cores.
 *
 * Predicted gain of each rung over the one below, on an H200:
 *   swizzle=0,epilogue=0,persistent=0  over `cp_async`: 3 to 4 times at long S: the traffic above. 190 (D = 64)
 *                 and 250 TFLOP/s (D = 128) at least.
 *   stages=2      over 1: 10 to 20 %: a load takes 310 clocks or more of about 1200 to 2500 per tile, of which the
 *                 other resident block covers half. 3 over 2: nothing at D = 64; at D = 128 128 KB leave
 *                 one block per SM and cost 20 % or more.
 *   swizzle=1     0 to 2 %. Padded rows are free of bank conflicts too; they cost 1 / 16 (D = 128) or 1 / 8 of the
 *                 shared memory, and registers, not memory, keep it at two blocks per SM.
 *   epilogue=1    O through shared memory is 2 * 128 * D * 4 bytes, 512 / 1024 clocks, of 8 * 1200 / 8 * 2500 for
 *                 S = 512: 2 to 5 % there, nothing at S = 16384.
 *   persistent=1  hides a block's first loads (1 us of about 10 at S = 512, half of it covered by the other
 *                 block): 3 to 5 % when there are several items per block, nothing otherwise; causal within 3 %
 *                 either way, since a fixed order replaces the hardware's.
 *   D = 256       32 rows per warp would need 256 registers for O alone, so 8 warps have 16 each, and each reads all
 *                 of K and V: 2300 clocks of shared memory for 64 rows and keys, 1542 of the tensor cores: 300
 *                 TFLOP/s.
 *   All of them: 290 (D = 64) and 340 TFLOP/s (D = 128) at S = 16384; B = 8, H = 16, S = 512, D = 64 in 28 us,
 *   B = 1, H = 8 in 7.5 us: 8 tiles in a row at 0.6 us, launch, first load, store.
 *
 * Budget: shared memory (rows + 2 * stages * 64) * 2 D, and 16 bytes more per row without swizzle; 128 rows and 2
 *   stages: 48 KB at D = 64, 96 KB at D = 128, 2 blocks of 228 KB. Registers for 32 rows per warp: O 2 * D / 2,
 *   S 64, Q 32 at D = 64 (at D = 128 read again for each tile), K or V 4 to 8, maximum and sum 8, addresses 20 to
 *   30: 64 + 64 + 32 = 160 plus 65 at D = 64; 128 + 64 + 8 = 200 plus 55 at D = 128, of 255. At D = 256 192 KB
 *   and 128 + 32 + 24 = 184; where there is less shared memory, or few q tiles, 64 rows, 32 keys and 96 KB. */
#include "kernels/occupancy.h"
#include "kernels/tiles/mma_tile.cuh"

namespace attn {

/* The argument of the kernel. An item is one q tile of one head of one batch. */
struct MmaParams {
  Params attention;
  uint32_t q_tiles, items, stages;
};

/* Query rows of a q tile: 64, or 128 with `blocks` = 2. Up to D = 128 a warp takes twice the rows then; at D = 256 it
 * has registers for 16, and there are twice the warps. */
constexpr ATTN_HD uint32_t mma_rows(uint32_t blocks) { return 64 * blocks; }
constexpr ATTN_HD uint32_t mma_warp_blocks(uint32_t D, uint32_t blocks) { return D > 128 ? 1 : blocks; }
constexpr ATTN_HD uint32_t mma_threads(uint32_t D, uint32_t blocks) {
  return mma_rows(blocks) / (mma_tile::kFragmentRows * mma_warp_blocks(D, blocks)) * 32;
}

/* Blocks on an SM that __launch_bounds__ asks registers for: of 128 threads 65536 / (2 * 128) = 256 where 32 rows per
 * warp or D >= 128 need more than the 170 of three blocks. */
constexpr ATTN_HD uint32_t mma_blocks_per_sm(uint32_t D, uint32_t blocks) {
  return mma_threads(D, blocks) > 128 ? 1 : blocks == 2 || D >= 128 ? 2 : 3;
}

#ifdef __CUDACC__

/* A q tile and the key tiles that its last row attends. */
struct MmaItem {
  uint32_t b, h, row, tiles;
};

/* The item of this block in round `round` of the grid over the items. Odd rounds run backwards, which evens out what
 * the blocks get when items become shorter. At least a.items: there is none, nor in later rounds. */
__device__ __forceinline__ uint32_t mma_item_index(uint32_t round) {
  return round * gridDim.x + (round % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
}

/* Full masks: q tiles of a head are neighbours and share its K and V in L2. Causal: the longest q tiles of all heads
 * come first, so that the last blocks at work have short ones. */
template <uint32_t D, uint32_t Blocks>
__device__ __forceinline__ MmaItem mma_item(const MmaParams &a, uint32_t index) {
  const Params &p = a.attention;
  const uint32_t heads = p.B * p.Hq;
  const uint32_t head = p.causal ? index % heads : index / a.q_tiles;
  const uint32_t q_tile = p.causal ? a.q_tiles - 1 - index / heads : index % a.q_tiles;
  const uint32_t row = q_tile * mma_rows(Blocks);
  const uint32_t last = row + rows_in_tile(p.Sq, row, mma_rows(Blocks)) - 1;
  return {head / p.Hq, head % p.Hq, row, ceil_div(visible_keys(p, last), mma_tile::keys_of(D, mma_rows(Blocks)))};
}

/* Where K and V of an item's head begin. The offset takes two registers all through the loop over the keys. Below
 * compute capability 9.0 ptxas spills others for it (D = 128, 32 padded rows per warp), so there the head's number is
 * kept, in one, and multiplied out for each tile. */
template <uint32_t D>
struct MmaKvHead {
#if __CUDA_ARCH__ >= 900
  size_t offset = 0;

  __device__ __forceinline__ void open(const Params &p, const MmaItem &item) {
    offset = row_offset(item.b, p.Hkv, kv_head(p, item.h), p.Skv, 0, D);
  }
  __device__ __forceinline__ size_t at(const Params &, uint32_t key) const { return offset + (size_t)key * D; }
#else
  uint32_t number = 0;

  __device__ __forceinline__ void open(const Params &p, const MmaItem &item) {
    number = item.b * p.Hkv + kv_head(p, item.h);
  }
  __device__ __forceinline__ size_t at(const Params &p, uint32_t key) const {
    return ((size_t)number * p.Skv + key) * D;
  }
#endif
};

/* Copies K and V tiles into the ring, in the order in which all items of this block use them: with a tile ahead of
 * the computation it is already in the next item while the last tiles of one are at work. Called by all threads. */
template <typename T, uint32_t D, uint32_t Blocks, bool Swizzle>
struct MmaLoader {
  static constexpr uint32_t kKeys = mma_tile::keys_of(D, mma_rows(Blocks)),
                            kTileBytes = kKeys * mma_tile::row_bytes(D, Swizzle);
  const MmaParams &a;
  const uint32_t ring;
  uint32_t stage; /* buffer of the next tile; also of the one in use, which is `stages` tiles behind */
  uint32_t round, tile, tiles;
  MmaKvHead<D> head; /* of the item */

  __device__ __forceinline__ MmaLoader(const MmaParams &params, uint32_t ring_address)
      : a(params), ring(ring_address), stage(0), round(0) {
    open();
  }

  /* Starts the next tile, if there is one, and closes a group of copies in any case. */
  __device__ __forceinline__ void next() {
    if (tiles != 0) {
      const Params &p = a.attention;
      const uint32_t first = tile * kKeys, to = ring + 2 * stage * kTileBytes;
      const uint32_t keys = rows_in_tile(p.Skv, first, kKeys);
      const size_t offset = head.at(p, first);
      copy(to, static_cast<const T *>(p.k) + offset, keys);
      copy(to + kTileBytes, static_cast<const T *>(p.v) + offset, keys);
      if (++tile == tiles) ++round, open();
    }
    ptx::cp_async_commit();
    stage = stage + 1 == a.stages ? 0 : stage + 1;
  }

 private:
  /* Goes to this block's next item that attends any key; tiles = 0 when there is none. */
  __device__ __forceinline__ void open() {
    tile = tiles = 0;
    for (uint32_t index; tiles == 0 && (index = mma_item_index(round)) < a.items; round += tiles == 0) {
      const MmaItem item = mma_item<D, Blocks>(a, index);
      tiles = item.tiles;
      head.open(a.attention, item);
    }
  }
  static __device__ __forceinline__ void copy(uint32_t to, const T *rows, uint32_t valid) {
    mma_tile::copy_rows<T, D, Swizzle, kKeys, mma_threads(D, Blocks)>(to, rows, valid, threadIdx.x);
  }
};

/* First query row of this warp's strip. */
template <uint32_t D, uint32_t Blocks>
__device__ __forceinline__ uint32_t mma_strip_row(const MmaItem &item) {
  return item.row + threadIdx.x / kWarp * mma_tile::kFragmentRows * mma_warp_blocks(D, Blocks);
}

/* First element of the strip in Q and O; an address inside the tensor even when no row of the strip exists. */
template <uint32_t D, uint32_t Blocks>
__device__ __forceinline__ size_t mma_strip_offset(const Params &p, const MmaItem &item) {
  const uint32_t row = mma_strip_row<D, Blocks>(item);
  return row_offset(item.b, p.Hq, item.h, p.Sq, row < p.Sq ? row : item.row, D);
}

/* Starts the copies of a warp's own Q rows: nobody else reads them, so nobody else has to be asked. The item is
 * worked out again here and in mma_store: what they need would occupy registers during the whole loop over the keys.
 */
template <typename T, uint32_t D, uint32_t Blocks, bool Swizzle>
__device__ __forceinline__ void mma_load_q(const MmaParams &a, uint32_t round, uint32_t q_tile) {
  const uint32_t index = mma_item_index(ptx::opaque(round));
  if (index < a.items) {
    const MmaItem item = mma_item<D, Blocks>(a, index);
    __syncwarp(); /* orders all lanes' reads of the previous Q, or of what was staged there, before the copies */
    constexpr uint32_t kRows = mma_tile::kFragmentRows * mma_warp_blocks(D, Blocks);
    const T *q = static_cast<const T *>(a.attention.q) + mma_strip_offset<D, Blocks>(a.attention, item);
    const uint32_t valid = rows_in_tile(a.attention.Sq, mma_strip_row<D, Blocks>(item), kRows);
    if (item.tiles != 0) mma_tile::copy_rows<T, D, Swizzle, kRows, kWarp>(q_tile, q, valid, threadIdx.x % kWarp);
  }
  ptx::cp_async_commit();
}

template <typename T, uint32_t D, uint32_t Blocks, bool Swizzle>
using MmaStrip = mma_tile::Strip<T, D, mma_warp_blocks(D, Blocks), Swizzle, mma_tile::keys_of(D, mma_rows(Blocks))>;

/* Writes the strip's rows of O. */
template <typename T, uint32_t D, uint32_t Blocks, bool Swizzle, bool Fused>
__device__ __forceinline__ void mma_store(const MmaParams &a, uint32_t round,
                                          const MmaStrip<T, D, Blocks, Swizzle> &strip, unsigned char *staging) {
  const MmaItem item = mma_item<D, Blocks>(a, mma_item_index(ptx::opaque(round)));
  const uint32_t valid = rows_in_tile(a.attention.Sq, mma_strip_row<D, Blocks>(item), strip.kRows);
  T *const o = static_cast<T *>(a.attention.o) + mma_strip_offset<D, Blocks>(a.attention, item);
  if constexpr (Fused)
    strip.store(o, valid);
  else
    strip.store_staged(reinterpret_cast<float *>(staging), o, valid);
}

/* Waits until the block may read the next tile of the ring, and starts another copy into the buffer it left last.
 * `all`: Q was asked for after that tile; wait for it as well. */
template <typename Loader>
__device__ __forceinline__ void mma_next_tile(Loader &loader, uint32_t stages, bool all) {
  if (stages == 1) {
    __syncthreads(); /* orders all warps' reads of the only buffer before it is overwritten */
    loader.next();
  }
  if (all || stages < 3)
    ptx::cp_async_wait<0>();
  else
    ptx::cp_async_wait<1>();
  __syncthreads(); /* orders all threads' copies before the reads; and the reads of the tile before it, see below */
  if (stages > 1) loader.next(); /* overwrites the tile before this one */
}

/* grid: the items, or fewer blocks that take several each. */
template <typename T, uint32_t D, uint32_t Blocks, bool Swizzle, bool Fused>
__global__ void __launch_bounds__(mma_threads(D, Blocks), mma_blocks_per_sm(D, Blocks))
    mma_swizzle_kernel(const __grid_constant__ MmaParams a) {
  using namespace mma_tile;
  using Loader = MmaLoader<T, D, Blocks, Swizzle>;
  extern __shared__ __align__(1024) unsigned char smem_base[];
  constexpr uint32_t kRowBytes = row_bytes(D, Swizzle);
  constexpr uint32_t kStripBytes = kFragmentRows * mma_warp_blocks(D, Blocks) * kRowBytes;
  const Params &p = a.attention;
  unsigned char *const q_smem = smem_base + threadIdx.x / kWarp * kStripBytes;
  const uint32_t q_tile = ptx::shared_address(q_smem),
                 ring = ptx::shared_address(smem_base) + mma_rows(Blocks) * kRowBytes;

  mma_load_q<T, D, Blocks, Swizzle>(a, 0, q_tile);
  Loader loader(a, ring);
  for (uint32_t i = 1; i < a.stages; ++i) loader.next();
  MmaStrip<T, D, Blocks, Swizzle> strip(q_tile);
  for (uint32_t round = 0, index; (index = mma_item_index(round)) < a.items; ++round) {
    const MmaItem item = mma_item<D, Blocks>(a, index);
    const uint32_t first_row = mma_strip_row<D, Blocks>(item), valid = rows_in_tile(p.Sq, first_row, strip.kRows);
    const uint32_t row_keys = visible_keys(p, first_row); /* of the first row; all others attend as many or more */
    const uint32_t strip_keys = valid ? visible_keys(p, first_row + valid - 1) : 0;
    strip.reset();
    for (uint32_t tile = 0; tile < item.tiles; ++tile) {
      mma_next_tile(loader, a.stages, tile == 0 && round != 0);
      const uint32_t first = tile * strip.kKeys, buffer = loader.ring + 2 * loader.stage * Loader::kTileBytes;
      if (tile == 0) strip.take_q();
      if (first >= strip_keys) continue;
      strip.multiply_qk(buffer);
      if (first + strip.kKeys > row_keys) strip.mask(p, first_row, first);
      strip.online_softmax(p.scale_log2);
      strip.multiply_pv(buffer + Loader::kTileBytes);
    }
    if (Fused) mma_load_q<T, D, Blocks, Swizzle>(a, round + 1, strip.q_tile);
    mma_store<T, D, Blocks, Swizzle, Fused>(a, round, strip, q_smem);
    if (!Fused) mma_load_q<T, D, Blocks, Swizzle>(a, round + 1, strip.q_tile);
  }
}

template <typename T, uint32_t D, uint32_t Blocks>
static const void *mma_best() {
  return handle(mma_swizzle_kernel<T, D, Blocks, true, true>);
}

template <typename T>
static const void *mma_best_of_dim(uint32_t D, uint32_t blocks) {
  if (D == 64) return blocks == 2 ? mma_best<T, 64, 2>() : mma_best<T, 64, 1>();
  if (D == 128) return blocks == 2 ? mma_best<T, 128, 2>() : mma_best<T, 128, 1>();
  return blocks == 2 ? mma_best<T, 256, 2>() : mma_best<T, 256, 1>();
}

template <uint32_t D, uint32_t Blocks>
static const void *mma_rung(bool swizzle, bool fused) {
  if (swizzle) return handle(mma_swizzle_kernel<__half, D, Blocks, true, false>);
  return fused ? handle(mma_swizzle_kernel<__half, D, Blocks, false, true>)
               : handle(mma_swizzle_kernel<__half, D, Blocks, false, false>);
}

/* The rungs below the best layout are there for measuring what it gains, in fp16 at D = 64 and 128. */
static const void *mma_kernel_for(const attn_problem &shape, uint32_t blocks, bool swizzle, bool fused) {
  if (swizzle && fused)
    return for_type<__half, __nv_bfloat16>(
        shape.dtype, [&](auto t) { return mma_best_of_dim<typename decltype(t)::type>(shape.D, blocks); });
  if (shape.D == 64) return blocks == 2 ? mma_rung<64, 2>(swizzle, fused) : mma_rung<64, 1>(swizzle, fused);
  return blocks == 2 ? mma_rung<128, 2>(swizzle, fused) : mma_rung<128, 1>(swizzle, fused);
}

static struct status mma_bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                              attn_pass_args args[ATTN_PASSES_MAX]) {
  MmaParams params = {};
  params.attention = params_of(*shape, *buffers);
  params.q_tiles = ceil_div(shape->Sq, plan->tile_q);
  params.items = shape->B * shape->Hq * params.q_tiles;
  params.stages = plan->stages;
  put_args(args[0], params);
  return status_ok();
}

#else
static const void *mma_kernel_for(const attn_problem &, uint32_t, bool, bool) { return nullptr; }
constexpr decltype(attn_variant::bind) mma_bind = nullptr;
#endif

enum { MMA_SWIZZLE, MMA_EPILOGUE, MMA_PERSISTENT, MMA_STAGES }; /* indices into the tuning */

static const attn_tunable mma_tunables[] = {
    {.name = "swizzle",
     .max = 1,
     .default_value = 1,
     .help = "1: shared-memory rows are XOR-swizzled, 0: padded by 16 bytes"},
    {.name = "epilogue",
     .max = 1,
     .default_value = 1,
     .help = "1: O is normalised and stored from registers, 0: through shared memory"},
    {.name = "persistent",
     .max = 1,
     .default_value = 1,
     .help = "1: as many blocks as fit on the GPU loop over the q tiles, 0: one block per q tile"},
    {.name = "stages",
     .min = 1,
     .max = 3,
     .default_value = 2,
     .help = "K/V tiles in the ring of shared-memory buffers; 1: nothing is loaded ahead"},
    {.name = nullptr},
};

static uint64_t mma_items(const attn_problem &shape, uint32_t blocks) {
  return (uint64_t)shape.B * shape.Hq * ceil_div(shape.Sq, mma_rows(blocks));
}

static uint32_t mma_smem(const attn_problem &shape, const attn_tuning &tuning, uint32_t blocks) {
  return mma_tile::smem_bytes(shape.D, mma_rows(blocks), (uint32_t)tuning.value[MMA_STAGES],
                              tuning.value[MMA_SWIZZLE] != 0);
}

/* 128 rows halve the reads of K and V per multiply-add, from shared memory or, at D = 256, from L2; 64 make twice the
 * blocks when they are scarce, and fit into the shared memory of smaller GPUs. */
static uint32_t mma_blocks(const attn_problem &shape, const attn_tuning &tuning, const device_info &device) {
  const bool enough = shape.Sq > mma_rows(1) && mma_items(shape, 2) >= device.sms;
  return enough && check_device(device, mma_smem(shape, tuning, 2)) == nullptr ? 2 : 1;
}

static const char *mma_supports(const attn_problem *shape, const attn_tuning *tuning, const device_info *device) {
  const bool rung = tuning->value[MMA_SWIZZLE] == 0 || tuning->value[MMA_EPILOGUE] == 0;
  if (rung && (shape->dtype != ATTN_F16 || shape->D == 256))
    return "swizzle=0 and epilogue=0 need f16 and D 64 or 128";
  if (mma_items(*shape, 1) > INT32_MAX) return "B * Hq * ceil(Sq / 64) must be at most 2^31 - 1, the limit of grid.x";
  return check_device(*device, mma_smem(*shape, *tuning, mma_blocks(*shape, *tuning, *device)));
}

static void mma_plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *device,
                     attn_plan *plan) {
  const uint32_t blocks = mma_blocks(*shape, *tuning, *device), smem = mma_smem(*shape, *tuning, blocks);
  const uint32_t threads = mma_threads(shape->D, blocks);
  const uint32_t items = (uint32_t)mma_items(*shape, blocks);
  const uint32_t registers = device->regs_per_sm / (threads * mma_blocks_per_sm(shape->D, blocks));
  const uint32_t resident = occupancy_of(device, threads, registers / 8 * 8, smem).resident_blocks * device->sms;
  plan->pass_count = 1;
  plan->tile_q = mma_rows(blocks), plan->tile_kv = mma_tile::keys_of(shape->D, plan->tile_q);
  plan->splits = 1, plan->stages = (uint32_t)tuning->value[MMA_STAGES];
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = mma_kernel_for(*shape, blocks, tuning->value[MMA_SWIZZLE] != 0, tuning->value[MMA_EPILOGUE] != 0);
  set_grid(pass, tuning->value[MMA_PERSISTENT] && resident < items ? resident : items,
           ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q, 1, ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING);
  set_block(pass, threads, threads, smem);
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_mma_swizzle = {
    .name = "mma_swizzle",
    .summary =
        "mma.sync with scores, weights and output in registers; rungs: swizzle, fused epilogue, persistent blocks",
    .limits = "compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = "mma.m16n8k16 has no fp32 inputs",
    .dims = {.one_of = {64, 128, 256}},
    .tunables = attn::mma_tunables,
    .supports = attn::mma_supports,
    .plan = attn::mma_plan,
    .bind = attn::mma_bind,
    .run = nullptr,
};
