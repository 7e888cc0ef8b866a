/* The kernel of `wgmma_fp8`: that of `wgmma_general` (wgmma_general_tile.cuh) for e4m3.
 *
 * wgmma sums 8-bit operands along rows of shared memory alone, so P V needs V transposed: rows of one column, along
 * the keys. The copy engine brings a tile of V to a buffer of its own; two warps transpose it into a slot of the
 * ring, where the warpgroups find it in the place of V. 16-bit words are transposed by ldmatrix.trans, bytes by prmt.
 * That leaves keys in another order than they had: of 16 keys, thread i of a quad holds 2 i, 2 i + 1, 8 + 2 i and 9 +
 * 2 i side by side. It is the order in which the accumulators of S have them, so P is packed without a shuffle.
 * Where that is estimated to be faster, a pass before this kernel transposes V (wgmma_fp8_transpose), and the copy
 * engine brings tiles of the transposed V to the ring. That pass takes sequences of one length.
 *
 * A weight is 2^(exponent - reference), where the exponent is the score times the softmax scale times log2(e). When a
 * row's reference is set, its largest weight becomes 2^8, which is exact, and few of the others are subnormal. The
 * maxima are looked for in the first tiles that a row visits, in masked tiles, and in every tile where there is a
 * soft cap, a sink or a scale for each block of keys. There the reference is raised where a weight would not fit
 * e4m3, which rounds what is 432 or more, which is slightly above 2^8.75, to its largest number, 448. All other tiles
 * keep the reference. If a weight of the warp is packed as 448 or NaN, the reference is raised and the weights are
 * scaled (`raise_again`). If one of them is 2^120 or more, or NaN, the warp computes its scores again. So that this
 * is rare, rows whose weights add up to several times the largest one get a reference that is higher by 2. What they
 * lose by subnormal weights is small beside what they lose by the rounding of the others.
 *
 * So the largest weight may be rounded as well. O is divided by the sum of the rounded weights, from which most of
 * that error cancels, and all of it where one key has all the weight. The tensor cores make this sum: one more
 * product, with a block of ones, which sums 16 keys of a tile at a time. A sum of more keys would lose more by its 14
 * bits. The log-sum-exp is of the weights before they are rounded. With a sink less cancels. Then every tile is
 * looked through, the largest weight stays exact, and O is divided by the sum of the unrounded weights.
 *
 * The tensor cores' sums of e4m3 have 14 bits. `part` holds P V of at most 512 keys, or of one tile where there are
 * scales for blocks of keys or chunks. It is then added to fp32 sums. These are in `o` or, for the last `sums`
 * columns, in shared memory, where registers are too few for o, part and two sets of weights. With chunks, part holds
 * a part of the columns of one tile, and P V of a tile is computed one chunk after another.
 *
 * With `splits` = 2, an item is a part of the keys of a q tile (wgmma_split_tile.cuh). */
#ifndef ATTNBENCH_KERNELS_WGMMA_FP8_TILE_CUH
#define ATTNBENCH_KERNELS_WGMMA_FP8_TILE_CUH

#include "kernels/tiles/wgmma_split_tile.cuh"

namespace attn::wgmma_fp8 {

using wgmma_tile::kWorkInfos;

constexpr uint32_t kSlabColumns = 128; /* of a slab's row */

struct Shape {
  uint32_t D, Dv;          /* at most so many columns; those beyond a tensor's are zeros */
  uint32_t groups;         /* warpgroups that multiply, 64 query rows each */
  uint32_t keys;           /* of a tile; a multiple of 32, at most 128 */
  uint32_t slots;          /* tiles in the ring, of K and of transposed V together */
  uint32_t chunks = 1;     /* steps in which P V of a tile is computed; Dv / chunks columns each */
  uint32_t sums = 0;       /* so many columns, the last ones, have their fp32 sums in shared memory */
  uint32_t transposed = 0; /* 1: V was transposed by a pass before the kernel (wgmma_fp8_transpose) */
  uint32_t extras = 0; /* 1: takes soft caps, sinks, windows, scales for blocks of keys and LSE. Without them a kernel
                        * has a fifth less code, so more of it stays in the instruction cache */
  uint32_t splits = 1; /* 1: none; 2: the keys of a q tile are split into any number of parts, whose partial results
                        * are merged (wgmma_split_tile.cuh). The last member, since it is never 0: see
                        * wgmma_tile::Shape::cluster */
};

constexpr ATTN_HD bool is_split(const Shape &s) { return s.splits > 1; }
constexpr ATTN_HD uint32_t slabs(uint32_t D) { return (D + kSlabColumns - 1) / kSlabColumns; }
constexpr ATTN_HD uint32_t rows(const Shape &s) { return s.groups * 64; }
constexpr ATTN_HD uint32_t q_bytes(const Shape &s) { return s.groups * slabs(s.D) * 64 * 128; }
/* Buffers for tiles of V that the kernel has to transpose. */
constexpr ATTN_HD uint32_t raw_slots(const Shape &s) { return s.transposed ? 0 : 2; }
constexpr ATTN_HD uint32_t raw_bytes(const Shape &s) { return slabs(s.Dv) * s.keys * 128; }
/* Rows of 128 bytes of a tile of transposed V. The kernel writes `keys` bytes to each, of one column. The pass before
 * it fills them: row r has the columns r, r + v_rows, and so on, one behind another. */
constexpr ATTN_HD uint32_t v_rows(const Shape &s) { return s.transposed ? s.Dv * s.keys / 128 : s.Dv; }
/* A slot has K [slabs][keys][128 bytes] or transposed V [v_rows][128 bytes]. */
constexpr ATTN_HD uint32_t slot_bytes(const Shape &s) {
  const uint32_t k = slabs(s.D) * s.keys * 128, v = v_rows(s) * 128;
  return k > v ? k : v;
}
/* The fp32 sums of a group in shared memory: [sums / 8][128 threads][4]. */
constexpr ATTN_HD uint32_t sum_bytes(const Shape &s) { return s.sums / 2 * 128 * 4; }
/* [8 rows][128]: row r has ones for the keys 16 r .. 16 r + 15 of a tile, so that their weights are summed alone.
 * With the swizzle, those are the first 16 bytes of each row. */
constexpr uint32_t kOnesBytes = 1024;

/* Work infos [kWorkInfos][groups] of 16 + 32 + 16 bytes, barriers [buffers * groups + slots + raw_slots][2]. */
constexpr ATTN_HD uint32_t info_bytes(const Shape &s, uint32_t q_buffers) {
  return kWorkInfos * s.groups * 64 + 16 * (q_buffers * s.groups + s.slots + raw_slots(s));
}
/* Q [buffers][groups][slabs][64 rows][128 bytes], slots, infos, and from the next multiple of 1024 bytes on the ones,
 * V as it comes [raw_slots][slabs][keys][128 bytes], and the sums [groups]. */
constexpr ATTN_HD uint32_t ones_begin(const Shape &s, uint32_t q_buffers) {
  return (q_buffers * q_bytes(s) + s.slots * slot_bytes(s) + info_bytes(s, q_buffers) + 1023) / 1024 * 1024;
}
constexpr ATTN_HD uint32_t raw_begin(const Shape &s, uint32_t q_buffers) {
  return ones_begin(s, q_buffers) + kOnesBytes;
}
constexpr ATTN_HD uint32_t sums_begin(const Shape &s, uint32_t q_buffers) {
  return raw_begin(s, q_buffers) + raw_slots(s) * raw_bytes(s);
}
constexpr ATTN_HD uint32_t smem_bytes(const Shape &s, uint32_t q_buffers) {
  return sums_begin(s, q_buffers) + s.groups * sum_bytes(s);
}
constexpr ATTN_HD uint32_t q_buffers(const Shape &s) {
  return s.groups <= 2 && smem_bytes(s, 2) <= 227 * 1024 ? 2 : 1;
}
constexpr ATTN_HD uint32_t smem_bytes(const Shape &s) { return smem_bytes(s, q_buffers(s)); }

/* Tiles of V that wgmma_fp8_transpose writes: [batch][KV heads][tiles of a sequence]. */
inline uint64_t transposed_tiles(const attn_problem &shape, const Shape &s) {
  return (uint64_t)shape.B * shape.Hkv * ceil_div(shape.Skv, s.keys);
}

}  // namespace attn::wgmma_fp8

