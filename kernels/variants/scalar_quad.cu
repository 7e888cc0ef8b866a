/* scalar_quad: `scalar` with all 256 threads computing. Four threads share a query row (eight with rows=32), and four
 * tunables add the classic improvements of a CUDA-core kernel one at a time.
 *
 * Idea: the sharers of a row divide the keys for Q K^T, whole dot products each, so that every exp is computed once;
 *   the maximum is brought together by shuffles. For P V they divide the columns: each weight is broadcast by a
 *   shuffle from the thread that has it. Rows of 32 keep the 256 threads and give 8 to a row, which halves the work
 *   of a block and doubles the blocks.
 *
 * Source: FlashAttention's algorithm 1 with a warp-level split of the row; the rungs are textbook CUDA.
 *
 * Can win: against `scalar` always. In fp32, and at head dimensions that tensor-core tiles do not take, it is the
 *   fastest here.
 *
 * Cannot: near the FP32 peak: one operand of each multiply-add comes from shared memory and, in 16 bits, is converted
 *   first, so at best 2 in 5 instructions are multiply-adds. A thread would have to hold several rows.
 *
 * Predicted, f16, D = 64, from instructions per tile of 64 keys:
 *   scalar: a thread does 64 * 64 * 2 = 8192 multiply-adds, as many conversions, 2200 loads, 64 * 17 for softmax and
 *     rescaling: 20000 instructions on 2 of 8 warps, that is on 2 of an SM's 4 schedulers, one warp each. One warp
 *     alone issues at some 0.6 per clock: 33000 clocks. Copying a tile element by element: 32 rounds, four loads in
 *     flight, 8 round trips to L2 of 300 to 500 clocks: 3000. Sum 36000.
 *   rows=64,pad=1 (default): 2048 multiply-adds, 2300 conversions, 580 loads, 64 + 8 shuffles, 250 of the rest:
 *     5200 instructions on 8 warps, two per scheduler: 10400 issue slots, 12000 clocks, + 3000 = 15000.
 *     Gain 2.4 where blocks are alone on their SMs (n6: B=H=1), 2.0 to 2.5 on a full GPU (v3: B=8, H=16), where
 *     `scalar` holds 2 blocks per SM and this one 3.
 *   pad=0, the rung below: rows of 128 bytes all start at bank 0: 4 keys collide 4 ways, 8 rows of Q 8 ways. Shared-
 *     memory cycles per tile and SM: 8 * (256 * 4 + 64 * 8 + 256) = 14300 instead of 8 * 576 = 4600, above the 10400
 *     issue slots: padding gains 1.3 (rows=64). With rows=32 8 keys collide 8 ways: 8 * (128 * 8 + 32 * 4 + 128) =
 *     10200 against 5200: gains 1.6.
 *   vec=1: 2 loads and 2 stores of 16 bytes per thread and tile of K or V instead of 16 of each with their index
 *     arithmetic, and one round trip instead of 4: 3000 clocks become 700. Gain 1.15 to 1.2; 1.05 on a full GPU,
 *     where other blocks hide the trips.
 *   rows=32: a tile takes 6000 clocks + the copies, which stay: gain 1.8 with vec=1 while the blocks are fewer than
 *     the SMs; a loss of 5 to 10 % on a full GPU, which copies each K and V twice as often.
 *   bounds=1: 64 registers instead of 80, 4 blocks of 8 warps instead of 3 on an SM: 1.0 below one wave, 1.05 to 1.1
 *     on a full GPU. At D = 128 3 blocks instead of 2, or of 1 with rows=32: 1.1 to 1.3. In fp32 no change: shared
 *     memory or the registers that 128 per thread leave decide.
 *   persistent=1: saves the start of a block, some 1000 clocks of 100000: 1.00 to 1.01. What it changes is the tail:
 *     1024 items on 528 slots are 2 rounds either way. A rung for completeness.
 *
 * Budget: shared memory, with stride DP elements + 16 bytes: (rows + 128) * stride, at DP = 64 in f16 192 * 144 =
 *   27648 bytes, 8 blocks of 228 KB; at DP = 128 in fp32 101376, 2 blocks. Registers: DP / 4 sums (DP / 8 with
 *   rows=32), 4 scores, 20 to 60 operands in flight, 30 for addresses and loops: 80 at DP = 64, 128 to 148
 *   at DP = 128, 96 to 160 in fp32. With bounds=1 at most 64 and 80 in 16 bits (4 and 3 blocks); fp32 at DP = 64
 *   fits 2 blocks either way. */
