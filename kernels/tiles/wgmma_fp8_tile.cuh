/* The kernel of `wgmma_fp8`: that of `wgmma_general` (wgmma_general_tile.cuh) for e4m3.
 *
 * wgmma sums 8-bit operands along rows of shared memory alone, so P V needs V transposed: rows of one column, along
 * the keys. The copy engine brings a tile of V to a buffer of its own; two warps transpose it into a slot of the
 * ring, where the warpgroups find it in the place of V. 16-bit words are transposed by ldmatrix.trans, bytes by prmt.
 * That leaves keys in another order than they had: of 16 keys, thread i of a quad holds 2 i, 2 i + 1, 8 + 2 i and 9 +
 * 2 i side by side. It is the order in which the accumulators of S have them, so P is packed without a shuffle.
 *
 * Weights are scaled by 2^8, so that the largest of a row is 256 and exact, and few of the others are subnormal. For
 * that a row's reference is always its maximum so far. The scale is a part of the reference.
 *
 * The tensor cores' sums of e4m3 have 14 bits. `part` holds those of a few tiles; then they are added to the fp32
 * sums in `o`, with the scale of V, after kPromoted keys at the latest. Where `part` is too large for the registers
 * beside `o`, it has a part of the columns, and P V is made in as many products, one after the other. */
#ifndef ATTNBENCH_KERNELS_WGMMA_FP8_TILE_CUH
#define ATTNBENCH_KERNELS_WGMMA_FP8_TILE_CUH

#include "kernels/tiles/wgmma_general_tile.cuh"

namespace attn::wgmma_fp8 {

using wgmma_tile::kWorkInfos;

constexpr uint32_t kSlabColumns = 128; /* of a slab's row */
constexpr uint32_t kRawSlots = 2;      /* tiles of V that wait to be transposed */
constexpr uint32_t kPromoted = 512;    /* keys; what the check of e4m3 asks for (cli/measure/check.h) */

struct Shape {
  uint32_t D, Dv;      /* at most so many columns; those beyond a tensor's are zeros */
  uint32_t groups;     /* warpgroups that multiply, 64 query rows each */
  uint32_t keys;       /* of a tile; a multiple of 32, at most 128 */
  uint32_t slots;      /* tiles in the ring, of K and of transposed V together */
  uint32_t chunks = 1; /* products that make P V of a tile; Dv / chunks columns each */
};

constexpr ATTN_HD uint32_t slabs(uint32_t D) { return (D + kSlabColumns - 1) / kSlabColumns; }
constexpr ATTN_HD uint32_t rows(const Shape &s) { return s.groups * 64; }
constexpr ATTN_HD uint32_t q_bytes(const Shape &s) { return s.groups * slabs(s.D) * 64 * 128; }
constexpr ATTN_HD uint32_t raw_bytes(const Shape &s) { return slabs(s.Dv) * s.keys * 128; }
/* K [slabs][keys][128 bytes], or transposed V [Dv][128 bytes], of which `keys` count. */
constexpr ATTN_HD uint32_t slot_bytes(const Shape &s) {
  const uint32_t k = slabs(s.D) * s.keys * 128, v = s.Dv * 128;
  return k > v ? k : v;
}
/* Work infos [kWorkInfos][groups] of 16 + 32 + 16 bytes, barriers [buffers + slots + raw slots][2]. */
constexpr ATTN_HD uint32_t info_bytes(const Shape &s, uint32_t q_buffers) {
  return kWorkInfos * s.groups * 64 + 16 * (q_buffers * s.groups + s.slots + kRawSlots);
}
/* Q [buffers][groups][slabs][64 rows][128 bytes], slots, infos, and from the next multiple of 1024 bytes on V as it
 * comes [kRawSlots][slabs][keys][128 bytes]. */
constexpr ATTN_HD uint32_t raw_begin(const Shape &s, uint32_t q_buffers) {
  return (q_buffers * q_bytes(s) + s.slots * slot_bytes(s) + info_bytes(s, q_buffers) + 1023) / 1024 * 1024;
}
constexpr ATTN_HD uint32_t smem_bytes(const Shape &s, uint32_t q_buffers) {
  return raw_begin(s, q_buffers) + kRawSlots * raw_bytes(s);
}
constexpr ATTN_HD uint32_t q_buffers(const Shape &s) {
  return s.groups <= 2 && smem_bytes(s, 2) <= 227 * 1024 ? 2 : 1;
}
constexpr ATTN_HD uint32_t smem_bytes(const Shape &s) { return smem_bytes(s, q_buffers(s)); }

}  // namespace attn::wgmma_fp8

