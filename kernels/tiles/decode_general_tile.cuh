/* The tile of `decode_general`: 16 query rows of a KV head in each warp against tiles of keys that lie in pages or
 * behind one another, by mma.sync, and what lies around it: the units of work that blocks share, the copies, the
 * sums.
 *
 * Work is a line of units. An item is a KV head of a sequence with up to `row_warps` * 16 of its rows; it takes
 * `cost` units for its start and end, and one for each tile of keys. Items lie behind one another on the line,
 * sequences outermost, and each block takes an equal stretch of it, which it finds from the lengths: no list of
 * splits is made. An item that blocks share has a partial result in each, of which a block has two at most, that of
 * its first item and that of its last.
 *
 *   S = Q K^T   a warp has 16 rows and all keys of its tile: Q is in registers, K comes by ldmatrix
 *   O = P V     the scores' registers are the operand P, V comes by ldmatrix with transposition
 *
 * The warps of a block are groups. A group has a ring of stages of its own, which its warps fill by cp.async and wait
 * for; in a group of one warp nothing waits for other warps before the item's end. K and V of a stage are rows of D
 * elements each, whose 16-byte chunk c of row r lies at c ^ (r % 8). With g = lane / 4 and t = lane % 4 a lane has S
 * for rows g and g + 8 and keys 2t and 2t + 1 of each eight, and O for the same rows and columns 2t, 2t + 1 of each
 * eight.
 *
 * K and V of e4m3 are copied as they are. A lane makes f16 of them after ldmatrix, two numbers in an instruction, and
 * both products are of f16: the conversion is exact, to bf16 there is none, and Q and P are brought into the range of
 * f16 (Narrow). No byte is moved in shared memory:
 *
 *   K   a matrix of ldmatrix is 8 keys and 16 columns, of which a lane has 4t to 4t + 3. The sum over columns has no
 *       order, so the first two are the lower half of the operand and the last two the upper one, for Q as for K.
 *   V   ldmatrix transposes pairs of bytes: a lane has columns 2g and 2g + 1 of keys 2t and 2t + 1. One permutation
 * of the four bytes makes the pairs of keys that operands are, and each sixteen columns are two products: of the even
 * columns, and of the odd ones. So a lane has O for columns 4t to 4t + 3 of each sixteen.
 *
 * The scale of K is a factor of the scores, and that of V one of the normalised sums.
 *
 * Floor of a warp's tile of e4m3, D = 128 and 32 keys, 8 KB, which memory gives an SM in 400 clocks: copies 16, with
 * 8 exchanges of places; ldmatrix 16; conversions 128, two clocks of a scheduler each; permutations 32; mma 64;
 * exponentials 16, with 64 instructions for sums, maxima and weights. That is 350 instructions, with loops and
 * addresses 450: 110 clocks of each of four schedulers, of them 64 of the conversion unit. So conversions take a
 * sixth of the time that memory takes. */
#ifndef ATTNBENCH_KERNELS_DECODE_GENERAL_TILE_CUH
#define ATTNBENCH_KERNELS_DECODE_GENERAL_TILE_CUH

#include "kernels/tiles/attn_params.cuh"
#include "kernels/tiles/item_order.cuh"
#include "kernels/tiles/work_line.cuh"

#ifdef __CUDACC__
#include "kernels/tiles/attn_device.cuh"
#include "kernels/tiles/fragment.cuh"
#include "kernels/tiles/ptx.cuh"
#endif

namespace attn::decode_general {

constexpr uint32_t kWarpRows = 16, kChunkBytes = 16, kWarpsMax = 8, kStagesMax = 8;

/* A kernel that is compiled: the head dimension, the warps of a group, 16 rows each, the keys of its tiles, and the
 * bytes of an element of K and V: 2, or 1 for e4m3. */
struct Shape {
  uint32_t D, row_warps, keys, kv_bytes;
};

template <typename Element, Shape kOf>
struct Config {
  using T = Element;
  static constexpr Shape kShape = kOf;
};

/* Of K and V in a stage. */
constexpr ATTN_HD uint32_t row_bytes(const Shape &s) { return s.D * s.kv_bytes; }
/* Where chunk c of row r lies. Eight neighbouring rows have a chunk at eight places of 128 bytes, so that one reads
 * it from all banks; rows of 64 bytes share them by twos. */
constexpr ATTN_HD uint32_t chunk_place(const Shape &s, uint32_t row, uint32_t chunk) {
  return row_bytes(s) >= 128 ? chunk ^ row % 8 : chunk ^ row / 2 % 4;
}

/* Q of D = 256 lies in shared memory, since registers hold the sums of so many columns, and little else. */
constexpr ATTN_HD uint32_t q_bytes(const Shape &s) { return s.D > 128 ? s.row_warps * kWarpRows * s.D * 2 : 0; }

/* Shared memory of a block: Q, where it is there, as the warps' operands | the stages of its groups | sums of the
 * warps' rows, with 16 floats that spread them over the banks | their maxima and sums of weights, 16 bytes each. */
constexpr ATTN_HD uint32_t stage_bytes(const Shape &s) { return 2 * s.keys * row_bytes(s); }
constexpr ATTN_HD uint32_t sum_pitch_bytes(uint32_t D) { return (D + 16) * 4; }
constexpr ATTN_HD uint32_t sums_bytes(uint32_t D, uint32_t warps, uint32_t warp_rows) {
  return warps * warp_rows * (sum_pitch_bytes(D) + 16);
}
constexpr uint32_t kStaticBytes = 128; /* of static variables beside it */
/* On an SM: the latency of memory times its rate is 36 KB, and a third more is for what does not come in time. */
constexpr uint32_t kInFlightBytes = 48 * 1024;
constexpr ATTN_HD uint32_t smem_bytes(const Shape &s, uint32_t warps, uint32_t warp_rows, uint32_t stages) {
  return q_bytes(s) + warps / s.row_warps * stages * stage_bytes(s) + sums_bytes(s.D, warps, warp_rows);
}

/* Of the partial results of a block: its first item's and its last one's. */
constexpr uint32_t kPartials = 2;
constexpr uint64_t partial_bytes(uint32_t D, uint32_t rows) { return (uint64_t)kPartials * rows * (D + 2) * 4; }

}  // namespace attn::decode_general

