/* The two products of `d_split` for fp32 on tensor cores, as 3xTF32: an operand x is split into `big`, x rounded to
 * the 11 bits of TF32, and `small`, x - big, of which the tensor core reads 11 bits too. Of the four products of
 * these parts the three larger ones are added up; the one left out is at most 2^-22 of the whole, of either sign. The
 * tensor core cuts its sums off where fp32 would round them, so the small products have sums of their own, and few
 * large ones meet in one: up to 16 of 8 columns each, then 8 of 8 keys. So errors are 1.3 times those of fp32 (median
 * of 583 cases on an H200; at most 2.7 times), and 0.07 of what the check allows.
 *
 * Who splits: each warp the fragments that it multiplies, in registers. That is three instructions for an element,
 * behind 6 products of 16 x 8 x 8 or more, and shared memory is read as if there were one product, not three.
 *
 * Layout, by mma.m16n8k8, with g = lane / 4 and t = lane % 4:
 *   Q, K, weights   ldmatrix sees 4 bytes as two 16-bit elements: lane (g, t) receives word t of row g, which is what
 *                   both operands of a product want. Rows are shifted by four banks each, so eight rows of 16 bytes
 *                   cover all banks.
 *   V               lane (g, t) needs rows t and t + 4 of column g of the product. Which column of V that is may be
 *                   chosen: four neighbours for the four products of a warp, so that they come as one 16-byte word,
 *                   and so that a lane ends up with 16 neighbouring bytes of a row of the output.
 *
 * V does not depend on the weights: a warp holds its fragments of all 64 keys, split, before the weights come. */
#ifndef ATTNBENCH_KERNELS_TILES_TF32_TILE_CUH
#define ATTNBENCH_KERNELS_TILES_TF32_TILE_CUH

#include "kernels/tiles/d_tile.cuh"

#ifdef __CUDACC__

namespace attn::tf32_tile {

using namespace d_tile;

constexpr uint32_t kTile = 16, kStep = 8; /* rows of a product, and its inner dimension; it has 8 columns */

/* What one load or store moves. */
template <typename T, uint32_t N>
struct __align__(N * 4) Neighbours {
  T x[N];
};

/* N words that a product takes, split. The product ignores the 13 bits below what it reads, so `small` needs no
 * rounding. */
template <uint32_t N>
struct Split {
  uint32_t big[N], small[N];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (uint32_t n = 0; n < N; ++n) big[n] = small[n] = 0;
  }
  __device__ __forceinline__ void split(const uint32_t (&x)[N]) {
#pragma unroll
    for (uint32_t n = 0; n < N; ++n) {
      big[n] = (x[n] + 0x1000u) & 0xffffe000u; /* to nearest, in the magnitude */
      small[n] = __float_as_uint(__uint_as_float(x[n]) - __uint_as_float(big[n]));
    }
  }
};

/* Sums of 16 x 8 results: of the products big * big, and of the others. */
struct Sums {
  float big[4], small[4];

  __device__ __forceinline__ void open() {
#pragma unroll
    for (uint32_t n = 0; n < 4; ++n) big[n] = small[n] = 0.0f;
  }
  __device__ __forceinline__ float total(uint32_t n) const { return big[n] + small[n]; }
};

/* Of 64 keys and the rows of a tile: a warp has 32 rows and 32 keys of them, of 16 rows all keys. Warps that have the
 * same results are in different groups, which take every kGroups-th step of the columns. */
template <uint32_t Rows>
struct Scores {
  static constexpr uint32_t kWarpRows = Rows < 32 ? 16 : 32, kWarpKeys = Rows < 32 ? kKeys : 32;
  static constexpr uint32_t kRowWarps = Rows / kWarpRows, kGroupWarps = kRowWarps * (kKeys / kWarpKeys);
  static constexpr uint32_t kGroups = kWarps / kGroupWarps, kStride = padded(kSlab, 4);
  static constexpr uint32_t kSteps = kSlab / kStep / kGroups;
  static constexpr uint32_t kOwnRows = kWarpRows / kTile, kOwnPairs = kWarpKeys / 16; /* of tiles of 8 keys */
  static_assert(kGroups <= score_groups(Rows, 4), "the results fit where those of CUDA cores do");
  Sums sums[kOwnRows][2 * kOwnPairs];
  uint32_t group, row, key;

  __device__ __forceinline__ void open() {
    const uint32_t warp = threadIdx.x / kWarp, member = warp % kGroupWarps;
    group = warp / kGroupWarps, row = member % kRowWarps * kWarpRows, key = member / kRowWarps * kWarpKeys;
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i)
#pragma unroll
      for (uint32_t j = 0; j < 2 * kOwnPairs; ++j) sums[i][j].open();
  }

  /* Scores of the first `keys` keys; the others may stay as they are. */
  __device__ __forceinline__ void add(const float *q_tile, const float *k_tile, uint32_t keys) {
    if (key >= keys) return; /* a whole warp */
    if (kWarpKeys == kKeys && keys <= 16)
      add_pairs<1>(q_tile, k_tile);
    else
      add_pairs<kOwnPairs>(q_tile, k_tile);
  }

  /* results: [kGroups][Rows][kGroupStride] */
  __device__ __forceinline__ void store(float *results) const {
    const uint32_t lane = threadIdx.x % kWarp;
    float *to = results + (group * Rows + row + lane / 4) * kGroupStride + key + lane % 4 * 2;
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i)
#pragma unroll
      for (uint32_t j = 0; j < 2 * kOwnPairs; ++j)