#ifdef __CUDACC__

namespace attn::wgmma_fp8 {

/* The argument. Its tensor maps are of pairs of columns, 16 bits each. */
struct Params : WgmmaGeneralParams {
  const float *q_scale, *k_scale, *v_scale;
  uint32_t Hkv;    /* each sequence and KV head has a scale; 0: there is one */
  uint32_t blocks; /* each has so many for K and for V, of ATTN_SCALE_KEYS keys; 0: one */
};

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
  return tensor_map_make(&out->v, buffers.v, ATTN_BF16, pairs_of(v), s.keys);
}

/* T: the type of O. */
template <typename T_, Shape S_>
struct Config {
  using T = T_;
  using Params = wgmma_fp8::Params;
  static constexpr Shape kShape = S_;
  static constexpr wgmma_tile::Shape S = {.D = S_.D / 2, .groups = S_.groups, .keys = S_.keys, .slots = S_.slots};
  static constexpr uint32_t kD = S_.D, kDv = S_.Dv, kKeys = S_.keys, kSlots = S_.slots, kGroups = S_.groups;
  static constexpr uint32_t kQBuffers = q_buffers(S_), kRows = rows(S_);
  static constexpr uint32_t kSlabs = slabs(S_.D), kVSlabs = slabs(S_.Dv), kRawBytes = raw_bytes(S_);
  static constexpr uint32_t kSlotBytes = slot_bytes(S_), kGroupBytes = kSlabs * 64 * 128;
  static constexpr uint32_t kChunks = S_.chunks, kChunk = S_.Dv / S_.chunks;
  static constexpr uint32_t kPromotedTiles = kPromoted / S_.keys;
  static constexpr bool kTurns = kGroups > 1, kScaled = true;
  static constexpr uint32_t kConsumerRegisters = kGroups == 3 ? 152 : 232;
  static constexpr uint32_t kProducerRegisters = kGroups == 3 ? 56 : 40;
  /* Tiles that two warpgroups can be apart, with their rows. */
  static constexpr uint32_t kApart = ceil_div((kGroups - 1) * 64, kKeys);
  static_assert(kSlots >= 4 * kApart && kKeys % 32 == 0 && kKeys <= 128 && S_.D % 32 == 0 && kChunk % 16 == 0 &&
                S_.Dv <= S_.D && smem_bytes(S_) <= 227 * 1024);
};

/* One number for the scores and one for the values of a sequence and KV head, and, where blocks of keys have scales
 * of their own, the first of these. */
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
  __device__ __forceinline__ uint32_t raw(uint32_t i) const {
    return this->base + raw_begin(C::kShape, C::kQBuffers) + i * C::kRawBytes;
  }
  __device__ __forceinline__ uint32_t raw_full(uint32_t i) const {
    return this->scale_info(0, 0) + kWorkInfos * C::kGroups * 16 + 8 * i;
  }
  __device__ __forceinline__ uint32_t raw_empty(uint32_t i) const { return raw_full(kRawSlots + i); }

  __device__ __forceinline__ void init_barriers() const {
    for (uint32_t i = 0; i < kRawSlots; ++i)
      hopper::barrier_init(raw_full(i), 1), hopper::barrier_init(raw_empty(i), 1);
    wgmma_general::Layout<C>::init_barriers();
  }
};

/* One thread: the tiles of K to the ring, those of V to where they are transposed. */
template <typename C>
struct KvFetcher {
  const Params &a;
  const Layout<C> at;
  const uint32_t items;
  Cursor<C::kSlots> cursor;
  Cursor<kRawSlots> raw;

