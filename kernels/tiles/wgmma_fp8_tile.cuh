/* The kernel of `wgmma_fp8`: that of `wgmma_general` (wgmma_general_tile.cuh) for e4m3.
 *
 * wgmma sums 8-bit operands along rows of shared memory alone, so P V needs V transposed: rows of one column, along
 * the keys. The copy engine brings a tile of V to a buffer of its own; two warps transpose it into a slot of the
 * ring, where the warpgroups find it in the place of V. 16-bit words are transposed by ldmatrix.trans, bytes by prmt.
 * That leaves keys in another order than they had: of 16 keys, thread i of a quad holds 2 i, 2 i + 1, 8 + 2 i and 9 +
 * 2 i side by side. It is the order in which the accumulators of S have them, so P is packed without a shuffle.
 *
 * Weights are scaled by 2^8, so that the largest of a row is 256 and exact, and few of the others are subnormal. A
 * weight is 2^(exponent - reference). The reference is the row's running maximum minus 8, so it includes the scale
 * 2^8, and every new maximum raises it.
 *
 * The tensor cores' sums of e4m3 have 14 bits. `part` holds P V of one tile, which is added to the fp32 sums in `o`
 * with a factor: the scale of V times what the reference has grown by since the round began. So a new maximum does
 * not rescale `o`. Only where that growth exceeds 2^45 are `o` and the sums rescaled (`settle`). Where `part` is too
 * large for the registers beside `o`, it has a part of the columns, and P V is made in as many products, one after
 * the other. */
#ifndef ATTNBENCH_KERNELS_WGMMA_FP8_TILE_CUH
#define ATTNBENCH_KERNELS_WGMMA_FP8_TILE_CUH

#include "kernels/tiles/wgmma_general_tile.cuh"

namespace attn::wgmma_fp8 {

using wgmma_tile::kWorkInfos;

constexpr uint32_t kSlabColumns = 128; /* of a slab's row */
constexpr uint32_t kRawSlots = 2;      /* tiles of V that wait to be transposed */

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
  static_assert(S_.keys <= 512); /* that are summed in 14 bits: what the check of e4m3 asks for (kernels/bounds.h) */
  static constexpr bool kTurns = kGroups > 1, kScaled = true;
  static constexpr uint32_t kConsumerRegisters = kGroups == 3 ? 152 : kDv <= 64 ? 216 : 232;
  static constexpr uint32_t kProducerRegisters = kGroups == 3 ? 56 : kDv <= 64 ? 72 : 40;
  /* Tiles that two warpgroups can be apart, with their rows. */
  static constexpr uint32_t kApart = ceil_div((kGroups - 1) * 64, kKeys);
  static_assert(kSlots >= 4 * kApart && kKeys % 32 == 0 && kKeys <= 128 && S_.D % 32 == 0 && kChunk % 16 == 0 &&
                S_.Dv <= S_.D && smem_bytes(S_) <= 227 * 1024);
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
  using Base::first_tile, Base::last_tile, Base::plain_begin, Base::plain_end, Base::masked_end, Base::unseen_end;
  static constexpr float kScaleBits = 8.0f;   /* weights are scaled by 2^8 */
  static constexpr float kLiftMost = 0x1p45f; /* so that a tile's weights, times it, stay far from infinity */