#ifdef __CUDACC__

namespace attn::wgmma_fp8 {

/* The argument. Its tensor maps are of pairs of columns, 16 bits each. */
struct Params : WgmmaGeneralParams {
  const float *q_scale, *k_scale, *v_scale;
  uint32_t Hkv;              /* each sequence and KV head has a scale; 0: there is one */
  uint32_t blocks;           /* each has so many for K and for V, of ATTN_SCALE_KEYS keys; 0: one */
  uint32_t v_tiles, v_heads; /* where V was transposed before: tiles of a sequence, and its KV heads */
};

/* The argument where blocks share the keys of a q tile. */
struct SplitParams : Params {
  wgmma_split::Parts parts;
};

/* The argument of wgmma_fp8_transpose. */
struct TransposeParams {
  const unsigned char *v;
  attn_view view;
  Divider by_tiles, by_heads;
  uint4 *to; /* [batch][heads][tiles][v_rows][128 bytes] */
};

inline TransposeParams transpose_params(const attn_problem &shape, const attn_buffers &buffers, const Shape &s) {
  return {static_cast<const unsigned char *>(buffers.v), attn_view_of(&shape, ATTN_V),
          divider(ceil_div(shape.Skv, s.keys)), divider(shape.Hkv), static_cast<uint4 *>(buffers.workspace)};
}

/* A view as tensors of 16-bit elements have it. */
inline attn_view pairs_of(const attn_view &view) {
  attn_view pairs = view;
  pairs.columns /= 2, pairs.token_stride /= 2, pairs.head_stride /= 2, pairs.batch_stride /= 2;
  return pairs;
}

inline struct status params_make(const attn_problem &shape, const attn_buffers &buffers, const Shape &s,
                                 uint32_t blocks, double turn_steps, Params *out) {
  const attn_view q = attn_view_of(&shape, ATTN_Q), k = attn_view_of(&shape, ATTN_K),
                  v = attn_view_of(&shape, ATTN_V);
  wgmma_general::settings_make(shape, buffers, rows(s), s.keys, blocks, turn_steps, out);
  out->q_scale = buffers.q_scale, out->k_scale = buffers.k_scale, out->v_scale = buffers.v_scale;
  out->Hkv = shape.scales == ATTN_SCALES_TENSOR ? 0 : shape.Hkv;
  out->blocks = shape.scales == ATTN_SCALES_BLOCK ? attn_scale_blocks(&shape, ATTN_K) : 0;
  TRY(tensor_map_make(&out->q, buffers.q, ATTN_BF16, pairs_of(q), 64));
  TRY(tensor_map_make(&out->k, buffers.k, ATTN_BF16, pairs_of(k), s.keys));
  if (!s.transposed) return tensor_map_make(&out->v, buffers.v, ATTN_BF16, pairs_of(v), s.keys);
  out->v_tiles = ceil_div(shape.Skv, s.keys), out->v_heads = shape.Hkv;
  const uint32_t tiles = (uint32_t)transposed_tiles(shape, s), row_pairs = 64;
  const uint64_t tile_pairs = (uint64_t)v_rows(s) * row_pairs;
  const attn_view view = {1, tiles, v_rows(s), row_pairs, tiles * tile_pairs, tile_pairs, row_pairs};
  return tensor_map_make(&out->v, buffers.workspace, ATTN_BF16, view, v_rows(s));
}

/* T: the type of O. */
template <typename T_, Shape S_>
struct Config {
  using T = T_;
  using Params = std::conditional_t<is_split(S_), SplitParams, wgmma_fp8::Params>;
  static constexpr Shape kShape = S_;
  static constexpr wgmma_tile::Shape S = {.D = S_.D / 2, .groups = S_.groups, .keys = S_.keys, .slots = S_.slots};
  static constexpr uint32_t kD = S_.D, kDv = S_.Dv, kKeys = S_.keys, kSlots = S_.slots, kGroups = S_.groups;
  static constexpr uint32_t kQBuffers = q_buffers(S_), kRows = rows(S_);
  static constexpr uint32_t kSlabs = slabs(S_.D), kVSlabs = slabs(S_.Dv), kRawBytes = raw_bytes(S_);
  static constexpr uint32_t kSlotBytes = slot_bytes(S_), kGroupBytes = kSlabs * 64 * 128;
  static constexpr uint32_t kChunks = S_.chunks, kChunk = S_.Dv / S_.chunks;
  static constexpr bool kTransposed = S_.transposed;
  static constexpr bool kCaps = S_.extras, kSinks = S_.extras, kLse = S_.extras, kScaledBlocks = S_.extras;
  static constexpr bool kWindows = S_.extras, kLists = false;
  static constexpr uint32_t kRawSlots = raw_slots(S_), kVBytes = v_rows(S_) * 128;
  /* A row of V that was transposed before holds kParts columns. P V is computed in kParts products: product i takes
   * column i of every row, kPart columns in all. */
  static constexpr uint32_t kParts = kTransposed ? 128 / kKeys : 1, kPart = kChunk / kParts;
  static constexpr uint32_t kSums = S_.sums;         /* columns whose fp32 sums are in shared memory */
  static constexpr uint32_t kHeld = S_.Dv - S_.sums; /* columns whose fp32 sums are in registers */
  /* part is added to its sums before the warpgroup's turn, so that many additions to shared memory overlap the turn
   * of the other warpgroup. */
  static constexpr bool kAddsBeforeTurn = S_.sums > 64;
  /* Whether the last tile of a round may be weighed without looking for its maxima. Q is then given back only after
   * that tile was weighed, since its scores may have to be computed again. Where sums are in shared memory, the loop
   * over the other tiles becomes slower by more than this gains; three warpgroups have too few registers. */
  static constexpr bool kUnseenLast = S_.sums == 0 && kGroups < 3;
  /* Tiles that are summed in the tensor cores, in 14 bits: at most the 512 keys that the check of e4m3 asks for
   * (kernels/bounds.h). */
  static constexpr uint32_t kSummed = kChunks > 1 ? 1 : 512 / kKeys;
  static constexpr bool kTurns = kGroups > 1, kScaled = true, kPacked = false, kSplit = is_split(S_);
  static constexpr uint32_t kConsumerRegisters = kGroups == 3 ? 152 : kDv <= 64 ? 216 : 232;
  static constexpr uint32_t kProducerRegisters = kGroups == 3 ? 56 : kDv <= 64 ? 72 : 40;
  /* Tiles that two warpgroups can be apart, with their rows. */
  static constexpr uint32_t kApart = ceil_div((kGroups - 1) * 64, kKeys);
  static_assert(kSlots >= 4 * kApart && kKeys % 32 == 0 && kKeys <= 128 && S_.D % 32 == 0 && kPart % 16 == 0 &&
                S_.Dv <= S_.D && !(is_split(S_) && S_.transposed) && (S_.sums == 0 || S_.chunks == 1) &&
                S_.sums % 8 == 0 && smem_bytes(S_) <= 227 * 1024);
};

/* The scales of an item: x is that of Q times that of K, y that of V. Where blocks of keys have scales, x is that of
 * Q, and z the index of the first block's. */
__device__ __forceinline__ uint4 scale_words(const Params &a, uint32_t sequence, uint32_t kv_head) {
  const uint32_t at = a.Hkv == 0 ? 0 : sequence * a.Hkv + kv_head;
  const float q = a.q_scale[at];
  if (a.blocks > 0) return make_uint4((uint32_t)__float_as_int(q), 0, at * a.blocks, 0);
  return make_uint4((uint32_t)__float_as_int(q * a.k_scale[at]), (uint32_t)__float_as_int(a.v_scale[at]), 0, 0);
}

#ifdef ATTN_SM90A

using wgmma_general::Item;
using wgmma_tile::Cursor;

/* The two warps that transpose wait for each other. */
constexpr uint32_t kTransposeBarrier = 8, kTransposers = 64;

/* Addresses in shared memory. */
template <typename C>
struct Layout : wgmma_general::Layout<C> {
  __device__ __forceinline__ uint32_t ones() const { return this->base + ones_begin(C::kShape, C::kQBuffers); }
  __device__ __forceinline__ uint32_t raw(uint32_t i) const {
    return this->base + raw_begin(C::kShape, C::kQBuffers) + i * C::kRawBytes;
  }
  __device__ __forceinline__ uint32_t raw_full(uint32_t i) const {
    return this->scale_info(0, 0) + kWorkInfos * C::kGroups * 16 + 8 * i;
  }
  __device__ __forceinline__ uint32_t raw_empty(uint32_t i) const { return raw_full(C::kRawSlots + i); }
  /* Four of the thread's sums; the next four lie 128 * 16 bytes further. */
  __device__ __forceinline__ uint32_t sums(uint32_t group) const {
    return this->base + sums_begin(C::kShape, C::kQBuffers) + group * sum_bytes(C::kShape) + threadIdx.x % 128 * 16;
  }