  __device__ __forceinline__ void fetch_k(const Item &item, uint32_t tile) {
    hopper::barrier_wait(at.empty(cursor.slot), cursor.parity ^ 1);
    wgmma_general::fetch_keys<C, C::kSlabs>(&a.k, item, tile, at.slot(cursor.slot), at.full(cursor.slot));
    cursor.advance();
  }
  __device__ __forceinline__ void fetch_v(const Item &item, uint32_t tile) {
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
  const Params &a;
  const Layout<C> at;
  const uint32_t items;
  Cursor<C::kSlots> cursor;
  Cursor<kRawSlots> raw;

  static __device__ __forceinline__ uint32_t swizzled(uint32_t slab, uint32_t row, uint32_t chunk) {
    return slab + row * 128 + (chunk ^ row % 8) * 16;
  }

  /* 32 keys of 16 columns. Of a column pair c, lanes of the lower half of the warp store the even column first, the
   * others the odd one, so that the eight rows that are stored at a time lie in different banks. */
  __device__ __forceinline__ void transpose(uint32_t from, uint32_t to, uint32_t keys, uint32_t columns) const {
    const uint32_t lane = threadIdx.x % kWarp, row = lane % 8, half = lane / 16, set = lane / 8 % 2;
    const bool is_swapped = lane >= 16; /* of what the lane holds; of the row whose address it gives: row >= 4 */
    uint32_t m[4], w[4];
    ptx::ldmatrix_x4_trans(m, swizzled(from + columns / 8 * C::kKeys * 128, keys * 32 + lane, columns % 8));
    const uint32_t first = is_swapped ? 0x7531 : 0x6420, second = is_swapped ? 0x6420 : 0x7531;
    w[0] = __byte_perm(m[0], m[1], first), w[1] = __byte_perm(m[0], m[1], second);
    w[2] = __byte_perm(m[2], m[3], first), w[3] = __byte_perm(m[2], m[3], second);
    const uint32_t column = columns * 16 + 2 * row + (set ^ (row >= 4 ? 1 : 0));
    ptx::stmatrix_x4(swizzled(to, column, keys * 2 + half), w);
  }

  __device__ __forceinline__ void run() {
    constexpr uint32_t kColumns = C::kDv / 16, kPieces = C::kKeys / 32 * kColumns;
    const uint32_t warp = threadIdx.x / kWarp % 2;
    for (uint32_t round = 0, index; (index = wgmma_tile::item_index<C>(round)) < items; ++round) {
      const Item item = wgmma_general::item_of<C>(a, index);
      cursor.advance(); /* past the first K */
#pragma unroll 1
      for (uint32_t left = item.tiles.count(); left > 0; --left) {
        if (left > 1) cursor.advance();
        hopper::barrier_wait(at.raw_full(raw.slot), raw.parity);
        hopper::barrier_wait(at.empty(cursor.slot), cursor.parity ^ 1);
        const uint32_t from = at.raw(raw.slot), to = at.slot(cursor.slot);
#pragma unroll 2
        for (uint32_t i = 0; i < kPieces / 2; ++i) {
          const uint32_t piece = 2 * i + warp;
          transpose(from, to, piece / kColumns, piece % kColumns);
        }
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
  using Base::first_tile, Base::last_tile, Base::plain_begin, Base::plain_end, Base::masked_end, Base::unseen_end;
  static constexpr float kScaleBits = 8.0f; /* weights are scaled by 2^8 */

  float part[C::kChunk / 2]; /* as o, of a chunk of columns; sums of the last `tiles` tiles */
  uint32_t w[C::kKeys / 8];  /* weights, the A operand */
  uint32_t tiles = 0;

  __device__ __forceinline__ Multiplier(const Params &params, const Layout<C> &layout, uint32_t g)
      : Base(params, layout, g) {}

  __device__ __forceinline__ void fence() { hopper::pin(s), hopper::pin(w); }

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
  /* Starts part += P V, of a chunk of the columns; part = P V when not `keep`. */
  __device__ __forceinline__ void start_pv(uint32_t slot, uint32_t chunk, bool keep) {
    const uint64_t v = hopper::operand(at.slot(slot) + chunk * C::kChunk * 128);
    hopper::wgmma_fence();
#pragma unroll
    for (uint32_t k = 0; k < C::kKeys / 32; ++k)
      hopper::MultiplyQkRegisters<E, C::kChunk>::run(part, w + 4 * k, forward(v, k * 32), k > 0 || keep);
    hopper::wgmma_commit();
  }

  __device__ __forceinline__ uint4 scales(uint32_t round) const {
    return ptx::load_shared(wgmma_general::Layout<C>{at}.scale_info(group, round));
  }
  /* What a product of numbers of Q and of K is multiplied by to be one of their values. */
  __device__ __forceinline__ float score_scale(uint32_t round, uint32_t tile) const {
    const uint4 info = scales(round);
    const float scale = __int_as_float((int)info.x);
    return a.blocks > 0 ? scale * a.k_scale[info.z + tile * C::kKeys / ATTN_SCALE_KEYS] : scale;
  }
  __device__ __forceinline__ float value_scale(uint32_t round, uint32_t tile) const {
    const uint4 info = scales(round);
    return a.blocks > 0 ? a.v_scale[info.z + tile * C::kKeys / ATTN_SCALE_KEYS] : __int_as_float((int)info.y);
  }

  /* Scores to weights. True: what was summed before, and the output, is to be multiplied by softmax.factor. */
  template <bool Masked>
  __device__ __forceinline__ bool soften(uint32_t round, uint32_t tile) {
    float scale = score_scale(round, tile);
    if (a.cap_scale != 0.0f)
      this->cap(a.cap_scale * scale), scale = a.scale_log2;
    else
      scale *= a.scale_log2;
    if (Masked) this->mask(round, tile);
    const bool raised = raise(scale);
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float base = softmax.reference[i] == minus_infinity() ? 0.0f : softmax.reference[i];
      float sum[2] = {0.0f, 0.0f};
#pragma unroll
      for (uint32_t j = 0; j < C::kKeys / 8; ++j)
#pragma unroll
        for (uint32_t c = 0; c < 2; ++c) {
          float &x = s[4 * j + 2 * i + c];
          x = ptx::ex2(fmaf(x, scale, -base));
          sum[c] += x;
        }
      softmax.sum[i] += sum[0] + sum[1];
    }
    return raised;
  }
  __device__ __forceinline__ bool raise(float scale) {
    float largest[2];
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      float x[2] = {fmaxf(s[2 * i], s[2 * i + 1]), fmaxf(s[4 + 2 * i], s[4 + 2 * i + 1])};
#pragma unroll
      for (uint32_t j = 2; j < C::kKeys / 8; ++j)
        x[j % 2] = fmaxf(x[j % 2], fmaxf(s[4 * j + 2 * i], s[4 * j + 2 * i + 1]));
      largest[i] = fmaf(fmaxf(x[0], x[1]), scale, -kScaleBits);
    }
    const bool grew = largest[0] > softmax.reference[0] || largest[1] > softmax.reference[1];
    if (!__any_sync(kFullWarp, grew)) return false;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float next = fmaxf(softmax.reference[i], quad_max(largest[i]));
      softmax.factor[i] = ptx::ex2(softmax.reference[i] - (next == minus_infinity() ? 0.0f : next));
      softmax.reference[i] = next;
      softmax.sum[i] *= softmax.factor[i];
    }
    return true;
  }
  __device__ __forceinline__ void pack() {
#pragma unroll
    for (uint32_t k = 0; k < C::kKeys / 32; ++k)
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) {
        const float *const x = s + 16 * k + i / 2 * 8 + i % 2 * 2;
        w[4 * k + i] = ptx::pack_e4m3(x[0], x[1], x[4], x[5]);
      }
  }
  __device__ __forceinline__ void rescale(bool raised) {
    if (!raised) return;
#pragma unroll
    for (uint32_t j = 0; j < C::kDv / 2; ++j) o[j] *= softmax.factor[j / 2 % 2];
    if constexpr (C::kChunks == 1) { /* else `part` holds nothing now */
      if (tiles == 0) return;
#pragma unroll
      for (uint32_t j = 0; j < C::kChunk / 2; ++j) part[j] *= softmax.factor[j / 2 % 2];
    }
  }
  __device__ __forceinline__ void add(uint32_t chunk, float scale) {
#pragma unroll
    for (uint32_t j = 0; j < C::kChunk / 2; ++j) {
      float &sum = o[chunk * C::kChunk / 2 + j];
      sum = fmaf(part[j], scale, sum);
    }
    tiles = 0;
  }