namespace attn {

struct DecodeGeneralParams {
  Params attention;
  Views at;
  int32_t left, right;
  float cap, cap_inverse;         /* softcap log2(e), and 1 over it; 0: none */
  const float *sink;              /* [Hq]; NULL: none */
  const float *k_scale, *v_scale; /* of e4m3, [B][scale_heads]; one where scale_heads is 0 */
  uint32_t scale_heads;
  Divider by_page, by_group, by_blocks; /* tokens of a page, `group`, blocks of the grid */
  /* Of sequences of one length: the keys that some row sees, tiles of them, items of a KV head, and division by the
   * units of an item and of a sequence. */
  attn_keys keys;
  uint32_t tiles, row_blocks;
  Divider by_item, by_sequence;
  uint32_t page, group;           /* tokens of a page; query heads of a KV head */
  uint32_t page_units, key_units; /* 16-byte units from a page to the next, and from a key */
  uint32_t rows, warp_rows;       /* that an item has at most, and a warp */
  uint32_t stages, cost;
  uint32_t *arrivals; /* [block]; zero before and after each launch */
  float *partial;     /* [block][kPartials][rows][D] */
  float *stats;       /* [block][kPartials][rows][2]: reference and sum of the weights */
};

}  // namespace attn

#ifdef __CUDACC__

namespace attn::decode_general {

/* Whether the GPU converts e4m3. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
constexpr bool kHasE4m3 = false;
#else
constexpr bool kHasE4m3 = true;
#endif

__device__ __forceinline__ float4 load_floats(uint32_t address) {
  const uint4 x = ptx::load_shared(address);
  return make_float4(__uint_as_float(x.x), __uint_as_float(x.y), __uint_as_float(x.z), __uint_as_float(x.w));
}
__device__ __forceinline__ void store_floats(uint32_t address, float a, float b, float c, float d) {
  ptx::store_shared(address,
                    make_uint4(__float_as_uint(a), __float_as_uint(b), __float_as_uint(c), __float_as_uint(d)));
}

/* A reference of weights as an exponent; 0 where there is none, so that the factor is 2^-inf = 0. */
__device__ __forceinline__ float exponent_of(float max) { return max == minus_infinity() ? 0.0f : max; }

/* ---- the line of units ----------------------------------------------------------------------------------------- */

/* A sequence, and what its items have in common. */
struct Work {
  Sequence sequence;
  attn_keys keys;      /* that some row sees */
  uint32_t tiles;      /* of these keys */
  uint32_t row_blocks; /* items of a KV head; none: there are no queries */

  __device__ __forceinline__ attn_mask mask(const DecodeGeneralParams &a) const {
    return {sequence.Sq, sequence.Skv, a.left, a.right};
  }
};

template <Shape kShape>
__device__ __forceinline__ Work work_of(const DecodeGeneralParams &a, uint32_t b) {
  Work work;
  work.sequence = sequence_of(a.attention, a.at, b);
  if (a.at.cu_seqlens_q == nullptr) {
    work.keys = a.keys, work.tiles = a.tiles, work.row_blocks = a.row_blocks;
    return work;
  }
  work.row_blocks = ceil_div(work.sequence.Sq * a.group, kWarpRows * kShape.row_warps);
  work.keys = {0, 0}, work.tiles = 0;
  if (work.sequence.Sq == 0) return work;
  const attn_mask mask = work.mask(a);
  work.keys = attn_mask_rows(&mask, 0, work.sequence.Sq);
  if (work.keys.end > work.keys.first) work.tiles = ceil_div(work.keys.end - work.keys.first, kShape.keys);
  return work;
}

/* Units of a sequence. */
__device__ __forceinline__ uint32_t weight_of(const DecodeGeneralParams &a, const Work &work) {
  return work.row_blocks * a.attention.Hkv * (a.cost + work.tiles);
}

using Stretch = WorkLine<Blocks>;

template <Shape kShape>
__device__ __forceinline__ Stretch stretch_of(const DecodeGeneralParams &a) {
  __shared__ uint32_t words[work_line_words(kWarpsMax)];
  return work_line_of(a.attention.B, a.at.cu_seqlens_q != nullptr, Blocks{}, a.by_blocks, a.by_sequence, words,
                      [&](uint32_t b) { return weight_of(a, work_of<kShape>(a, b)); });
}

/* A block's way along its items. */
template <Shape kShape>
struct Walk {
  const DecodeGeneralParams &a;
  const Stretch &stretch;
  Work work = {};
  uint32_t b, head, row_block; /* of the item */
  uint32_t base;               /* the item's first unit */
  uint32_t from = 0, to = 0;   /* tiles of it that the block takes */
  bool is_open;                /* false: it has come to its end */

  __device__ __forceinline__ Walk(const DecodeGeneralParams &params, const Stretch &way)
      : a(params), stretch(way), b(way.b), head(0), row_block(0), base(way.base), is_open(false) {
    if (b >= a.attention.B) return;
    work = work_of<kShape>(a, b);
    const uint32_t units = stretch.first - base;
    const uint32_t item = a.at.cu_seqlens_q == nullptr ? a.by_item.quotient(units) : units / (a.cost + work.tiles);
    head = work.row_blocks == 1 ? item : item / work.row_blocks, row_block = item - head * work.row_blocks;
    base += item * (a.cost + work.tiles);
    settle();
  }
  __device__ __forceinline__ void next() {
    pass();
    settle();
  }
  /* Rows of the item. */
  __device__ __forceinline__ uint32_t rows() const {
    return min(work.sequence.Sq * a.group - row_block * kWarpRows * kShape.row_warps, kWarpRows * kShape.row_warps);
  }
  __device__ __forceinline__ bool is_whole() const { return from == 0 && to == work.tiles; }
  /* The blocks that have tiles of the item: the first, and how many; there is one tile at least. */
  __device__ __forceinline__ uint32_t first_block() const { return stretch.worker_of(base + a.cost); }
  __device__ __forceinline__ uint32_t blocks() const {
    return stretch.worker_of(base + a.cost + work.tiles - 1) - first_block() + 1;
  }