#include "kernels/occupancy.h"
#include "kernels/tiles/attn_params.cuh"
#include "kernels/tiles/row_tile.cuh"

namespace attn {

constexpr uint32_t kQuadThreads = 256;
constexpr uint32_t kQuadKeys = 64; /* keys per tile */
constexpr uint32_t kQuadOwn = 4;   /* keys that one thread scores per softmax step */
constexpr uint32_t kQuadWordBytes = 16;

constexpr ATTN_HD uint32_t quad_sharers(uint32_t rows) { return kQuadThreads / rows; }

/* Blocks that an SM is to hold at once with bounds=1: the most that spill no register. */
constexpr ATTN_HD uint32_t quad_min_blocks(uint32_t DP, uint32_t element_bytes) {
  return element_bytes == 2 ? (DP == 64 ? 4 : 3) : (DP == 64 ? 2 : 1);
}

/* 16 bytes move a row by four banks: the rows that one warp reads at the same column (8 of Q, 4 of K; with 32 rows 4
 * and 8) then lie in different banks. */
constexpr uint32_t quad_stride(uint32_t DP, uint32_t element_bytes, bool pad) {
  return DP + (pad ? kQuadWordBytes / element_bytes : 0);
}

/* Q tile [rows][stride], K tile [kQuadKeys][stride], V tile [kQuadKeys][stride] */
constexpr uint32_t quad_smem_bytes(uint32_t rows, uint32_t DP, uint32_t element_bytes, bool pad) {
  return (rows + 2 * kQuadKeys) * quad_stride(DP, element_bytes, pad) * element_bytes;
}
static_assert(quad_smem_bytes(64, 64, 2, true) == 27648, "the header's budget for f16 at DP = 64");
static_assert(quad_smem_bytes(64, 128, 4, true) <= 99 * 1024, "the largest tiles fit compute capability 8.9");
static_assert(kQuadKeys % (kQuadOwn * quad_sharers(32)) == 0, "a tile is a whole number of softmax steps");

enum { QUAD_ROWS, QUAD_VEC, QUAD_PAD, QUAD_PERSISTENT, QUAD_BOUNDS }; /* indices into the tuning */

/* (q tile, batch, head) triples */
inline uint64_t quad_items(const attn_problem &shape, uint32_t rows) {
  return (uint64_t)shape.B * shape.Hq * ceil_div(shape.Sq, rows);
}

struct QuadParams {
  Params attention;
  uint64_t items;       /* quad_items(), the head running fastest */
  uint32_t row_stride;  /* of the tiles in shared memory, in elements */
  uint32_t wide_copies; /* global memory in 16-byte words; rows are whole numbers of them */
};

#ifdef __CUDACC__

/* One thread's share of a query row: the scores of every Sharers-th key, and of the output the 4-column groups
 * share, share + Sharers, ... so that the sharers of a row always touch neighbouring words. */
template <typename T, uint32_t DP, uint32_t Sharers>
struct QuadRow {
  static constexpr uint32_t kGroups = DP / 4 / Sharers;
  static constexpr uint32_t kStep = kQuadOwn * Sharers; /* keys per softmax step */
  /* Loads that may be in flight cost registers, and fp32 words twice as many. */
  static constexpr int kUnroll = 8 / sizeof(T);

  float acc[kGroups][4]; /* sum of 2^(score - max) * V */
  float max;             /* largest scaled score of the row so far, in log2 units; the same in all sharers */
  float sum;             /* of 2^(score - max) over this thread's keys */
  uint32_t share;        /* 0 ... Sharers - 1 */

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (uint32_t g = 0; g < kGroups; ++g)
#pragma unroll
      for (uint32_t c = 0; c < 4; ++c) acc[g][c] = 0.0f;
    max = minus_infinity();
    sum = 0.0f;
    share = threadIdx.x % Sharers;
  }