  /* The first chunk of P V of this tile has been waited for: the others, and what is to be added to o. `last`: of the
   * round. */
  __device__ __forceinline__ void finish_pv(uint32_t slot, uint32_t round, uint32_t tile, bool last) {
    hopper::pin(part), hopper::pin(w);
    if constexpr (C::kChunks == 1) {
      release(slot);
      if (++tiles == C::kPromotedTiles || a.blocks > 0 || last) add(0, value_scale(round, tile));
    } else {
      const float scale = value_scale(round, tile);
#pragma unroll
      for (uint32_t chunk = 0; chunk < C::kChunks; ++chunk) {
        if (chunk > 0) {
          start_pv(slot, chunk, false);
          this->template wait<0>();
          hopper::pin(part), hopper::pin(w);
        }
        add(chunk, scale);
      }
      release(slot);
    }
  }

  /* One tile further: `tile` is the one whose scores are begun, the weights are those of the tile after it. */
  template <bool Masked>
  __device__ __forceinline__ void step(uint32_t round, uint32_t tile) {
    const uint32_t k = acquire();
    begin_turn();
    fence();
    start_qk(k, round);
    const uint32_t v = acquire();
    start_pv(v, 0, tiles > 0);
    end_turn();
    this->template wait<1>();
    hopper::pin(s);
    release(k);
    if (tile == first_tile(round)) release_q(round);
    const bool raised = soften<Masked>(round, tile);
    this->template wait<0>();
    finish_pv(v, round, tile + 1, false);
    rescale(raised);
    pack();
  }