 private:
  __device__ __forceinline__ void pass() {
    base += a.cost + work.tiles;
    if (++row_block < work.row_blocks) return;
    row_block = 0;
    if (++head < a.attention.Hkv) return;
    head = 0;
    while (++b < a.attention.B) {
      work = work_of<kShape>(a, b);
      if (work.row_blocks > 0) return;
    }
  }
  __device__ __forceinline__ uint32_t tiles_before(uint32_t unit) const {
    return unit <= base + a.cost ? 0 : min(unit - base - a.cost, work.tiles);
  }
  /* Goes on to an item of which the block has tiles; of an item without tiles the block that has its first unit. */
  __device__ __forceinline__ void settle() {
    for (; b < a.attention.B && base < stretch.end; pass()) {
      from = tiles_before(stretch.first), to = tiles_before(stretch.end);
      is_open = from < to || (work.tiles == 0 && base >= stretch.first);
      if (is_open) return;
    }
    is_open = false;
  }
};

/* ---- copies ---------------------------------------------------------------------------------------------------- */

/* Where the calling warp stands in its block. */
struct Role {
  uint32_t groups, group, row_warp;

  template <Shape kShape>
  static __device__ __forceinline__ Role make() {
    const uint32_t warp = __shfl_sync(kFullWarp, threadIdx.x / kWarp, 0);
    return {blockDim.x / kWarp / kShape.row_warps, warp / kShape.row_warps, warp % kShape.row_warps};
  }
};

/* Copies the group's tiles, one after the other over all items: it runs ahead of what is multiplied, and stops at no
 * item's end. A lane has the place of one key's row, and looks it up a tile before it is needed. */
template <Shape kShape>
struct Fetcher {
  static constexpr uint32_t kRowBytes = row_bytes(kShape), kChunks = kRowBytes / kChunkBytes;
  static constexpr uint32_t kLaneRows = kShape.keys / kShape.row_warps; /* rows that a warp copies */
  static constexpr uint32_t kPassRows = kWarp / kChunks, kPasses = kLaneRows / kPassRows;
  static constexpr uint32_t kTileBytes = kShape.keys * kRowBytes;
  static_assert(kLaneRows % 8 == 0 && kLaneRows <= kWarp && kWarp % kChunks == 0);

  const DecodeGeneralParams &a;
  Role role;
  Walk<kShape> walk;
  uint32_t ring, slot = 0; /* shared addresses: of the group's first stage, and, behind it, of the lane's next copy */
  uint32_t tile = 0, entry = 0, within = 0;
  const unsigned char *k = nullptr, *v = nullptr; /* of the head, and the lane's chunk of a row */

  __device__ __forceinline__ Fetcher(const DecodeGeneralParams &params, const Walk<kShape> &start, Role of_warp,
                                     uint32_t ring_address)
      : a(params), role(of_warp), walk(start), ring(ring_address) {
    const uint32_t lane = threadIdx.x % kWarp, row = lane / kChunks, chunk = lane % kChunks;
    ring += (role.row_warp * kLaneRows + row) * kRowBytes + chunk_place(kShape, row, chunk) * kChunkBytes;
    if (!walk.is_open) return;
    begin_item();
    settle();
  }

  /* Starts the copies of the next tile to the next stage; where there is none left, nothing. */
  __device__ __forceinline__ void step() {
    if (walk.is_open) {
      copy();
      tile += role.groups;
      settle();
    }
    ptx::cp_async_commit();
    if (++slot == a.stages) slot = 0;
  }

 private:
  __device__ __forceinline__ uint32_t first_key() const { return walk.work.keys.first + tile * kShape.keys; }

  __device__ __forceinline__ void copy() {
    const uint32_t lane = threadIdx.x % kWarp;
    const uint32_t at = entry * a.page_units + within * a.key_units, to = ring + slot * 2 * kTileBytes;
#pragma unroll
    for (uint32_t i = 0; i < kPasses; ++i) {
      const size_t from = (size_t)__shfl_sync(kFullWarp, at, i * kPassRows + lane / kChunks) * kChunkBytes;
      const uint32_t row = to + i * kPassRows * kRowBytes, flip = chunk_place(kShape, i * kPassRows, 0) * kChunkBytes;
      ptx::cp_async_16(row ^ flip, k + from, true);
      ptx::cp_async_16((row ^ flip) + kTileBytes, v + from, true);
    }
  }
  /* Moves to the next item with a tile for this group and looks up the rows. Rows past the last key copy that key
   * again: their scores are masked, but V there may be NaN, and 0 * NaN is NaN. */
  __device__ __forceinline__ void settle() {
    while (tile >= walk.to) {
      walk.next();
      if (!walk.is_open) return;
      begin_item();
    }
    const uint32_t lane = threadIdx.x % kWarp, row = role.row_warp * kLaneRows + min(lane, kLaneRows - 1);
    const uint32_t key = min(first_key() + row, walk.work.keys.end - 1);
    entry = 0, within = key;
    if (walk.work.sequence.pages == nullptr) return;
    const uint32_t page = a.by_page.quotient(key);
    within = key - page * a.page;
    entry = (uint32_t)__ldg(walk.work.sequence.pages + page);
  }
  __device__ __forceinline__ void begin_item() {
    const Sequence &sequence = walk.work.sequence;
    const bool paged = sequence.pages != nullptr;
    const size_t lane = threadIdx.x % kWarp % kChunks * kChunkBytes;
    const uint32_t batch = paged ? 0 : sequence.batch, token = paged ? 0 : sequence.k_first;
    k = static_cast<const unsigned char *>(a.attention.k) +
        kShape.kv_bytes * attn_view_token(&a.at.k, batch, walk.head, token) + lane;
    v = static_cast<const unsigned char *>(a.attention.v) +
        kShape.kv_bytes * attn_view_token(&a.at.v, batch, walk.head, token) + lane;
    tile = walk.from + role.group;
  }
};

/* ---- products -------------------------------------------------------------------------------------------------- */

/* What K and V of e4m3 change. They become f16, which is exact and one instruction for two numbers, and so must Q and
 * P, the operands beside them. f16 has a smaller range than bf16: a row of Q of bf16 is multiplied by a power of two
 * that brings its largest element to 2^14, and weights by 2^kLift, so that only those below 2^-27 of the largest lose
 * bits. */
template <typename T, Shape kShape>
struct Narrow {
  static constexpr bool kIs = kShape.kv_bytes == 1;
  static constexpr float kLift = kIs ? 13.0f : 0.0f; /* weights stay below 4 * 2^kLift */
  using Operand = std::conditional_t<kIs, __half, T>;