  __device__ __forceinline__ void init_barriers() const {
    if constexpr (!C::kTransposed)
      for (uint32_t i = 0; i < C::kRawSlots; ++i)
        hopper::barrier_init(raw_full(i), 1), hopper::barrier_init(raw_empty(i), 1);
    wgmma_general::Layout<C>::init_barriers();
  }
};

/* One thread: the tiles of K to the ring, those of V to it or to where they are transposed. */
template <typename C>
struct KvFetcher {
  const typename C::Params &a;
  const Layout<C> at;
  const uint32_t items;
  Cursor<C::kSlots> cursor;
  Cursor<C::kTransposed ? 1 : C::kRawSlots> raw;

  __device__ __forceinline__ void fetch_k(const Item &item, uint32_t tile) {
    hopper::barrier_wait(at.empty(cursor.slot), cursor.parity ^ 1);
    wgmma_general::fetch_keys<C, C::kSlabs>(&a.k, item, tile, at.slot(cursor.slot), at.full(cursor.slot));
    cursor.advance();
  }
  __device__ __forceinline__ void fetch_v(const Item &item, uint32_t tile) {
    if constexpr (C::kTransposed) {
      hopper::barrier_wait(at.empty(cursor.slot), cursor.parity ^ 1);
      hopper::barrier_expect(at.full(cursor.slot), C::kVBytes);
      hopper::load_box(at.slot(cursor.slot), &a.v, at.full(cursor.slot), 0, 0,
                       (item.batch * a.v_heads + item.kv_head) * a.v_tiles + tile, 0, hopper::kEvictLast);
      cursor.advance();
      return;
    }
    hopper::barrier_wait(at.raw_empty(raw.slot), raw.parity ^ 1);
    wgmma_general::fetch_keys<C, C::kVSlabs>(&a.v, item, tile, at.raw(raw.slot), at.raw_full(raw.slot));
    raw.advance(), cursor.advance();
  }
  __device__ __forceinline__ void run() {
    for (uint32_t round = 0, index; (index = wgmma_tile::item_index<C>(round)) < items; ++round) {
      const Item item = wgmma_general::item_of<C>(a, index);
      uint32_t tile = item.tiles.end - 1;
      fetch_k(item, tile);
      for (; tile > item.tiles.begin; --tile) fetch_k(item, tile - 1), fetch_v(item, tile);
      fetch_v(item, tile);
    }
  }
};

/* Two warps: V from where it comes to the slot of the ring where its turn is. */
template <typename C>
struct Transposer {
  const typename C::Params &a;
  const Layout<C> at;
  const uint32_t items;
  Cursor<C::kSlots> cursor;
  Cursor<C::kRawSlots> raw;

  /* Pieces of 32 keys and 16 columns: a warp has every other 16 columns, and of those all keys at once, so that the
   * latency of the reads is waited for once. Of a column pair, lanes of the lower half of the warp store the even
   * column first, the others the odd one, so that the eight rows that are stored at a time lie in different banks. */
  static constexpr uint32_t kPieces = C::kKeys / 32;
  static_assert(C::kDv % 32 == 0);