  /* Takes in keys [0, keys) of the tile, of which the row attends [0, visible). `keys` is the same in the whole warp,
   * since the sharers exchange values by shuffles. */
  __device__ __forceinline__ void attend(const T *q, const T *k_tile, const T *v_tile, uint32_t stride, uint32_t keys,
                                         uint32_t visible, float scale_log2) {
    for (uint32_t first = 0; first < keys; first += kStep) {
      float weight[kQuadOwn] = {};
      scores(weight, q, k_tile + (first + share) * stride, stride);
      online_softmax(weight, first + share, visible, scale_log2);
      accumulate(weight, v_tile + first * stride + share * 4, stride);
    }
  }

  /* A row that attended no key has sum 0 and becomes zeros. All lanes call; those with `valid` write. */
  __device__ __forceinline__ void store(T *o, uint32_t D, bool valid, bool wide) {
#pragma unroll
    for (uint32_t mask = Sharers / 2; mask; mask /= 2) sum += __shfl_xor_sync(kFullWarp, sum, mask);
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
    if (!valid) return;
#pragma unroll
    for (uint32_t g = 0; g < kGroups; ++g) {
      const uint32_t column = (g * Sharers + share) * 4;
#pragma unroll
      for (uint32_t c = 0; c < 4; ++c) acc[g][c] *= inverse;
      if (wide && column < D) {
        store4(o + column, acc[g]);
      } else {
#pragma unroll
        for (uint32_t c = 0; c < 4; ++c)
          if (column + c < D) o[column + c] = from_float<T>(acc[g][c]);
      }
    }
  }

 private:
  /* Stored as one word of 8 or 16 bytes. */
  struct alignas(4 * sizeof(T)) Four {
    T element[4];
  };

  __device__ __forceinline__ void scores(float (&s)[kQuadOwn], const T *q, const T *k, uint32_t stride) const {
#pragma unroll(kUnroll)
    for (uint32_t d = 0; d < DP; d += 4) {
      const float4 a = load4(q + d);
#pragma unroll
      for (uint32_t j = 0; j < kQuadOwn; ++j) {
        const float4 b = load4(k + j * Sharers * stride + d);
        s[j] = fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, s[j]))));
      }
    }
  }

  /* Scores of keys key, key + Sharers, ... to weights relative to the row's new maximum; the old sums are rescaled to
   * it. A row without a visible key so far keeps -inf, and its weights are 2^-inf = 0. */
  __device__ __forceinline__ void online_softmax(float (&s)[kQuadOwn], uint32_t key, uint32_t visible,
                                                 float scale_log2) {
    float largest = max;
#pragma unroll
    for (uint32_t j = 0; j < kQuadOwn; ++j) {
      s[j] = key + j * Sharers < visible ? s[j] * scale_log2 : minus_infinity();
      largest = fmaxf(largest, s[j]);
    }
#pragma unroll
    for (uint32_t mask = Sharers / 2; mask; mask /= 2)
      largest = fmaxf(largest, __shfl_xor_sync(kFullWarp, largest, mask));
    const float base = largest == minus_infinity() ? 0.0f : largest;
    const float rescale = exp2f(max - base);
    max = largest;
    sum *= rescale;
#pragma unroll
    for (uint32_t j = 0; j < kQuadOwn; ++j) {
      s[j] = exp2f(s[j] - base);
      sum += s[j];
    }
#pragma unroll
    for (uint32_t g = 0; g < kGroups; ++g)
#pragma unroll
      for (uint32_t c = 0; c < 4; ++c) acc[g][c] *= rescale;
  }

  /* v: the step's first key at this thread's first column. Each weight lies in the thread that scored its key. */
  __device__ __forceinline__ void accumulate(const float (&weight)[kQuadOwn], const T *v, uint32_t stride) {
    const uint32_t first_sharer = threadIdx.x % kWarp - share;
#pragma unroll
    for (uint32_t j = 0; j < kQuadOwn; ++j)
#pragma unroll(kUnroll)
      for (uint32_t sharer = 0; sharer < Sharers; ++sharer) {
        const float w = __shfl_sync(kFullWarp, weight[j], first_sharer + sharer);
        const T *row = v + (j * Sharers + sharer) * stride;
#pragma unroll
        for (uint32_t g = 0; g < kGroups; ++g) {
          const float4 b = load4(row + g * Sharers * 4);
          acc[g][0] = fmaf(w, b.x, acc[g][0]);
          acc[g][1] = fmaf(w, b.y, acc[g][1]);
          acc[g][2] = fmaf(w, b.z, acc[g][2]);
          acc[g][3] = fmaf(w, b.w, acc[g][3]);
        }
      }
  }

  static __device__ __forceinline__ void store4(T *o, const float (&x)[4]) {
    Four four;
#pragma unroll
    for (uint32_t c = 0; c < 4; ++c) four.element[c] = from_float<T>(x[c]);
    *reinterpret_cast<Four *>(o) = four;
  }
};