  /* The scale of the sequence and KV head. */
  static __device__ __forceinline__ float scale(const DecodeGeneralParams &a, const float *scales, uint32_t b,
                                                uint32_t head) {
    return __ldg(scales + (a.scale_heads > 0 ? (size_t)b * a.scale_heads + head : 0));
  }
};

__device__ __forceinline__ float2 floats_of_bf16(uint32_t two) {
  return make_float2(__uint_as_float(two << 16), __uint_as_float(two & 0xffff0000u));
}

/* A power of two that brings `largest` to 2^14, within the range of floats, and its inverse. */
__device__ __forceinline__ float2 factor_to_f16(float largest) {
  const int32_t exponent = (int32_t)(__float_as_uint(largest) >> 23) - 127;
  const uint32_t bits = (uint32_t)min(127 + 14 - exponent, 253);
  return make_float2(__uint_as_float(bits << 23), __uint_as_float(254 - bits << 23));
}

/* The sums of a warp's 16 rows over the keys of its tiles. */
template <typename T, Shape kShape>
struct Strip {
  using N = Narrow<T, kShape>;
  static constexpr uint32_t kRowBytes = row_bytes(kShape), kSteps = kShape.D / 16, kEights = kShape.keys / 8;
  static constexpr bool kQInRegisters = q_bytes(kShape) == 0;

  uint32_t lane_k, lane_v; /* the row and chunk of the matrix whose address the lane gives, in bytes */
  uint32_t flip_k, flip_v;
  uint32_t lane_q; /* of the lane's operands in shared memory, 512 bytes apart */
  uint32_t q[kQInRegisters ? kSteps : 1][4];
  float s[kEights][4];
  float o[kShape.D / 8][4];
  float max[2], sum[2];   /* of rows g and g + 8: the reference, an exponent of 2, which the largest score so far
                           * exceeds by at most kGrowth; and the lane's part of the sum of weights */
  float score_scale[2];   /* e4m3: what scores are multiplied by to be exponents of 2 */
  attn_keys seen[2], all; /* the keys that each of these rows sees; those that all rows of the item see */

  __device__ __forceinline__ Strip(uint32_t q_operands, Role role) {
    const uint32_t lane = threadIdx.x % kWarp, v_row = lane % 16;
    const uint32_t k_row = N::kIs ? lane % 8 : lane / 16 * 8 + lane % 8, k_chunk = N::kIs ? lane / 8 : lane / 8 % 2;
    lane_k = k_row * kRowBytes, flip_k = chunk_place(kShape, k_row, k_chunk) * kChunkBytes;
    lane_v = v_row * kRowBytes, flip_v = chunk_place(kShape, v_row, lane / 16) * kChunkBytes;
    lane_q = q_operands + role.row_warp * kSteps * 512 + lane * 16;
  }

  __device__ __forceinline__ void begin(const DecodeGeneralParams &a, const Walk<kShape> &walk, Role role) {
    const uint32_t lane = threadIdx.x % kWarp, first_row = walk.row_block * kWarpRows * kShape.row_warps;
    const Sequence &sequence = walk.work.sequence;
    const attn_mask mask = walk.work.mask(a);
    uint32_t operands[kSteps][4];
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t row = first_row + role.row_warp * kWarpRows + lane / 4 + 8 * i;
      const bool valid = row < sequence.Sq * a.group;
      const uint32_t token = valid ? a.by_group.quotient(row) : 0, head = valid ? row - token * a.group : 0;
      const T *const from =
          static_cast<const T *>(a.attention.q) +
          attn_view_token(&a.at.q, sequence.batch, walk.head * a.group + head, sequence.q_first + token);
      if constexpr (N::kIs)
        score_scale[i] = a.attention.scale_log2 * N::scale(a, a.k_scale, walk.b, walk.head) *
                         load_narrow_q(operands, i, from, valid);
      else
        load_q(operands, i, from, valid);
      seen[i] = {0, 0};
      if (valid) seen[i] = attn_mask_row(&mask, token);
      max[i] = minus_infinity(), sum[i] = 0.0f;
    }
    keep_q(operands, role.group == 0);
    const uint32_t last = a.by_group.quotient(first_row + walk.rows() - 1);
    all = {attn_mask_row(&mask, last).first, attn_mask_row(&mask, a.by_group.quotient(first_row)).end};
#pragma unroll
    for (uint32_t j = 0; j < kShape.D / 8; ++j)
#pragma unroll
      for (uint32_t c = 0; c < 4; ++c) o[j][c] = 0.0f;
  }