  /* Where a lane reads and writes the first piece, in bytes from the tiles' beginnings. The others lie at constant
   * distances, but for the swizzle, which exchanges pairs of chunks in a row of eight. */
  struct Places {
    uint32_t read, write;
  };
  static __device__ __forceinline__ Places places() {
    const uint32_t thread = ptx::opaque(threadIdx.x); /* kept from one item to the next, they would be spilled */
    const uint32_t lane = thread % kWarp, warp = thread / kWarp % 2, row = lane % 8, set = lane / 8 % 2;
    const uint32_t column = warp * 16 + 2 * row + (set ^ (row >= 4 ? 1 : 0)), half = lane / 16;
    return {lane * 128 + (warp ^ row) * 16, column * 128 + (half ^ column % 8) * 16};
  }

  static __device__ __forceinline__ void transpose(uint32_t from, uint32_t to) {
    const bool is_swapped = threadIdx.x % kWarp >= 16; /* of what the lane holds; of the row whose address it gives:
                                                        * row >= 4 */
    const uint32_t first = is_swapped ? 0x7531 : 0x6420, second = is_swapped ? 0x6420 : 0x7531;
#pragma unroll 1
    for (uint32_t columns = 0; columns < C::kDv / 32; ++columns, to += 32 * 128) {
      const uint32_t read = (from ^ columns % 4 * 32) + columns / 4 * C::kKeys * 128;
      uint32_t m[kPieces][4];
#pragma unroll
      for (uint32_t i = 0; i < kPieces; ++i) ptx::ldmatrix_x4_trans(m[i], read + i * 32 * 128);
#pragma unroll
      for (uint32_t i = 0; i < kPieces; ++i) {
        const uint32_t w[4] = {__byte_perm(m[i][0], m[i][1], first), __byte_perm(m[i][0], m[i][1], second),
                               __byte_perm(m[i][2], m[i][3], first), __byte_perm(m[i][2], m[i][3], second)};
        ptx::stmatrix_x4(to ^ i * 32, w);
      }
    }
  }

  __device__ __forceinline__ void run() {
    for (uint32_t round = 0, index; (index = wgmma_tile::item_index<C>(round)) < items; ++round) {
      const Item item = wgmma_general::item_of<C>(a, index);
      const Places place = places();
      cursor.advance(); /* past the first K */
#pragma unroll 1
      for (uint32_t left = item.tiles.count(); left > 0; --left) {
        if (left > 1) cursor.advance();
        hopper::barrier_wait(at.raw_full(raw.slot), raw.parity);
        hopper::barrier_wait(at.empty(cursor.slot), cursor.parity ^ 1);
        transpose(at.raw(raw.slot) + place.read, at.slot(cursor.slot) + place.write);
        hopper::fence_async(); /* before wgmma reads what was stored, and the copy engine writes where it was read */
        hopper::named_sync(kTransposeBarrier, kTransposers);
        if (threadIdx.x % kTransposers == 0)
          hopper::barrier_arrive(at.full(cursor.slot)), hopper::barrier_arrive(at.raw_empty(raw.slot));
        cursor.advance(), raw.advance();
      }
    }
  }
};

/* One warpgroup and its 64 rows. */
template <typename C>
struct Multiplier : wgmma_general::GeneralMultiplier<C> {
  using Base = wgmma_general::GeneralMultiplier<C>;
  using E = __nv_fp8_e4m3;
  using Base::a, Base::at, Base::group, Base::softmax, Base::s, Base::o;
  using Base::acquire, Base::release, Base::release_q, Base::acquire_q, Base::begin_turn, Base::end_turn;
  using Base::acquire_last, Base::drop, Base::drop_before_first, Base::forward, Base::has_next, Base::work_info;
  using Base::first_tile, Base::last_tile, Base::masked_end, Base::plain_begin, Base::plain_end, Base::unseen_end;
  /* What is done to the scores of a tile. SEEN: the maxima are looked for, after masks, caps and scales of blocks
   * where there are some. UNSEEN: they are not. */
  enum Kind { SEEN, UNSEEN };
  static constexpr float kTopBits = 8.0f;   /* the largest weight of a reference that was just set is 2^8 */
  static constexpr float kRoomBits = 0.75f; /* a larger one by less than this is not packed as 448 */
  static constexpr uint32_t kSeenTiles = 3; /* at most; maxima grow fastest in the first tiles of a row */
  /* A row whose weights sum to more than kDiffuse times the largest one gets a reference that is higher by
   * kMoreRoomBits; its weights are multiplied by kMoreRoom. */
  static constexpr float kDiffuse = 4.0f, kMoreRoomBits = 2.0f, kMoreRoom = 0x1p-2f;

  /* As o, of a chunk of columns: P V of the tiles that were not yet added to the sums. */
  float part[C::kParts][C::kPart / 2];
  /* has_sums: this round has added to the fp32 sums. Before, those in o are zeros, and those in shared memory are not
   * valid. sums_shrink: for each row, what its sums in shared memory are to be multiplied by. o has the sums of the
   * first kHeld columns and, after add_last, of all columns. */
  bool has_sums;
  float sums_shrink[2];
  float part_total[4]; /* of a tile, for each row i in 2 i and 2 i + 1: sums of the weights as they are rounded */
  float total[2];      /* for each row, the thread's part: the sum of part_total over the tiles before */
  using Weights = uint32_t[C::kKeys / 8];
  Weights w; /* weights, the A operand */
  /* For each row: what part, part_total, and P V under way are to be multiplied by to be relative to the reference as
   * it is. */
  float shrink[2];
  uint32_t summed; /* tiles in part */
  bool grew;       /* shrink may differ from 1 in some row of the warp */
  /* Of this round: the tile of its lowest keys, which is visited last, and what a score is multiplied by to be an
   * exponent of 2. */
  uint32_t first;
  float exponent_scale;

  __device__ __forceinline__ Multiplier(const typename C::Params &params, const Layout<C> &layout, uint32_t g)
      : Base(params, layout, g) {}

  __device__ __forceinline__ void fence() { hopper::pin(s), hopper::pin(w); }
  __device__ __forceinline__ bool has_blocks() const { return C::kScaledBlocks && a.blocks > 0; }
  __device__ __forceinline__ bool has_sink() const { return C::kSinks && a.sink != nullptr; }
  __device__ __forceinline__ bool has_lse() const { return C::kLse && a.lse != nullptr; }
  __device__ __forceinline__ bool has_cap() const { return C::kCaps && a.cap_scale != 0.0f; }
  __device__ __forceinline__ float &part_at(uint32_t j) { return part[j / (C::kPart / 2)][j % (C::kPart / 2)]; }
  __device__ __forceinline__ void pin_part() {
#pragma unroll
    for (uint32_t i = 0; i < C::kParts; ++i) hopper::pin(part[i]);
  }