/* Copies `valid` rows of D elements and zeroes the rest of a [Rows][DP] tile. */
template <uint32_t DP, uint32_t Rows, typename T>
__device__ __forceinline__ void quad_load(T *tile, const QuadParams &a, const T *rows, uint32_t valid) {
  constexpr uint32_t kElements = kQuadWordBytes / sizeof(T), kWords = DP / kElements;
  const uint32_t D = a.attention.D;
  if (!a.wide_copies) {
    row_tile::load_tile<DP, kQuadThreads>(tile, a.row_stride, rows, Rows, valid, D);
    return;
  }
  static_assert(Rows * kWords % kQuadThreads == 0, "all threads copy equally many words");
#pragma unroll 4
  for (uint32_t n = 0; n < Rows * kWords / kQuadThreads; ++n) {
    const uint32_t i = n * kQuadThreads + threadIdx.x;
    const uint32_t r = i / kWords, c = i % kWords * kElements;
    *reinterpret_cast<uint4 *>(tile + r * a.row_stride + c) =
        r < valid && c < D ? __ldg(reinterpret_cast<const uint4 *>(rows + (size_t)r * D + c))
                           : make_uint4(0, 0, 0, 0);
  }
}

/* One q tile of one head, in a block's whole shared memory. */
template <typename T, uint32_t DP, uint32_t Rows>
__device__ __forceinline__ void quad_item(T *q_tile, const QuadParams &a, uint32_t b, uint32_t h, uint32_t row0) {
  constexpr uint32_t kSharers = quad_sharers(Rows), kWarpRows = kWarp / kSharers;
  const Params &p = a.attention;
  T *k_tile = q_tile + Rows * a.row_stride, *v_tile = k_tile + kQuadKeys * a.row_stride;
  const size_t kv_offset = row_offset(b, p.Hkv, kv_head(p, h), p.Skv, 0, p.D);
  const T *k = static_cast<const T *>(p.k) + kv_offset, *v = static_cast<const T *>(p.v) + kv_offset;
  const uint32_t rows = rows_in_tile(p.Sq, row0, Rows), r = threadIdx.x / kSharers;
  const uint32_t warp_row = threadIdx.x / kWarp * kWarpRows, warp_rows = rows_in_tile(rows, warp_row, kWarpRows);
  const uint32_t row_keys = r < rows ? visible_keys(p, row0 + r) : 0;
  const uint32_t warp_keys = warp_rows ? visible_keys(p, row0 + warp_row + warp_rows - 1) : 0;
  const uint32_t tile_keys = visible_keys(p, row0 + rows - 1); /* a tile's last row attends most, and a warp's */

  QuadRow<T, DP, kSharers> state;
  state.reset();
  quad_load<DP, Rows>(q_tile, a, static_cast<const T *>(p.q) + row_offset(b, p.Hq, h, p.Sq, row0, p.D), rows);
  for (uint32_t first = 0; first < tile_keys; first += kQuadKeys) {
    const uint32_t keys = rows_in_tile(p.Skv, first, kQuadKeys);
    const size_t offset = (size_t)first * p.D;
    __syncthreads(); /* orders the previous tile's reads of K and V before they are overwritten */
    quad_load<DP, kQuadKeys>(k_tile, a, k + offset, keys);
    quad_load<DP, kQuadKeys>(v_tile, a, v + offset, keys);
    __syncthreads(); /* orders the stores of Q, K and V before all threads' reads */
    state.attend(q_tile + r * a.row_stride, k_tile, v_tile, a.row_stride, rows_in_tile(warp_keys, first, kQuadKeys),
                 rows_in_tile(row_keys, first, kQuadKeys), p.scale_log2);
  }
  T *o = static_cast<T *>(p.o) + row_offset(b, p.Hq, h, p.Sq, row0, p.D);
  state.store(o + (size_t)r * p.D, p.D, r < rows, a.wide_copies);
}