#pragma unroll
        for (uint32_t half = 0; half < 2; ++half)
          *reinterpret_cast<float2 *>(to + (i * kTile + half * 8) * kGroupStride + j * 8) =
              make_float2(sums[i][j].total(2 * half), sums[i][j].total(2 * half + 1));
  }

 private:
  template <uint32_t Pairs>
  struct Words {
    uint32_t q[kOwnRows][4], k[Pairs][4];

    __device__ __forceinline__ void load(uint32_t q_at, uint32_t k_at) {
#pragma unroll
      for (uint32_t i = 0; i < kOwnRows; ++i) ptx::ldmatrix_x4(q[i], q_at + i * kTile * kStride * 4);
#pragma unroll
      for (uint32_t j = 0; j < Pairs; ++j) ptx::ldmatrix_x4(k[j], k_at + j * 16 * kStride * 4);
    }
  };

  template <uint32_t Pairs>
  __device__ __forceinline__ void add_pairs(const float *q_tile, const float *k_tile) {
    constexpr uint32_t kAdvance = kGroups * kStep * 4;
    const uint32_t lane = threadIdx.x % kWarp, first = group * kStep;
    const uint32_t q_at = ptx::shared_address(q_tile + (row + lane % 16) * kStride + first + lane / 16 * 4);
    const uint32_t k_at =
        ptx::shared_address(k_tile + (key + lane / 16 * 8 + lane % 8) * kStride + first + lane / 8 % 2 * 4);
    Words<Pairs> words;
    words.load(q_at, k_at);
#pragma unroll
    for (uint32_t step = 0; step < kSteps; ++step) {
      const Words<Pairs> now = words;
      if (step + 1 < kSteps) words.load(q_at + (step + 1) * kAdvance, k_at + (step + 1) * kAdvance);
      multiply(now);
    }
  }

  template <uint32_t Pairs>
  __device__ __forceinline__ void multiply(const Words<Pairs> &words) {
    Split<4> q[kOwnRows], k[Pairs];
#pragma unroll
    for (uint32_t i = 0; i < kOwnRows; ++i) q[i].split(words.q[i]);
#pragma unroll
    for (uint32_t j = 0; j < Pairs; ++j) k[j].split(words.k[j]);
#pragma unroll
    for (uint32_t n = 0; n < kOwnRows * 2 * Pairs; ++n) {
      const uint32_t i = n / (2 * Pairs), j = n % (2 * Pairs), b = j % 2 * 2;
      ptx::mma_16x8x8(sums[i][j].small, q[i].small, k[j / 2].big[b], k[j / 2].big[b + 1]);
    }
#pragma unroll
    for (uint32_t n = 0; n < kOwnRows * 2 * Pairs; ++n) {
      const uint32_t i = n / (2 * Pairs), j = n % (2 * Pairs), b = j % 2 * 2;
      ptx::mma_16x8x8(sums[i][j].big, q[i].big, k[j / 2].big[b], k[j / 2].big[b + 1]);
    }
#pragma unroll
    for (uint32_t n = 0; n < kOwnRows * 2 * Pairs; ++n) {
      const uint32_t i = n / (2 * Pairs), j = n % (2 * Pairs), b = j % 2 * 2;
      ptx::mma_16x8x8(sums[i][j].small, q[i].big, k[j / 2].small[b], k[j / 2].small[b + 1]);
    }
  }
};

/* A warp's part of the output: up to 32 columns, as kOwn products of 8, and 16 rows at a time. */
template <uint32_t Rows, uint32_t Columns>
struct Part {
  static constexpr uint32_t kRowTiles = Rows / kTile;
  static constexpr uint32_t kColumnWarps = larger(Columns / 32, kWarps / kRowTiles);
  static constexpr uint32_t kRowWarps = kWarps / kColumnWarps, kOwn = Columns / 8 / kColumnWarps;
  static constexpr uint32_t kVStride = padded(Columns, 4), kWeights = weight_stride(4);
  static constexpr uint32_t kStored = kOwn == 4 ? 4 : 2 * kOwn; /* columns that a lane stores at once */
  static_assert(kOwn * 8 * kColumnWarps == Columns && kRowTiles % kRowWarps == 0, "each result has one owner");
  using Values = Split<kOwn>[2]; /* rows t and t + 4 of the 8 keys of a step */
  uint32_t row, column;          /* the warp's first */

  __device__ __forceinline__ void open() {
    const uint32_t warp = threadIdx.x / kWarp;
    row = warp / kColumnWarps * kTile, column = warp % kColumnWarps * kOwn * 8;
  }