  /* Starts S = Q K' */
  __device__ __forceinline__ void start_qk(uint32_t slot, uint32_t round) {
    const uint64_t rows = hopper::operand(at.q(group, round)), keys = hopper::operand(at.slot(slot));
    hopper::wgmma_fence();
#pragma unroll
    for (uint32_t d = 0; d < C::kD / 32; ++d)
      hopper::MultiplyQk<E, C::kKeys>::run(s, forward(rows, d / 4 * 64 * 128 + d % 4 * 32),
                                           forward(keys, d / 4 * C::kKeys * 128 + d % 4 * 32), d > 0);
    hopper::wgmma_commit();
  }
  /* Starts part = P V, of a chunk of the columns, or part += P V; the sums of weights come with the last chunk. */
  __device__ __forceinline__ void start_pv(uint32_t slot, uint32_t chunk) {
    const uint64_t v = hopper::operand(at.slot(slot) + chunk * C::kChunk * 128);
    const uint64_t ones = hopper::operand(Layout<C>{at}.ones());
    const bool keep = C::kSummed > 1 && summed > 0;
    hopper::wgmma_fence();
#pragma unroll
    for (uint32_t k = 0; k < C::kKeys / 32; ++k) {
#pragma unroll
      for (uint32_t i = 0; i < C::kParts; ++i)
        hopper::MultiplyQkRegisters<E, C::kPart>::run(part[i], w + 4 * k, forward(v, i * C::kKeys + k * 32),
                                                      k > 0 || keep);
      if (chunk + 1 == C::kChunks)
        hopper::MultiplyQkRegisters<E, 8>::run(part_total, w + 4 * k, forward(ones, k * 32), k > 0);
    }
    hopper::wgmma_commit();
  }

  __device__ __forceinline__ uint4 scales(uint32_t round) const {
    return ptx::load_shared(wgmma_general::Layout<C>{at}.scale_info(group, round));
  }
  /* What a product of numbers of Q and of K is multiplied by to be one of their values. */
  __device__ __forceinline__ float score_scale(uint32_t round, uint32_t tile) const {
    const uint4 info = scales(round);
    return __int_as_float((int)info.x) * a.k_scale[info.z + tile * C::kKeys / ATTN_SCALE_KEYS];
  }
  /* The scale of V of a tile, where blocks of keys have scales; all others are applied at the end. */
  __device__ __forceinline__ float value_scale(uint32_t round, uint32_t tile) const {
    return has_blocks() ? a.v_scale[scales(round).z + tile * C::kKeys / ATTN_SCALE_KEYS] : 1.0f;
  }

  /* Scores of products become tanh of `scale` times them; one after the other, since registers are scarce. */
  __device__ __forceinline__ void cap(float scale) {
#pragma unroll
    for (uint32_t i = 0; i < C::kKeys / 2; ++i) {
      float one[] = {tanh_any(s[i] * scale)};
      hopper::pin(one);
      s[i] = one[0];
    }
  }