  float part[C::kChunk / 2]; /* as o, of a chunk of columns; P V of one tile */
  uint32_t w[C::kKeys / 8];  /* weights, the A operand */
  float lift[2]; /* for each row: what the weights are to be multiplied by to be relative to what o and the sum are */
  /* Of this round: its first tile, what a score is multiplied by to be an exponent of 2, and the scale of V. */
  float pending[2];
  uint32_t first, nothing;
  float exponent_scale, v_scale;

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
  /* Starts part = P V, of a chunk of the columns. */
  __device__ __forceinline__ void start_pv(uint32_t slot, uint32_t chunk) {
    const uint64_t v = hopper::operand(at.slot(slot) + chunk * C::kChunk * 128);
    hopper::wgmma_fence();
#pragma unroll
    for (uint32_t k = 0; k < C::kKeys / 32; ++k)
      hopper::MultiplyQkRegisters<E, C::kChunk>::run(part, w + 4 * k, forward(v, k * 32), k > 0);
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
  __device__ __forceinline__ float value_scale(uint32_t round, uint32_t tile) const {
    return a.blocks > 0 ? a.v_scale[scales(round).z + tile * C::kKeys / ATTN_SCALE_KEYS] : v_scale;
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

  /* Scores to weights, whose sums are added to those of the rows. `next_lift` is theirs. `Plain`: no score is masked
   * or capped, and no block of keys has scales of its own; what all that takes would stand in the way of each tile.
   */
  template <bool Plain, typename At>
  __device__ __forceinline__ void soften(uint32_t round, uint32_t tile, float (&next_lift)[2],
                                         uint32_t (&packed)[C::kKeys / 8], const At &at_chunk) {
    float scale = exponent_scale;
    if constexpr (!Plain) {
      if (a.blocks > 0) scale = score_scale(round, tile) * (a.cap_scale != 0.0f ? a.cap_scale : a.scale_log2);
      if (a.cap_scale != 0.0f) cap(scale), scale = a.scale_log2;
      this->mask(round, tile);
    }
    const bool is_large = raise(scale, next_lift);
    float tile_sum[2];
    at_chunk(1);
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float base = !Plain && softmax.reference[i] == minus_infinity() ? 0.0f : softmax.reference[i];
      float sum[2] = {0.0f, 0.0f};
#pragma unroll
      for (uint32_t j = 0; j < C::kKeys / 8; ++j)
#pragma unroll
        for (uint32_t c = 0; c < 2; ++c) {
          float &x = s[4 * j + 2 * i + c];
          x = ptx::ex2(fmaf(x, scale, -base));
          sum[c] += x;
        }
      tile_sum[i] = sum[0] + sum[1];
      at_chunk(2 + i);
    }
    pack(packed);
    hopper::pin(packed);
    /* The branch also keeps the compiler from waiting for P V of the tile before first. */
    if (is_large) settle(next_lift);
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) softmax.sum[i] = fmaf(tile_sum[i], next_lift[i], softmax.sum[i]);
  }
  /* Maxima are taken on the bits as signed integers, three at a time, which is right if any score is at least 0.
   * Where all scores that a thread has of a row are negative, the maxima are computed again as floats. True: what the
   * weights of some row of the warp are to be multiplied by is large. */
  __device__ __forceinline__ bool raise(float scale, float (&next_lift)[2]) {
    float largest[2];
    int32_t signs = 0; /* negative: a maximum is */
    bool grew = false;
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const auto bits = [&](uint32_t j) { return __float_as_int(s[j / 2 * 4 + 2 * i + j % 2]); };
      int32_t x[2] = {bits(0), bits(1)};
#pragma unroll
      for (uint32_t j = 2; j < C::kKeys / 4; j += 2) x[j / 2 % 2] = ptx::max3(x[j / 2 % 2], bits(j), bits(j + 1));
      const int32_t most = max(x[0], x[1]);
      largest[i] = fmaf(__int_as_float(most), scale, -kScaleBits);
      next_lift[i] = lift[i];
      signs |= most;
      grew |= largest[i] > softmax.reference[i];
    }
    if (!__any_sync(kFullWarp, grew | (signs < 0))) return false;
    if (__any_sync(kFullWarp, signs < 0)) {
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        float x = s[2 * i];
#pragma unroll
        for (uint32_t j = 1; j < C::kKeys / 4; ++j) x = fmaxf(x, s[j / 2 * 4 + 2 * i + j % 2]);
        largest[i] = fmaf(x, scale, -kScaleBits);
      }
    }
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float before = softmax.reference[i], next = fmaxf(before, quad_max(largest[i]));
      if (before != minus_infinity()) next_lift[i] *= ptx::ex2(next - before);
      softmax.reference[i] = next;
    }
    return __any_sync(kFullWarp, fmaxf(next_lift[0], next_lift[1]) > kLiftMost);
  }
  /* Rescales o and the sums to the reference as it is, which is `now` times the one that they had. */
  __device__ __forceinline__ void settle(float (&now)[2]) {
    const float f[2] = {ptx::rcp(now[0]), ptx::rcp(now[1])};
#pragma unroll
    for (uint32_t j = 0; j < C::kDv / 2; ++j) o[j] *= f[j / 2 % 2];
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) softmax.sum[i] *= f[i], lift[i] *= f[i], now[i] = 1.0f;
  }
  __device__ __forceinline__ void pack(uint32_t (&packed)[C::kKeys / 8]) const {
#pragma unroll
    for (uint32_t k = 0; k < C::kKeys / 32; ++k)
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) {
        const float *const x = s + 16 * k + i / 2 * 8 + i % 2 * 2;
        packed[4 * k + i] = ptx::pack_e4m3(x[0], x[1], x[4], x[5]);
      }
  }
  __device__ __forceinline__ void add(uint32_t chunk, float scale) {
    const float f[2] = {lift[0] * scale, lift[1] * scale};
#pragma unroll
    for (uint32_t j = 0; j < C::kChunk / 2; ++j) {
      float &sum = o[chunk * C::kChunk / 2 + j];
      sum = fmaf(part[j], f[j / 2 % 2], sum);
    }
    hopper::pin(o);
  }

  __device__ __forceinline__ void add_pending() {
#pragma unroll
    for (uint32_t j = 0; j < C::kChunk / 2; ++j) {
      float &sum = o[(C::kChunks - 1) * C::kChunk / 2 + j];
      sum = fmaf(part[j], pending[j / 2 % 2], sum);
    }
    hopper::pin(o);
  }
  /* Waits for a chunk of P V, adds it to o and starts the one after it. */
  __device__ __forceinline__ void next_chunk(uint32_t slot, uint32_t chunk, float scale) {
    this->template wait<0>();
    hopper::pin(part), hopper::pin(w);
    add(chunk - 1, scale);
    start_pv(slot, chunk);
  }

  /* The first chunk of P V of this tile has been waited for: the others, and what is to be added to o. */
  __device__ __forceinline__ void finish_pv(uint32_t slot, uint32_t round, uint32_t tile) {
    const float scale = value_scale(round, tile);
#pragma unroll
    for (uint32_t chunk = 1; chunk < C::kChunks; ++chunk) next_chunk(slot, chunk, scale);
    if constexpr (C::kChunks > 1) this->template wait<0>();
    hopper::pin(part), hopper::pin(w);
    release(slot);
    add(C::kChunks - 1, scale);
  }

  /* One tile further: `tile` is the one whose scores are begun, the weights are those of the tile after it. */
  template <bool Plain>
  __device__ __forceinline__ void step(uint32_t round, uint32_t tile) {
    const uint32_t k = acquire();
    begin_turn();
    fence();
    start_qk(k, round);
    add_pending();
    const uint32_t v = acquire();
    start_pv(v, 0);
    end_turn();
    this->template wait<1>();
    hopper::pin(s);
    release(k);
    if (!Plain && tile == first) release_q(round);
    float next_lift[2];
    uint32_t packed[C::kKeys / 8];
    const float scale = Plain ? v_scale : value_scale(round, tile + 1);
    soften<Plain>(round, tile, next_lift, packed, [&](uint32_t chunk) {
      if (chunk < C::kChunks) next_chunk(v, chunk, scale);
    });
    this->template wait<0>();
    hopper::pin(part), hopper::pin(w);
    release(v);
    pending[0] = lift[0] * scale, pending[1] = lift[1] * scale;
    lift[0] = next_lift[0], lift[1] = next_lift[1];
#pragma unroll
    for (uint32_t i = 0; i < C::kKeys / 8; ++i) w[i] = packed[i] | (w[i] & nothing);
  }
  template <bool Plain>
  __device__ __forceinline__ void steps(uint32_t round, uint32_t &tile, uint32_t end) {
#pragma unroll 1
    while (tile > end) step<Plain>(round, --tile);
  }

  /* The first tile of a round, whose product has been waited for, and the turns to pass on. */
  __device__ __forceinline__ void begin_round(uint32_t round, uint32_t k) {
    const uint32_t tile = last_tile(round);
    const uint4 info = scales(round);
    first = first_tile(round);
    exponent_scale = __int_as_float((int)info.x) * (a.cap_scale != 0.0f ? a.cap_scale : a.scale_log2);
    v_scale = __int_as_float((int)info.y);
    softmax.reset();
    lift[0] = lift[1] = 1.0f;
#pragma unroll
    for (uint32_t j = 0; j < C::kDv / 2; ++j) o[j] = 0.0f;
    pending[0] = pending[1] = 0.0f;
#pragma unroll
    for (uint32_t j = 0; j < C::kChunk / 2; ++j) part[j] = 0.0f;
    release(k);
    if (tile == first) release_q(round);
    float next_lift[2]; /* stays 1 */
    soften<false>(round, tile, next_lift, w, [](uint32_t) {});
    if ((work_info(round).z & 0xffff) > 0) drop(1); /* V of the last tile before them */
#pragma unroll 1
    for (uint32_t turns = work_info(round).w >> 16; turns > 0; --turns) begin_turn(), end_turn();
  }

  __device__ __forceinline__ void run(uint32_t items) {
    if (wgmma_tile::item_index<C>(0) >= items) return;
    nothing = ptx::opaque(0);
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
      const bool has_plain = a.blocks == 0 && a.cap_scale == 0.0f;
      uint32_t end = has_plain ? masked_end(round) : first;
#pragma unroll 1
      for (;;) { /* twice at most */
        steps<false>(round, tile, end);
        if (end == first) break;
        steps<true>(round, tile, unseen_end(round));
        end = first;
      }
      const uint32_t v = acquire_last(round);
      add_pending();
      begin_turn();
      fence();
      if (!has_next(round)) {
        start_pv(v, 0);
        end_turn();
        this->template wait<0>();
        finish_pv(v, round, tile);
        settle(lift);
        this->store(round);
        return;
      }
      start_pv(v, 0);
      acquire_q(round + 1);
      k = acquire();
      start_qk(k, round + 1);
      end_turn();
      this->template wait<1>();
      finish_pv(v, round, tile);
      settle(lift);
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