  /* Takes in the tile at a stage, whose first key is `first`. */
  __device__ __forceinline__ void attend(const DecodeGeneralParams &a, uint32_t stage, uint32_t first) {
    float scale_log2[2] = {a.attention.scale_log2, a.attention.scale_log2};
    if constexpr (N::kIs) {
      multiply_narrow_qk(stage);
      scale_log2[0] = score_scale[0], scale_log2[1] = score_scale[1];
    } else {
      multiply_qk(stage);
    }
    if (a.cap != 0.0f) cap(a, scale_log2), scale_log2[0] = scale_log2[1] = 1.0f;
    if (first < all.first || first + kShape.keys > all.end) mask(first);
    online_softmax(scale_log2);
    if constexpr (N::kIs)
      multiply_narrow_pv(stage + kShape.keys * kRowBytes);
    else
      multiply_pv(stage + kShape.keys * kRowBytes);
  }

  /* Leaves the first `rows` rows' sums at `to`, in the order of put_column, and their references and sums of weights
   * at `stats`. */
  __device__ __forceinline__ void put(uint32_t to, uint32_t stats, uint32_t rows) const {
    const uint32_t g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t row = g + 8 * i;
      const float total = quad_sum(sum[i]);
      if (row >= rows) continue;
      if (t == 0) store_floats(stats + row * 16, max[i], total, 0.0f, 0.0f);
#pragma unroll
      for (uint32_t j = 0; j < kSteps; ++j) {
        const float *const x = o[2 * j] + 2 * i, *const y = o[2 * j + 1] + 2 * i;
        const uint32_t at = to + row * sum_pitch_bytes(kShape.D) + j * 64 + t * 16;
        if constexpr (N::kIs)
          store_floats(at, x[0], y[0], x[1], y[1]);
        else
          store_floats(at, x[0], x[1], y[0], y[1]);
      }
    }
  }

 private:
  static constexpr float kGrowth = 2.0f; /* weights stay below 4, times 2^kLift */

  /* ---- Q ---- */

  /* Row g or g + 8. */
  static __device__ __forceinline__ void load_q(uint32_t (&to)[kSteps][4], uint32_t i, const T *from, bool valid) {
    const uint32_t *const words = reinterpret_cast<const uint32_t *>(from + threadIdx.x % 4 * 2);
#pragma unroll
    for (uint32_t k = 0; k < kSteps; ++k) {
      to[k][i] = valid ? __ldg(words + 8 * k) : 0;
      to[k][2 + i] = valid ? __ldg(words + 8 * k + 4) : 0;
    }
  }

  /* The same for K of e4m3, of whose columns a lane has 4t to 4t + 3 of each sixteen; returns what products with the
   * row are to be multiplied by. */
  static __device__ __forceinline__ float load_narrow_q(uint32_t (&to)[kSteps][4], uint32_t i, const T *from,
                                                        bool valid) {
    const uint2 *const words = reinterpret_cast<const uint2 *>(from + threadIdx.x % 4 * 4);
    float largest = 0.0f;
#pragma unroll
    for (uint32_t k = 0; k < kSteps; ++k) {
      const uint2 four = valid ? __ldg(words + 4 * k) : make_uint2(0, 0);
      to[k][i] = four.x, to[k][2 + i] = four.y;
      if constexpr (std::is_same_v<T, __half>) continue;
      const float2 x = floats_of_bf16(four.x), y = floats_of_bf16(four.y);
      largest = fmaxf(largest, fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(y.x), fabsf(y.y))));
    }
    if constexpr (std::is_same_v<T, __half>) return 1.0f;
    const float2 factor = factor_to_f16(quad_max(largest));
#pragma unroll
    for (uint32_t k = 0; k < kSteps; ++k)