  __device__ __forceinline__ void largest_of_rows(float (&largest)[2]) const {
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      float x[2] = {s[2 * i], s[2 * i + 1]};
#pragma unroll
      for (uint32_t j = 2; j < C::kKeys / 4; ++j) x[j % 2] = fmaxf(x[j % 2], s[j / 2 * 4 + 2 * i + j % 2]);
      largest[i] = fmaxf(x[0], x[1]);
    }
  }
  __device__ __forceinline__ void add_weights(float (&sum)[2]) const {
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      float x[2] = {s[2 * i], s[2 * i + 1]};
#pragma unroll
      for (uint32_t j = 2; j < C::kKeys / 4; ++j) x[j % 2] += s[j / 2 * 4 + 2 * i + j % 2];
      sum[i] = x[0] + x[1];
    }
  }
  /* What was summed until now becomes relative to another reference, of which it is `factor`. */
  __device__ __forceinline__ void rescale(const float (&factor)[2]) {
    if (has_sums) {
#pragma unroll
      for (uint32_t j = 0; j < C::kHeld / 2; ++j) o[j] *= factor[j / 2 % 2];
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) sums_shrink[i] *= factor[i];
    }
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) softmax.sum[i] *= factor[i], total[i] *= factor[i], shrink[i] *= factor[i];
    grew = true;
  }
  __device__ __forceinline__ void scale_weights(const float (&factor)[2]) {
#pragma unroll
    for (uint32_t j = 0; j < C::kKeys / 2; ++j) s[j] *= factor[j / 2 % 2];
  }

  /* Scores to weights. SEEN raises the references first, UNSEEN takes them as they are. at_chunk(n) is called where
   * chunk n of P V may be started. */
  template <Kind K, typename At>
  __device__ __forceinline__ void weigh(uint32_t round, uint32_t tile, bool is_masked, const At &at_chunk) {
    float scale = exponent_scale;
    if constexpr (K == SEEN) {
      if (is_masked) {
        if (has_blocks()) scale = score_scale(round, tile) * (has_cap() ? a.cap_scale : a.scale_log2);
        if (has_cap()) cap(scale), scale = a.scale_log2;
        this->mask(round, tile);
      }
      raise(scale);
    }
    at_chunk(1);
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float base = K == SEEN && softmax.reference[i] == minus_infinity() ? 0.0f : softmax.reference[i];
#pragma unroll
      for (uint32_t j = 0; j < C::kKeys / 4; ++j) {
        float &x = s[j / 2 * 4 + 2 * i + j % 2];
        x = ptx::ex2(fmaf(x, scale, -base));
      }
      at_chunk(2 + i);
    }
  }
  /* s holds scores. If a weight of any row of the warp would not fit, each row whose largest weight exceeds 2^8 gets
   * the reference with which it is 2^8. */
  __device__ __forceinline__ void raise(float scale) {
    float largest[2];
    largest_of_rows(largest);
    const float room = has_sink() ? 0.0f : kRoomBits;
    bool raises = false;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      largest[i] = fmaf(largest[i], scale, -kTopBits);
      raises |= largest[i] > softmax.reference[i] + room;
    }
    if (!__any_sync(kFullWarp, raises)) return;
    float factor[2];
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float before = softmax.reference[i], next = fmaxf(before, quad_max(largest[i]));
      factor[i] = before == minus_infinity() ? 1.0f : ptx::ex2(before - next); /* nothing was summed before */
      softmax.reference[i] = next;
    }
    rescale(factor);
  }
  /* Weights that are about to be packed become a quarter in rows whose sum of weights is several times the largest
   * one. */
  __device__ __forceinline__ void give_room() {
    float factor[2];
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float of_row = quad_sum(fmaf(part_total[2 * i] + part_total[2 * i + 1], shrink[i], total[i]));
      const bool is_diffuse = of_row > kDiffuse * 0x1p8f;
      factor[i] = is_diffuse ? kMoreRoom : 1.0f;
      softmax.reference[i] += is_diffuse ? kMoreRoomBits : 0.0f;
    }
    scale_weights(factor);
    rescale(factor);
  }

  /* The weights in s do not fit e4m3: raises the references of those rows. If one of them is not below 2^120, all of
   * the warp are made once more. */
  __device__ __forceinline__ void raise_again(uint32_t slot, uint32_t round) {
    float largest[2], sum[2], factor[2];
    largest_of_rows(largest);
    const bool is_lost = __any_sync(kFullWarp, !(fmaxf(largest[0], largest[1]) < 0x1p120f));
    if (is_lost) {
      this->multiply_again(slot, round, [](float(&c)[4], const uint32_t(&left)[4], uint32_t b0, uint32_t b1) {
        ptx::mma_16x8x32(c, left, b0, b1);
      });
      largest_of_rows(largest);
    }
    add_weights(sum); /* of no meaning where they are scores */
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float before = softmax.reference[i], top = quad_max(largest[i]), of_row = quad_sum(sum[i]);
      const float next = is_lost ? fmaf(top, exponent_scale, -kTopBits) : before + (ptx::lg2(top) - kTopBits);
      const float room = !is_lost && of_row > kDiffuse * top ? kMoreRoomBits : 0.0f;
      softmax.reference[i] = next > before + kRoomBits ? next + room : before;
      factor[i] = ptx::ex2(before - softmax.reference[i]);
    }
    if (is_lost) {
#pragma unroll
      for (uint32_t j = 0; j < C::kKeys / 2; ++j)
        s[j] = ptx::ex2(fmaf(s[j], exponent_scale, -softmax.reference[j / 2 % 2]));
    } else {
      scale_weights(factor);
    }
    rescale(factor);
  }

  /* Packs the weights of UNSEEN scores, on higher references where they do not fit. K is still in its slot. */
  __device__ __forceinline__ void pack_unseen(Weights &w, uint32_t slot, uint32_t round) {
    pack(w);
    uint32_t sign = 0; /* of a byte: set where a byte of w is 0x7e or 0x7f, which are 448 and NaN */
#pragma unroll
    for (uint32_t i = 0; i < C::kKeys / 8; ++i) sign |= w[i] + 0x02020202;
    if (!__any_sync(kFullWarp, (sign & 0x80808080) != 0)) return;
    raise_again(slot, round);
    pack(w);
  }
  /* Adds the weights, before they are rounded, to what LSE or a sink needs. */
  __device__ __forceinline__ void add_to_sum() {
    if (!has_lse() && !has_sink()) return;
    float sum[2];
    add_weights(sum);
    softmax.sum[0] += sum[0], softmax.sum[1] += sum[1];
  }
  __device__ __forceinline__ void pack(Weights &w) const {
#pragma unroll
    for (uint32_t k = 0; k < C::kKeys / 32; ++k)
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) {
        const float *const x = s + 16 * k + i / 2 * 8 + i % 2 * 2;
        w[4 * k + i] = ptx::pack_e4m3(x[0], x[1], x[4], x[5]);
      }
  }

  /* Adds part * shrink * scale to the fp32 sums of a chunk of columns. P V must be complete. */
  __device__ __forceinline__ void add(uint32_t chunk, float scale) {
    const float f[2] = {shrink[0] * scale, shrink[1] * scale};
    add_held(chunk, f);
    if constexpr (C::kSums == 0) {
      hopper::pin(o);
    } else {
      const uint32_t sums = Layout<C>{at}.sums(group);
      for_sums(sums, f, [&](uint32_t j, const float(&x)[4]) { store_sums(sums, j, x); });
      sums_shrink[0] = sums_shrink[1] = 1.0f;
    }
    has_sums = true;
  }
  /* As add, for the last tiles of a round: o then has the sums of all columns. Overwrites part. */
  __device__ __forceinline__ void add_last(float scale) {
    const float f[2] = {shrink[0] * scale, shrink[1] * scale};
    add_held(C::kChunks - 1, f);
    if constexpr (C::kSums > 0) {
      for_sums(Layout<C>{at}.sums(group), f, [&](uint32_t j, const float(&x)[4]) {
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) o[C::kHeld / 2 + j + i] = x[i];
      });
      /* wgmma has part as an input operand even where it overwrites it. With a copy of o both share registers while
       * the output is written. */
#pragma unroll
      for (uint32_t j = 0; j < C::kDv / 2; ++j) part_at(j) = o[j];
    }
  }
  __device__ __forceinline__ void add_held(uint32_t chunk, const float (&f)[2]) {
#pragma unroll
    for (uint32_t j = 0; j < (C::kChunks > 1 ? C::kChunk : C::kHeld) / 2; ++j) {
      float &sum = o[chunk * C::kChunk / 2 + j];
      sum = fmaf(part_at(j), f[j / 2 % 2], sum);
    }
  }
  /* For the accumulators whose sums are in shared memory, four at a time: with(j, x), where x is the stored sum *
   * sums_shrink + part * f, or part * f alone where nothing was stored yet. Eight sums are loaded before they are
   * used.
   */
  template <typename With>
  __device__ __forceinline__ void for_sums(uint32_t sums, const float (&f)[2], const With &with) {
    constexpr uint32_t kAtOnce = 8;
    static_assert(C::kSums / 2 % kAtOnce == 0);
    if (!has_sums) {
#pragma unroll
      for (uint32_t j = 0; j < C::kSums / 2; j += 4) {
        float x[4];
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) x[i] = part_at(C::kHeld / 2 + j + i) * f[i / 2];
        with(j, x);
      }
      return;
    }