  /* The first tile of a round, whose product has been waited for, and the turns to pass on. */
  __device__ __forceinline__ void begin_round(uint32_t round, uint32_t k) {
    const uint32_t tile = last_tile(round);
    softmax.reset();
    tiles = 0;
#pragma unroll
    for (uint32_t j = 0; j < C::kDv / 2; ++j) o[j] = 0.0f;
    release(k);
    if (tile == first_tile(round)) release_q(round);
    soften<true>(round, tile);
    pack();
    if ((work_info(round).z & 0xffff) > 0) drop(1); /* V of the last tile before them */
#pragma unroll 1
    for (uint32_t turns = work_info(round).w >> 16; turns > 0; --turns) begin_turn(), end_turn();
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
      uint32_t tile = last_tile(round);
#pragma unroll 1
      while (tile > masked_end(round)) step<true>(round, --tile);
#pragma unroll 1
      while (tile > unseen_end(round)) step<false>(round, --tile);
#pragma unroll 1
      while (tile > first_tile(round)) step<true>(round, --tile);
      const uint32_t v = acquire_last(round);
      begin_turn();
      fence();
      if (!has_next(round)) {
        start_pv(v, 0, tiles > 0);
        end_turn();
        this->template wait<0>();
        finish_pv(v, round, tile, true);
        this->store(round);
        return;
      }
      start_pv(v, 0, tiles > 0);
      acquire_q(round + 1);
      k = acquire();
      start_qk(k, round + 1);
      end_turn();
      this->template wait<1>();
      finish_pv(v, round, tile, true);
      this->store(round);
      this->template wait<0>();
      hopper::pin(s);
    }
  }
};

#endif /* ATTN_SM90A */

}  // namespace attn::wgmma_fp8

namespace attn {

/* grid: the items, or fewer blocks that take several each. */
template <typename C>
__global__ void __launch_bounds__((C::kGroups + 1) * 128, 1)
    wgmma_fp8_kernel(const __grid_constant__ wgmma_fp8::Params a) {
#ifdef ATTN_SM90A
  using namespace wgmma_fp8;
  extern __shared__ __align__(1024) unsigned char smem_base[];
  const wgmma_fp8::Layout<C> at = {{{ptx::shared_address(smem_base)}}};
  const uint32_t warp = __shfl_sync(kFullWarp, threadIdx.x / kWarp, 0), group = warp / 4;
  if (threadIdx.x == 0) at.init_barriers();
  if (threadIdx.x == kWarp) hopper::prefetch_map(&a.q), hopper::prefetch_map(&a.k), hopper::prefetch_map(&a.v);
  __syncthreads(); /* orders the barriers' beginning before their use */
  const uint32_t items = wgmma_general::item_count(a);
  if (group == C::kGroups) {
    hopper::give_registers<C::kProducerRegisters>();
    if (warp % 4 == 0 && threadIdx.x % kWarp == 0) wgmma_fp8::KvFetcher<C>{a, at, items, {}, {}}.run();
    if (warp % 4 == 1 && threadIdx.x % kWarp == 0) wgmma_general::QFetcher<C>{a, at, items}.run();
    if (warp % 4 >= 2) wgmma_fp8::Transposer<C>{a, at, items, {}, {}}.run();
  } else {
    hopper::take_registers<C::kConsumerRegisters>();
    wgmma_fp8::Multiplier<C>(a, at, group).run(items);
  }
#endif
}

}  // namespace attn
#endif

#endif