#pragma unroll
      for (uint32_t half = 0; half < 4; half += 2) {
        const float2 x = floats_of_bf16(to[k][half + i]);
        to[k][half + i] = pack<__half>(x.x * factor.x, x.y * factor.x);
      }
    return factor.y;
  }

  /* Into registers; or by one group into shared memory, where Q of the item before is not read any more. */
  __device__ __forceinline__ void keep_q(const uint32_t (&operands)[kSteps][4], bool stores) {
    if constexpr (kQInRegisters) {
      memcpy(q, operands, sizeof q);
    } else {
#pragma unroll
      for (uint32_t k = 0; k < kSteps; ++k)
        if (stores)
          ptx::store_shared(lane_q + k * 512,
                            make_uint4(operands[k][0], operands[k][1], operands[k][2], operands[k][3]));
      __syncthreads(); /* orders Q before the reads */
    }
  }
  __device__ __forceinline__ void read_q(uint32_t (&to)[4], uint32_t step) const {
    if constexpr (kQInRegisters) {
      memcpy(to, q[step], sizeof to);
    } else {
      const uint4 x = ptx::load_shared(lane_q + step * 512);
      to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
    }
  }

  /* ---- products ---- */

  __device__ __forceinline__ void multiply_qk(uint32_t k) {
#pragma unroll
    for (uint32_t j = 0; j < kEights; j += 2) {
#pragma unroll
      for (uint32_t c = 0; c < 4; ++c) s[j][c] = s[j + 1][c] = 0.0f;
#pragma unroll
      for (uint32_t i = 0; i < kSteps; ++i) {
        uint32_t m[4], row[4];
        read_q(row, i);
        ptx::ldmatrix_x4(m, k + lane_k + j * 8 * kRowBytes + i / 4 * 128 + (flip_k ^ i % 4 * 32));
        ptx::mma_16x8x16<T>(s[j], row, m[0], m[1]);
        ptx::mma_16x8x16<T>(s[j + 1], row, m[2], m[3]);
      }
    }
  }

  __device__ __forceinline__ void multiply_pv(uint32_t v) {
#pragma unroll
    for (uint32_t j = 0; j < kEights; j += 2) {
      uint32_t p[4];
      weights(p, j);
#pragma unroll
      for (uint32_t i = 0; i < kSteps; ++i) {
        uint32_t m[4];
        ptx::ldmatrix_x4_trans(m, v + lane_v + j * 8 * kRowBytes + i / 4 * 128 + (flip_v ^ i % 4 * 32));
        ptx::mma_16x8x16<T>(o[2 * i], p, m[0], m[1]);
        ptx::mma_16x8x16<T>(o[2 * i + 1], p, m[2], m[3]);
      }
    }
  }

  /* The weights of 16 keys as an operand. */
  __device__ __forceinline__ void weights(uint32_t (&p)[4], uint32_t j) const {
    using Operand = typename N::Operand;
    p[0] = pack<Operand>(s[j][0], s[j][1]), p[1] = pack<Operand>(s[j][2], s[j][3]);
    p[2] = pack<Operand>(s[j + 1][0], s[j + 1][1]), p[3] = pack<Operand>(s[j + 1][2], s[j + 1][3]);
  }

  /* A matrix of ldmatrix has 16 columns of a key in a row, and a lane receives four: the operand of 16 columns. */
  __device__ __forceinline__ void multiply_narrow_qk(uint32_t k) {
#pragma unroll
    for (uint32_t j = 0; j < kEights; j += 2) {
#pragma unroll
      for (uint32_t c = 0; c < 4; ++c) s[j][c] = s[j + 1][c] = 0.0f;
#pragma unroll
      for (uint32_t i = 0; i < kSteps; i += 4) {
        const uint32_t at = k + lane_k + j * 8 * kRowBytes + i / 8 * 128 + (flip_k ^ i % 8 / 4 * 64);
        uint32_t m[2][4];
        ptx::ldmatrix_x4(m[0], at);
        ptx::ldmatrix_x4(m[1], at + 8 * kRowBytes);
#pragma unroll
        for (uint32_t c = 0; c < 4; ++c) {
          uint32_t row[4];
          read_q(row, i + c);
#pragma unroll
          for (uint32_t n = 0; n < 2; ++n) {
            uint32_t x[2];
            ptx::f16_of_e4m3(x, m[n][c]);
            ptx::mma_16x8x16<__half>(s[j + n], row, x[0], x[1]);
          }
        }
      }
    }
  }

  /* Transposed by pairs of bytes, a lane receives columns 2g and 2g + 1 of keys 2t and 2t + 1: first columns of both
   * keys, then second ones are operands of two products, of the even and of the odd columns. */
  __device__ __forceinline__ void multiply_narrow_pv(uint32_t v) {
#pragma unroll
    for (uint32_t j = 0; j < kEights; j += 2) {
      uint32_t p[4];
      weights(p, j);
#pragma unroll
      for (uint32_t i = 0; i < kSteps; i += 2) {
        uint32_t m[4];
        ptx::ldmatrix_x4_trans(m, v + lane_v + j * 8 * kRowBytes + i / 8 * 128 + (flip_v ^ i % 8 / 2 * 32));
#pragma unroll
        for (uint32_t n = 0; n < 2; ++n) {
          uint32_t low[2], high[2]; /* of keys 0 to 7 and 8 to 15: the even columns, the odd ones */
          ptx::f16_of_e4m3(low, __byte_perm(m[2 * n], 0, 0x3120));
          ptx::f16_of_e4m3(high, __byte_perm(m[2 * n + 1], 0, 0x3120));
          ptx::mma_16x8x16<__half>(o[2 * (i + n)], p, low[0], high[0]);
          ptx::mma_16x8x16<__half>(o[2 * (i + n) + 1], p, low[1], high[1]);
        }
      }
    }
  }

  /* ---- softmax ---- */

  /* Scores to capped ones, as exponents: softcap tanh(s / softcap) log2(e). Small scores use a
   * polynomial, since the other formula has the absolute error of a result near 1. */
  __device__ __forceinline__ void cap(const DecodeGeneralParams &a, const float (&scale_log2)[2]) {
    const float inner[2] = {scale_log2[0] * a.cap_inverse, scale_log2[1] * a.cap_inverse};
#pragma unroll
    for (uint32_t j = 0; j < kEights; ++j)
#pragma unroll
      for (uint32_t c = 0; c < 4; ++c) {
        const float x = s[j][c] * inner[c / 2];
        s[j][c] = a.cap * (fabsf(x) <= 0.5f ? tanh_small(x) : tanh_any(x));
      }
  }

  /* Scores that a row does not see become -inf. */
  __device__ __forceinline__ void mask(uint32_t first) {
    const uint32_t key = first + threadIdx.x % 4 * 2;
#pragma unroll
    for (uint32_t j = 0; j < kEights; ++j)
#pragma unroll
      for (uint32_t c = 0; c < 4; ++c) {
        const uint32_t at = key + 8 * j + c % 2;
        if (at < seen[c / 2].first || at >= seen[c / 2].end) s[j][c] = minus_infinity();
      }
  }

  /* Scores to weights. A row without a visible key so far keeps max = -inf and gets weights 2^-inf = 0. */
  __device__ __forceinline__ void online_softmax(const float (&scale_log2)[2]) {
    raise_max(scale_log2);
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float base = exponent_of(max[i]) - N::kLift;
#pragma unroll
      for (uint32_t j = 0; j < kEights; ++j)
#pragma unroll
        for (uint32_t c = 2 * i; c < 2 * i + 2; ++c) {
          s[j][c] = ptx::ex2(fmaf(s[j][c], scale_log2[i], -base));
          sum[i] += s[j][c];
        }
    }
  }

  /* The reference is raised only when an exponent exceeds it by more than kGrowth; most tiles need only a vote. */
  __device__ __forceinline__ void raise_max(const float (&scale_log2)[2]) {
    float largest[2];
    bool grew = false;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      float x = fmaxf(s[0][2 * i], s[0][2 * i + 1]);
#pragma unroll
      for (uint32_t j = 1; j < kEights; ++j) x = fmaxf(x, fmaxf(s[j][2 * i], s[j][2 * i + 1]));
      largest[i] = x;
      grew |= fmaf(x, scale_log2[i], -max[i]) > kGrowth; /* NaN, two -inf: no */
    }
    if (!__any_sync(kFullWarp, grew)) return;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float x = fmaxf(max[i], quad_max(largest[i]) * scale_log2[i]), factor = ptx::ex2(max[i] - exponent_of(x));
      max[i] = x, sum[i] *= factor;