#pragma unroll
    for (uint32_t j = 0; j < C::kSums / 2; j += kAtOnce) {
      uint4 before[kAtOnce / 4];
#pragma unroll
      for (uint32_t n = 0; n < kAtOnce / 4; ++n) before[n] = ptx::load_shared(sums + (j / 4 + n) * 128 * 16);
#pragma unroll
      for (uint32_t n = 0; n < kAtOnce / 4; ++n) {
        const uint32_t words[4] = {before[n].x, before[n].y, before[n].z, before[n].w};
        float x[4];
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i)
          x[i] = fmaf(__int_as_float((int)words[i]), sums_shrink[i / 2],
                      part_at(C::kHeld / 2 + j + 4 * n + i) * f[i / 2]);
        with(j + 4 * n, x);
      }
    }
  }
  static __device__ __forceinline__ void store_sums(uint32_t sums, uint32_t j, const float (&x)[4]) {
    ptx::store_shared(sums + j / 4 * 128 * 16,
                      make_uint4((uint32_t)__float_as_int(x[0]), (uint32_t)__float_as_int(x[1]),
                                 (uint32_t)__float_as_int(x[2]), (uint32_t)__float_as_int(x[3])));
  }
  /* Adds the sums of weights of the last product that was waited for. */
  __device__ __forceinline__ void add_total() {
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) total[i] = fmaf(part_total[2 * i] + part_total[2 * i + 1], shrink[i], total[i]);
  }
  /* Called before P V of one more tile. If part has the most tiles that it may have, adds it to the fp32 sums. If
   * not, and a reference was raised, multiplies it by shrink. `tile`: the last one that was added to part. */
  __device__ __forceinline__ void prepare_part(uint32_t round, uint32_t tile) {
    if (summed > 0) add_total();
    if (summed == (has_blocks() ? 1 : C::kSummed)) {
      add(C::kChunks - 1, value_scale(round, tile));
      summed = 0;
    } else if (grew && summed > 0) {
#pragma unroll
      for (uint32_t j = 0; j < C::kChunk / 2; ++j) part_at(j) *= shrink[j / 2 % 2];
      pin_part();
    }
    shrink[0] = shrink[1] = 1.0f, grew = false;
  }
  /* Waits for a chunk of P V, adds it to its sums and starts the one after it. */
  __device__ __forceinline__ void next_chunk(uint32_t slot, uint32_t chunk, float scale) {
    this->template wait<0>();
    pin_part(), hopper::pin(w);
    add(chunk - 1, scale);
    start_pv(slot, chunk);
  }

  /* One tile further. Tiles are visited from the highest keys to the lowest. The scores of `tile` are started here. w
   * has the weights of tile + 1, which was visited before it, and P V of that tile is started here too. part has the
   * tiles up to tile + 2. `gives_room`: rows whose sum of weights is large get a higher reference. */
  template <Kind K>
  __device__ __forceinline__ void step(uint32_t round, uint32_t tile, bool is_masked, bool gives_room) {
    if constexpr (C::kAddsBeforeTurn) prepare_part(round, tile + 2);
    const uint32_t k = acquire();
    begin_turn();
    fence();
    start_qk(k, round);
    if constexpr (!C::kAddsBeforeTurn) prepare_part(round, tile + 2);
    const uint32_t v = acquire();
    start_pv(v, 0);
    ++summed;
    end_turn();
    this->template wait<1>();
    hopper::pin(s);
    if constexpr (K != UNSEEN) {
      release(k);
      if (tile == first) release_q(round);
    }
    const float scale = C::kChunks > 1 ? value_scale(round, tile + 1) : 1.0f;
    weigh<K>(round, tile, is_masked, [&](uint32_t chunk) {
      if (chunk < C::kChunks) next_chunk(v, chunk, scale);
    });
    /* The weights of `tile` are packed and checked while P V of tile + 1 still reads w. */
    constexpr bool kPacksEarly = K == UNSEEN && C::kSums > 0;
    Weights next;
    if constexpr (kPacksEarly) {
      pack_unseen(next, k, round);
      release(k);
      hopper::pin(next);
    }
    this->template wait<0>();
    pin_part(), hopper::pin(part_total), hopper::pin(w);
    release(v);
    if constexpr (kPacksEarly) {
      /* A plain copy would let the compiler place `next` in the registers of w, which P V still reads. */
      const uint32_t zero = round >> 31;
#pragma unroll
      for (uint32_t i = 0; i < C::kKeys / 8; ++i) w[i] = next[i] ^ zero;
    } else if constexpr (K == UNSEEN) {
      pack_unseen(w, k, round);
      release(k);
      if (C::kUnseenLast && tile == first) release_q(round);
    } else {
      if (gives_room) give_room();
      pack(w);
    }
    add_to_sum();
  }
  /* The tile that a round visits first, whose product has been waited for, and the turns to pass on. */
  __device__ __forceinline__ void begin_round(uint32_t round, uint32_t k) {
    const uint32_t tile = last_tile(round);
    const uint4 info = scales(round);
    first = first_tile(round);
    exponent_scale = __int_as_float((int)info.x) * (has_cap() ? a.cap_scale : a.scale_log2);
    softmax.reset();
#pragma unroll
    for (uint32_t j = 0; j < C::kHeld / 2; ++j) o[j] = 0.0f;
    has_sums = false;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) total[i] = 0.0f, shrink[i] = sums_shrink[i] = 1.0f;
    summed = 0;
    release(k);
    if (tile == first) release_q(round);
    weigh<SEEN>(round, tile, true, [](uint32_t) {});
    pack(w);
    add_to_sum();
    grew = false;                                   /* nothing was summed before */
    if ((work_info(round).z & 0xffff) > 0) drop(1); /* V of the last tile before them */
#pragma unroll 1
    for (uint32_t turns = work_info(round).w >> 16; turns > 0; --turns) begin_turn(), end_turn();
  }
  /* The first chunk of P V of the tile that is visited last has been waited for: the others, and the round's output.
   */
  __device__ __forceinline__ void end_round(uint32_t slot, uint32_t round, uint32_t tile) {
    const float scale = value_scale(round, tile);
#pragma unroll
    for (uint32_t chunk = 1; chunk < C::kChunks; ++chunk) next_chunk(slot, chunk, scale);
    if constexpr (C::kChunks > 1) this->template wait<0>();
    pin_part(), hopper::pin(part_total), hopper::pin(w);
    release(slot);
    add_last(scale);
    add_total();
    const float sum[2] = {quad_sum(softmax.sum[0]), quad_sum(softmax.sum[1])};
    const bool is_exact = has_sink();
    const float rounded[2] = {quad_sum(total[0]), quad_sum(total[1])};
    const float divisor[2] = {is_exact ? sum[0] : rounded[0], is_exact ? sum[1] : rounded[1]};
    const float of_v = has_blocks() ? 1.0f : __int_as_float((int)scales(round).y);
    if constexpr (C::kSplit) {
      const uint32_t rows = ptx::load_shared(this->more_info(round)).y & 0xffff,
                     part = ptx::load_shared(this->more_info(round) + 16).x;
      __syncwarp(); /* orders all lanes' reads before lane 0 gives Q back, and new words are written there */
      wgmma_split::store_partial<C::kDv>(a.parts.partials, part, group, rows, o, softmax.reference, sum, divisor,
                                         of_v);
    } else {
      this->store(round, divisor, sum, of_v);
    }
  }

  /* The tiles of a round but the first one; returns the last. */
  __device__ __forceinline__ uint32_t run_tiles(uint32_t round) {
    const bool has_plain = !has_blocks() && !has_cap() && !has_sink();
    const uint32_t plain = has_plain ? masked_end(round) : first;
    const uint32_t unseen = !has_plain       ? first
                            : C::kUnseenLast ? min(plain, max(plain_begin(round), first))
                                             : unseen_end(round);
    uint32_t tile = last_tile(round);
    /* The fewer tiles follow, the less the maxima grow in them. But where the first tile is masked, the maxima of
     * some rows are those of few keys. */
    const uint32_t from = min(tile, plain),
                   seen = tile >= plain_end(round) ? kSeenTiles : min(1 + (from - first) / 8, kSeenTiles);
    uint32_t end = max(unseen, from - min(from, seen));
#pragma unroll 1
    for (;;) { /* at most two passes: one copy of each step, so that it stays in the instruction cache */
#pragma unroll 1
      while (tile > end) {
        --tile;
        const bool is_masked = tile >= plain || tile < unseen;
        step<SEEN>(round, tile, is_masked, !is_masked && tile == end);
      }
      if (end == first) return tile;
#pragma unroll 1
      while (tile > unseen) --tile, step<UNSEEN>(round, tile, false, false);
      end = first;
    }
  }

  __device__ __forceinline__ void run(uint32_t items) {
    if (wgmma_tile::item_index<C>(0) >= items) return;
    acquire_q(0);
    drop_before_first(work_info(0).z & 0xffff);
    uint32_t k = acquire();
    if (group + 1 == C::kGroups) end_turn();
    begin_turn();
    fence();
    start_qk(k, 0);
    end_turn();
    this->template wait<0>();
    hopper::pin(s);
    for (uint32_t round = 0;; ++round) {
      begin_round(round, k);
      const uint32_t tile = run_tiles(round);
      const uint32_t v = acquire_last(round);
      prepare_part(round, tile + 1);
      begin_turn();
      fence();
      if (!has_next(round)) {
        start_pv(v, 0);
        end_turn();
        this->template wait<0>();
        end_round(v, round, tile);
        return;
      }
      start_pv(v, 0);
      acquire_q(round + 1);
      k = acquire();
      start_qk(k, round + 1);
      end_turn();
      this->template wait<1>();
      end_round(v, round, tile);
      this->template wait<0>();
      hopper::pin(s);
    }
  }
};