  /* Which group of kOwn columns is column g of the products. Four of them are four words of a row of the output for
   * lane t: groups t and t + 4, so that a quad writes 64 neighbouring bytes at once. */
  static __device__ __forceinline__ uint32_t place(uint32_t g) { return kOwn == 4 ? g % 2 * 4 + g / 2 : g; }

  /* Where a lane's first value lies, from the first key of a step on. */
  __device__ __forceinline__ const float *values(const float *v_tile) const {
    const uint32_t lane = threadIdx.x % kWarp;
    return v_tile + lane % 4 * kVStride + column + place(lane / 4) * kOwn;
  }
  static __device__ __forceinline__ void load(Values &v, const float *from) {
    using Word = Neighbours<uint32_t, kOwn>;
    v[0].split(reinterpret_cast<const Word *>(from)->x);
    v[1].split(reinterpret_cast<const Word *>(from + 4 * kVStride)->x);
  }
  /* Where ldmatrix finds the weights of 16 rows from `first` on, from the first key of a step on. */
  static __device__ __forceinline__ uint32_t weights_at(const float *weights, uint32_t first) {
    const uint32_t lane = threadIdx.x % kWarp;
    return ptx::shared_address(weights + (first + lane % 16) * kWeights + lane / 16 * 4);
  }

  static __device__ __forceinline__ void multiply(Sums (&sums)[kOwn], const uint32_t (&words)[4], const Values &v) {
    Split<4> w;
    w.split(words);
#pragma unroll
    for (uint32_t n = 0; n < kOwn; ++n) ptx::mma_16x8x8(sums[n].small, w.small, v[0].big[n], v[1].big[n]);
#pragma unroll
    for (uint32_t n = 0; n < kOwn; ++n) ptx::mma_16x8x8(sums[n].big, w.big, v[0].big[n], v[1].big[n]);
#pragma unroll
    for (uint32_t n = 0; n < kOwn; ++n) ptx::mma_16x8x8(sums[n].small, w.big, v[0].small[n], v[1].small[n]);
  }

  /* Writes the 16 rows from `first` on, scaled by factors[r]. */
  __device__ __forceinline__ void store(float *o, const Sums (&sums)[kOwn], const float *factors, uint32_t first,
                                        uint32_t rows, uint32_t columns, uint32_t D) const {
    using Word = Neighbours<float, kStored>;
    const uint32_t lane = threadIdx.x % kWarp;
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t r = first + half * 8 + lane / 4;
      const float factor = factors[r];
#pragma unroll
      for (uint32_t x = 0; x < 2 * kOwn; x += kStored) {
        const uint32_t at = column + (lane % 4 + x) * kStored;
        Word word;
#pragma unroll
        for (uint32_t n = 0; n < kStored; ++n)
          word.x[n] = sums[(x + n) % kOwn].total(2 * half + (x + n) / kOwn) * factor;
        if (r < rows && at < columns) *reinterpret_cast<Word *>(o + (size_t)r * D + at) = word;
      }
    }
  }
};

/* All products with 64 keys; V is held before the weights are known. */
template <uint32_t Rows, uint32_t Columns>
struct Output {
  using P = Part<Rows, Columns>;
  static constexpr uint32_t kSteps = kKeys / kStep;
  P part;
  typename P::Values v[kSteps];

  /* v_tile: [64][kVStride], of which the keys up to the next multiple of 32 exist: none of no keys. */
  __device__ __forceinline__ void hold(const float *v_tile, uint32_t keys) {
    part.open();
    const float *from = part.values(v_tile);
#pragma unroll
    for (uint32_t step = 0; step < kSteps; ++step)
      if (step * kStep / kVKeys * kVKeys < keys)
        P::load(v[step], from + step * kStep * P::kVStride);
      else
        v[step][0].clear(), v[step][1].clear();
  }

  /* Multiplies the weights [Rows][kWeights] with V and writes the rows; o: the tile's first element. */
  __device__ __forceinline__ void finish(float *o, const float *weights, const float *factors, uint32_t keys,
                                         uint32_t rows, uint32_t columns, uint32_t D) const {
    if (keys > kVKeys)
      finish_steps<kSteps>(o, weights, factors, rows, columns, D);
    else
      finish_steps<kSteps / 2>(o, weights, factors, rows, columns, D);
  }

 private:
  template <uint32_t Steps>
  __device__ __forceinline__ void finish_steps(float *o, const float *weights, const float *factors, uint32_t rows,
                                               uint32_t columns, uint32_t D) const {
#pragma unroll 1
    for (uint32_t first = part.row; first < Rows; first += P::kRowWarps * kTile) {
      const uint32_t from = P::weights_at(weights, first);
      uint32_t words[Steps][4];
#pragma unroll
      for (uint32_t step = 0; step < Steps; ++step) ptx::ldmatrix_x4(words[step], from + step * kStep * 4);
      Sums sums[P::kOwn];
#pragma unroll
      for (uint32_t n = 0; n < P::kOwn; ++n) sums[n].open();
#pragma unroll
      for (uint32_t step = 0; step < Steps; ++step) P::multiply(sums, words[step], v[step]);
      part.store(o, sums, factors, first, rows, columns, D);
    }
  }
};

}  // namespace attn::tf32_tile

#endif
#endif