#pragma unroll
      for (uint32_t j = 0; j < kShape.D / 8; ++j) o[j][2 * i] *= factor, o[j][2 * i + 1] *= factor;
    }
  }
};

/* ---- sums ------------------------------------------------------------------------------------------------------ */

/* Of one row and four columns (put_column): the weighted sum, the sum of weights 2^(exponent - max), and that max.
 * Both sums are times 2^kLift. */
struct Sum {
  float max = minus_infinity(), sum = 0.0f;
  float4 out = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

  /* Goes to a reference that is at least `other`. */
  __device__ __forceinline__ void raise(float other) {
    const float largest = fmaxf(max, other), factor = ptx::ex2(max - exponent_of(largest));
    max = largest, sum *= factor;
    out.x *= factor, out.y *= factor, out.z *= factor, out.w *= factor;
  }
  /* Of a reference that is at most this one's. */
  __device__ __forceinline__ void add(float of_max, float of_sum, const float4 &x) {
    const float factor = ptx::ex2(of_max - exponent_of(max));
    sum = fmaf(of_sum, factor, sum);
    out.x = fmaf(x.x, factor, out.x), out.y = fmaf(x.y, factor, out.y);
    out.z = fmaf(x.z, factor, out.z), out.w = fmaf(x.w, factor, out.w);
  }
};

/* Four floats that a lane puts are of neighbouring columns where V is e4m3; else of two pairs of columns, eight
 * apart. The first column. */
template <Shape kShape>
__device__ __forceinline__ uint32_t put_column(uint32_t four) {
  return kShape.kv_bytes == 1 ? four * 4 : four / 4 * 16 + four % 4 * 2;
}

/* Normalises and writes four columns of a row of the item. A row that sees no key has a sum of 0 and becomes zeros.
 */
template <typename T, Shape kShape>
__device__ __forceinline__ void store_row(const DecodeGeneralParams &a, const Walk<kShape> &walk, uint32_t item_row,
                                          uint32_t four, Sum x) {
  using N = Narrow<T, kShape>;
  const Sequence &sequence = walk.work.sequence;
  const uint32_t row = walk.row_block * kWarpRows * kShape.row_warps + item_row, token = a.by_group.quotient(row);
  const uint32_t head = walk.head * a.group + row - token * a.group;
  if (a.sink != nullptr) {
    const float sink = __ldg(a.sink + head) * 1.44269504088896f;
    x.raise(sink);
    x.sum += ptx::ex2(sink - x.max + N::kLift);
  }
  float factor = x.sum > 0.0f ? 1.0f / x.sum : 0.0f;
  if constexpr (N::kIs) factor *= N::scale(a, a.v_scale, walk.b, walk.head);
  T *const to = static_cast<T *>(a.attention.o) +
                attn_view_token(&a.at.o, sequence.batch, head, sequence.q_first + token) + put_column<kShape>(four);
  const uint32_t first = pack<T>(x.out.x * factor, x.out.y * factor);
  const uint32_t second = pack<T>(x.out.z * factor, x.out.w * factor);
  if constexpr (N::kIs)
    *reinterpret_cast<uint2 *>(to) = make_uint2(first, second);
  else
    reinterpret_cast<uint32_t *>(to)[0] = first, reinterpret_cast<uint32_t *>(to)[4] = second;
  if (four == 0 && a.attention.lse != nullptr)
    a.attention.lse[attn_view_token(&a.at.lse, sequence.batch, head, sequence.q_first + token)] =
        log_sum_exp(x.max, N::kIs ? x.sum * (1.0f / (1u << (uint32_t)N::kLift)) : x.sum);
}

/* What a block does at the end of an item. */
template <typename T, Shape kShape>
struct Merger {
  static constexpr uint32_t kFours = kShape.D / 4;

  const DecodeGeneralParams &a;
  const Walk<kShape> &walk;
  Role role;
  uint32_t sums; /* shared address */

  /* Where a warp's rows lie. */
  __device__ __forceinline__ uint32_t sums_of(uint32_t warp) const {
    return sums + warp * a.warp_rows * sum_pitch_bytes(kShape.D);
  }
  __device__ __forceinline__ uint32_t stats_of(uint32_t warp) const {
    return sums_of(blockDim.x / kWarp) + warp * a.warp_rows * 16;
  }

  __device__ __forceinline__ void run(const Strip<T, kShape> &strip) const {
    const uint32_t warp = role.group * kShape.row_warps + role.row_warp;
    strip.put(sums_of(warp), stats_of(warp), a.warp_rows);
    __syncthreads(); /* orders the warps' sums before the reads */
    if (walk.is_whole()) {
      for_fours([&](uint32_t row, uint32_t four) { store_row<T>(a, walk, row, four, of_block(row, four)); });
      __syncthreads(); /* orders the reads before the next item's sums */
    } else {
      for_fours([&](uint32_t row, uint32_t four) { store_partial(row, four, of_block(row, four)); });
      const uint32_t first = walk.first_block(), count = walk.blocks();
      if (arrive_last(first, count))
        for_fours([&](uint32_t row, uint32_t four) {
          store_row<T>(a, walk, row, four, of_blocks(first, count, row, four));
        });
    }
  }

 private:
  template <typename With>
  __device__ __forceinline__ void for_fours(With with) const {
    for (uint32_t i = threadIdx.x; i < walk.rows() * kFours; i += blockDim.x) with(i / kFours, i % kFours);
  }