#endif /* ATTN_SM90A */

}  // namespace attn::wgmma_fp8

namespace attn {

/* grid: the items, which are parts of q tiles where C::kSplit; or fewer blocks that take several each. */
template <typename C>
__global__ void __launch_bounds__((C::kGroups + 1) * 128, 1)
    wgmma_fp8_kernel(const __grid_constant__ typename C::Params a) {
#ifdef ATTN_SM90A
  using namespace wgmma_fp8;
  extern __shared__ __align__(1024) unsigned char smem_base[];
  const wgmma_fp8::Layout<C> at = {{{ptx::shared_address(smem_base)}}};
  const uint32_t warp = __shfl_sync(kFullWarp, threadIdx.x / kWarp, 0), group = warp / 4;
  if (threadIdx.x == 0) at.init_barriers();
  if (threadIdx.x == kWarp) hopper::prefetch_map(&a.q), hopper::prefetch_map(&a.k), hopper::prefetch_map(&a.v);
  if (threadIdx.x < kOnesBytes / 16) {
    const uint32_t four = threadIdx.x % 8 == 0 ? 0x38383838 : 0; /* of e4m3 */
    ptx::store_shared(at.ones() + threadIdx.x * 16, make_uint4(four, four, four, four));
  }
  hopper::fence_async(); /* before wgmma reads them */
  __syncthreads();       /* orders the barriers' beginning before their use */
  const uint32_t items = wgmma_general::item_count(a);
  if (group == C::kGroups) {
    hopper::give_registers<C::kProducerRegisters>();
    if (warp % 4 == 0 && threadIdx.x % kWarp == 0) wgmma_fp8::KvFetcher<C>{a, at, items, {}, {}}.run();
    if (warp % 4 == 1 && threadIdx.x % kWarp == 0) wgmma_general::QFetcher<C>{a, at, items}.run();
    if constexpr (!C::kTransposed)
      if (warp % 4 >= 2) wgmma_fp8::Transposer<C>{a, at, items, {}, {}}.run();
  } else {
    hopper::take_registers<C::kConsumerRegisters>();
    wgmma_fp8::Multiplier<C>(a, at, group).run(items);
  }
#endif
}

/* Transposes V for the kernel above. The keys of a tile lie in the order of the weights, as Transposer leaves them. A
 * thread has 4 columns of 16 keys. Zeros stand for keys and columns behind the tensor's end. grid: the tiles. */
template <typename C>
__global__ void __launch_bounds__(C::kDv / 4 * (C::kKeys / 16)) wgmma_fp8_transpose(wgmma_fp8::TransposeParams a) {
  constexpr uint32_t kSixteens = C::kKeys / 16, kRows = C::kVBytes / 128;
  const uint32_t head = a.by_tiles.quotient(blockIdx.x), batch = a.by_heads.quotient(head);
  const uint32_t tiles = ceil_div(a.view.tokens, C::kKeys), tile = blockIdx.x - head * tiles;
  const uint32_t sixteen = threadIdx.x % kSixteens, column = threadIdx.x / kSixteens * 4;
  const uint32_t first = tile * C::kKeys + sixteen * 16;
  const unsigned char *const from = a.v + attn_view_token(&a.view, batch, head - batch * a.view.heads, 0) + column;
  uint32_t x[16];
#pragma unroll
  for (uint32_t key = 0; key < 16; ++key) {
    const uint32_t token = first + key;
    x[key] = 0;
    if (token < a.view.tokens && column < a.view.columns)
      x[key] = *reinterpret_cast<const uint32_t *>(from + token * a.view.token_stride);
  }
  uint32_t out[4][4]; /* of each column, four keys in each word */
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t a0 = x[2 * i], a1 = x[2 * i + 1], a2 = x[8 + 2 * i], a3 = x[9 + 2 * i];
    const uint32_t low01 = __byte_perm(a0, a1, 0x5140), high01 = __byte_perm(a0, a1, 0x7362);
    const uint32_t low23 = __byte_perm(a2, a3, 0x5140), high23 = __byte_perm(a2, a3, 0x7362);
    out[0][i] = __byte_perm(low01, low23, 0x5410), out[1][i] = __byte_perm(low01, low23, 0x7632);
    out[2][i] = __byte_perm(high01, high23, 0x5410), out[3][i] = __byte_perm(high01, high23, 0x7632);
  }
#pragma unroll
  for (uint32_t c = 0; c < 4; ++c) {
    const uint32_t row = (column + c) % kRows, part = (column + c) / kRows;
    a.to[((uint64_t)blockIdx.x * kRows + row) * 8 + part * kSixteens + sixteen] =
        make_uint4(out[c][0], out[c][1], out[c][2], out[c][3]);
  }
}

}  // namespace attn
#endif

#endif