/* grid (Hq, B, q tiles), or fewer blocks on x alone: a block takes every gridDim-th item, in the order in which
 * blocks of the full grid start. */
template <typename T, uint32_t DP, uint32_t Rows, uint32_t MinBlocks>
__global__ void __launch_bounds__(kQuadThreads, MinBlocks) quad_kernel(const __grid_constant__ QuadParams a) {
  extern __shared__ __align__(128) unsigned char smem[];
  const uint32_t Hq = a.attention.Hq, B = a.attention.B;
  const uint64_t first = blockIdx.x + (uint64_t)gridDim.x * (blockIdx.y + (uint64_t)gridDim.y * blockIdx.z);
  for (uint64_t item = first; item < a.items; item += (uint64_t)gridDim.x * gridDim.y * gridDim.z) {
    const uint64_t batch_item = item / Hq;
    quad_item<T, DP, Rows>(reinterpret_cast<T *>(smem), a, (uint32_t)(batch_item % B), (uint32_t)(item % Hq),
                           (uint32_t)(batch_item / B) * Rows);
    __syncthreads(); /* orders this item's reads of shared memory before the next item's stores */
  }
}

template <typename T, uint32_t DP, uint32_t Rows>
static const void *quad_of_bounds(bool bounds) {
  return bounds ? handle(quad_kernel<T, DP, Rows, quad_min_blocks(DP, sizeof(T))>)
                : handle(quad_kernel<T, DP, Rows, 1>);
}

template <typename T>
static const void *quad_of_dim(uint32_t DP, uint32_t rows, bool bounds) {
  if (DP == 64) return rows == 64 ? quad_of_bounds<T, 64, 64>(bounds) : quad_of_bounds<T, 64, 32>(bounds);
  return rows == 64 ? quad_of_bounds<T, 128, 64>(bounds) : quad_of_bounds<T, 128, 32>(bounds);
}

static const void *quad_kernel_for(const attn_problem &shape, uint32_t rows, bool bounds) {
  const uint32_t DP = row_tile::padded_dim(shape.D);
  return for_type<__half, __nv_bfloat16, float>(
      shape.dtype, [&](auto t) { return quad_of_dim<typename decltype(t)::type>(DP, rows, bounds); });
}
/* Everything but the instance is read from the tuning at launch, so that a rung and the one below it run the same
 * machine code. */
static struct status quad_bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                               attn_pass_args args[ATTN_PASSES_MAX]) {
  const int32_t *tuning = plan->tuning.value;
  QuadParams params = {};
  params.attention = params_of(*shape, *buffers);
  params.items = quad_items(*shape, plan->tile_q);
  params.row_stride =
      quad_stride(row_tile::padded_dim(shape->D), attn_dtype_bytes(shape->dtype), tuning[QUAD_PAD] != 0);
  params.wide_copies = tuning[QUAD_VEC] != 0;
  put_args(args[0], params);
  return status_ok();
}

#else
static const void *quad_kernel_for(const attn_problem &, uint32_t, bool) { return nullptr; }
constexpr decltype(attn_variant::bind) quad_bind = nullptr;
#endif