  /* What the groups have of a row. */
  __device__ __forceinline__ Sum of_block(uint32_t row, uint32_t four) const {
    const uint32_t row_warp = row / kWarpRows, of_warp = row % kWarpRows;
    Sum x;
    for (uint32_t g = 0; g < role.groups; ++g)
      x.max = fmaxf(x.max, load_floats(stats_of(g * kShape.row_warps + row_warp) + of_warp * 16).x);
    for (uint32_t g = 0; g < role.groups; ++g) {
      const uint32_t warp = g * kShape.row_warps + row_warp;
      const float4 stats = load_floats(stats_of(warp) + of_warp * 16);
      x.add(stats.x, stats.y, load_floats(sums_of(warp) + of_warp * sum_pitch_bytes(kShape.D) + four * 16));
    }
    return x;
  }

  /* A block's partial result of an item: of the one that it begins, or of one that began before. */
  __device__ __forceinline__ size_t partial_row(uint32_t block, bool begins, uint32_t row) const {
    return ((size_t)block * kPartials + begins) * a.rows + row;
  }
  __device__ __forceinline__ void store_partial(uint32_t row, uint32_t four, const Sum &x) const {
    const size_t at = partial_row(blockIdx.x, walk.from == 0, row);
    reinterpret_cast<float4 *>(a.partial)[at * kFours + four] = x.out;
    if (four == 0) reinterpret_cast<float2 *>(a.stats)[at] = make_float2(x.max, x.sum);
  }

  /* Merges the partial results that the blocks of an item have of a row. Each round loads kFan of them at once. Up to
   * 8 take a round of 8, since loads beyond their number cost time; more take rounds of 20. */
  __device__ __forceinline__ Sum of_blocks(uint32_t first, uint32_t count, uint32_t row, uint32_t four) const {
    return count <= 8 ? of_blocks<8>(first, count, row, four) : of_blocks<20>(first, count, row, four);
  }
  template <uint32_t kFan>
  __device__ __forceinline__ Sum of_blocks(uint32_t first, uint32_t count, uint32_t row, uint32_t four) const {
    Sum x;
    for (uint32_t done = 0; done < count; done += kFan) {
      float2 stats[kFan];
      float4 out[kFan];
#pragma unroll
      for (uint32_t f = 0; f < kFan;
           ++f) { /* without a branch, so that all are on their way before the first is used */
        const uint32_t which = min(done + f, count - 1);
        const size_t at = partial_row(first + which, which == 0, row);
        stats[f] = __ldcg(reinterpret_cast<const float2 *>(a.stats) + at);
        out[f] = __ldcg(reinterpret_cast<const float4 *>(a.partial) + at * kFours + four);
      }
      float largest = minus_infinity();
#pragma unroll
      for (uint32_t f = 0; f < kFan; ++f) {
        if (done + f >= count) stats[f] = make_float2(minus_infinity(), 0.0f);
        largest = fmaxf(largest, stats[f].x);
      }
      x.raise(largest);
#pragma unroll
      for (uint32_t f = 0; f < kFan; ++f) x.add(stats[f].x, stats[f].y, out[f]);
    }
    return x;
  }

  __device__ __forceinline__ bool arrive_last(uint32_t first, uint32_t count) const;
};

/* Publishes the block's stores and counts it, in the counter of the item's first block; a block is the first of at
 * most one shared item. The last arrival wraps the counter to zero. True in all threads of the last block of the
 * item, for which the stores of the others are published. */
template <typename T, Shape kShape>
__device__ __forceinline__ bool Merger<T, kShape>::arrive_last(uint32_t first, uint32_t count) const {
  __shared__ uint32_t arrived;
  __syncthreads(); /* orders all threads' stores before thread 0's release, and the reads before the next item's sums
                    */
  if (threadIdx.x == 0) arrived = ptx::count_arrival(a.arrivals + first, count - 1);
  __syncthreads(); /* orders `arrived`, and thread 0's acquire before the other threads' reads */
  return arrived == count - 1;
}

/* ---- the block ------------------------------------------------------------------------------------------------- */

/* Waits until at most `pending` groups of the thread's copies are in flight; from 0 to kStagesMax - 2. */
__device__ __forceinline__ void wait_for_copies(uint32_t pending) {
  switch (pending) {
    case 0: return ptx::cp_async_wait<0>();
    case 1: return ptx::cp_async_wait<1>();
    case 2: return ptx::cp_async_wait<2>();
    case 3: return ptx::cp_async_wait<3>();
    case 4: return ptx::cp_async_wait<4>();
    case 5: return ptx::cp_async_wait<5>();
    default: return ptx::cp_async_wait<6>();
  }
}

template <typename T, Shape kShape>
__device__ __forceinline__ void attend(const DecodeGeneralParams &a, uint32_t smem) {
  static_assert(kStagesMax == 8, "wait_for_copies knows these numbers of stages");
  constexpr uint32_t kStageBytes = stage_bytes(kShape);
  const Role role = Role::make<kShape>();
  const Stretch stretch = stretch_of<kShape>(a);
  const uint32_t rings = smem + q_bytes(kShape), ring = rings + role.group * a.stages * kStageBytes;
  Walk<kShape> walk(a, stretch);
  Fetcher<kShape> fetcher(a, walk, role, ring);
  for (uint32_t i = 1; i < a.stages; ++i) fetcher.step();
  const Merger<T, kShape> merger = {a, walk, role, rings + role.groups * a.stages * kStageBytes};
  Strip<T, kShape> strip(smem, role);
  uint32_t slot = 0;
  for (; walk.is_open; walk.next()) {
    strip.begin(a, walk, role);
    for (uint32_t tile = walk.from + role.group; tile < walk.to; tile += role.groups) {
      wait_for_copies(a.stages - 2);
      /* The group's copies of the tile are then there for all its warps, and the stage before it has been read. */
      if constexpr (kShape.row_warps == 1)
        __syncwarp();
      else
        ptx::named_sync(1 + role.group, kShape.row_warps * kWarp);
      fetcher.step();
      strip.attend(a, ring + slot * kStageBytes, walk.work.keys.first + tile * kShape.keys);
      if (++slot == a.stages) slot = 0;
    }
    merger.run(strip);
  }
}

}  // namespace attn::decode_general

#endif

#endif