static const attn_tunable quad_tunables[] = {
    {.name = "rows",
     .min = 32,
     .max = 64,
     .default_value = 64,
     .help = "query rows of a block, 64 or 32: 4 or 8 threads share a row"},
    {.name = "vec", .max = 1, .help = "1: global memory in 16-byte words; 0: element by element, which any D allows"},
    {.name = "pad",
     .max = 1,
     .default_value = 1,
     .help = "1: 16 bytes between rows in shared memory, no bank conflicts; 0: none"},
    {.name = "persistent",
     .max = 1,
     .help = "1: one wave of blocks that loop over (q tile, batch, head); 0: a block for each"},
    {.name = "bounds",
     .max = 1,
     .help = "1: registers capped by __launch_bounds__ for more blocks per SM; 0: as many as it takes"},
    {.name = nullptr},
};

static uint32_t quad_smem_of(const attn_problem &shape, const attn_tuning &tuning) {
  return quad_smem_bytes((uint32_t)tuning.value[QUAD_ROWS], row_tile::padded_dim(shape.D),
                         attn_dtype_bytes(shape.dtype), tuning.value[QUAD_PAD] != 0);
}

static const char *quad_supports(const attn_problem *shape, const attn_tuning *tuning, const device_info *device) {
  const int32_t *value = tuning->value;
  if (value[QUAD_ROWS] != 32 && value[QUAD_ROWS] != 64) return "rows must be 32 or 64";
  if (value[QUAD_VEC] && shape->D * attn_dtype_bytes(shape->dtype) % kQuadWordBytes != 0)
    return "D must make rows of a multiple of 16 bytes with vec=1 (8 f16 or bf16, 4 f32 elements)";
  if (!value[QUAD_PERSISTENT] && shape->B > kGridYzMax) return "B must be at most 65535, the limit of grid.y";
  if (!value[QUAD_PERSISTENT] && ceil_div(shape->Sq, (uint32_t)value[QUAD_ROWS]) > kGridYzMax)
    return "Sq must be at most rows * 65535, the limit of grid.z";
  return check_device(*device, quad_smem_of(*shape, *tuning));
}

/* Blocks of one wave: those that bounds=1 promises registers for, as far as shared memory and threads allow. */
static uint32_t quad_wave(const attn_problem &shape, uint32_t smem_bytes, const device_info &device) {
  const uint32_t promised = quad_min_blocks(row_tile::padded_dim(shape.D), attn_dtype_bytes(shape.dtype));
  const uint32_t fit = occupancy_of(&device, kQuadThreads, 0, smem_bytes).resident_blocks;
  const uint32_t resident = fit < promised ? fit : promised;
  return device.sms * (resident ? resident : 1);
}

static void quad_plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *device,
                      attn_plan *plan) {
  const uint32_t rows = (uint32_t)tuning->value[QUAD_ROWS], smem_bytes = quad_smem_of(*shape, *tuning);
  plan->pass_count = 1;
  plan->tile_q = rows, plan->tile_kv = kQuadKeys;
  plan->splits = 1, plan->stages = 1;
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = quad_kernel_for(*shape, rows, tuning->value[QUAD_BOUNDS] != 0);
  set_block(pass, kQuadThreads, kQuadThreads, smem_bytes);
  if (tuning->value[QUAD_PERSISTENT]) {
    const uint64_t items = quad_items(*shape, rows), wave = quad_wave(*shape, smem_bytes, *device);
    set_grid(pass, (uint32_t)(items < wave ? items : wave), ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q, 1,
             ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING);
  } else {
    set_grid(pass, shape->Hq, ATTN_COVERS_H, shape->B, ATTN_COVERS_B, ceil_div(shape->Sq, rows), ATTN_COVERS_Q);
  }
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_scalar_quad = {
    .name = "scalar_quad",
    .summary = "scalar with all 256 threads computing: 4 (or 8) threads share a query row",
    .limits = "compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_FP32,
    .dtypes = ATTN_DTYPES_FLOAT,
    .dims = {.most = 128, .why = "a row's output is held in the registers of a few threads"},
    .tunables = attn::quad_tunables,
    .supports = attn::quad_supports,
    .plan = attn::quad_plan,
    .bind = attn::quad_bind,
    .run = nullptr,
};
