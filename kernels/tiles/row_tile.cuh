/* Attention with one thread per query row, on CUDA cores in fp32: what `serial` and `scalar` have in common. They
 * differ only in how blocks and loops cover B, H and the rows.
 *
 * A row's Q lies in shared memory, its output in DP registers. K and V are read from shared memory by all threads of
 * a warp at the same address, which is a broadcast. DP is the head dimension padded to 64 or 128: registers cannot be
 * indexed at run time, so loops over D have a fixed length and the padding is zeros.
 *
 * Kernels are compiled twice: for dense problems with a full or a causal mask, and as kGeneral for everything that
 * the problem can be beyond that, which Extras has. */
#ifndef ATTNBENCH_KERNELS_TILES_ROW_TILE_CUH
#define ATTNBENCH_KERNELS_TILES_ROW_TILE_CUH

#include "kernels/tiles/attn_params.cuh"

namespace attn::row_tile {

/* Four elements of padding make a row's stride an odd number of 4-element words, so that neighbouring rows (one per
 * lane) fall into different banks. */
constexpr uint32_t kPad = 4;
constexpr uint32_t kGroup = 8; /* keys per softmax step: one rescale of the output per group */

constexpr uint32_t padded_dim(uint32_t D) { return D <= 64 ? 64 : 128; }
inline uint32_t padded_dim(const attn_problem &p) { return padded_dim(p.D > p.Dv ? p.D : p.Dv); }

/* What ATTN_TAKES bits the general kernels compute. */
constexpr unsigned kTakes = ATTN_TAKES_LSE | ATTN_TAKES_WINDOW | ATTN_TAKES_DV | ATTN_TAKES_SOFTCAP |
                            ATTN_TAKES_SINK | ATTN_TAKES_LAYOUT | ATTN_TAKES_BATCH | ATTN_TAKES_E4M3 |
                            ATTN_TAKES_PAGE | ATTN_TAKES_V_IN_K | ATTN_TAKES_SPARSE;

inline bool is_general(const attn_problem &problem) {
  return problem.left >= 0 || problem.right > 0 || problem.Dv != problem.D || problem.softcap > 0 || problem.sink ||
         problem.layout != ATTN_BHSD || attn_is_ragged(&problem) || attn_kv_dtype(&problem) == ATTN_E4M3 ||
         attn_is_paged(&problem) || attn_is_sparse(&problem);
}

/* What kernels for e4m3 read beside the numbers: a scale of each sequence and KV head, of each block of its keys, or
 * one. NULL: the tensor is of another type. */
struct Scales {
  const float *q, *k, *v;
  attn_view k_view;    /* of k and of v */
  uint32_t block_keys; /* keys of a block */
  attn_dtype out_dtype;
};

inline Scales scales_of(const attn_problem &problem, const attn_buffers &buffers) {
  const bool is_by_block = problem.scales == ATTN_SCALES_BLOCK;
  return {buffers.q_scale,
          buffers.k_scale,
          buffers.v_scale,
          attn_scale_view(&problem, ATTN_K_SCALE),
          is_by_block ? uint32_t{ATTN_SCALE_KEYS} : problem.Skv,
          attn_out_dtype(&problem)};
}

/* The scales of a tile of keys, all of one block: of their scores and of their values. */
struct TileScales {
  float score, value;
};

struct Extras {
  int32_t left, right; /* the mask */
  Views at;
  attn_lists lists; /* of blocks of keys */
  uint32_t Dv;
  const float *sink;        /* [Hq]; NULL: none */
  Scales scales;            /* of e4m3 */
  float to_tanh, from_tanh; /* product q.k x to from_tanh * tanh(to_tanh * x); from_tanh is 0 without a cap */
};

/* The argument of a kernel here. */
struct RowParams : Params {
  Extras extras;
};

inline RowParams row_params_of(const attn_problem &problem, const attn_buffers &buffers) {
  RowParams p = {};
  static_cast<Params &>(p) = params_of(problem, buffers);
  p.extras.left = problem.left, p.extras.right = problem.right;
  p.extras.at = views_of(problem, buffers);
  p.extras.lists = attn_lists_of(&problem, buffers.block_counts, buffers.block_indices);
  p.extras.Dv = problem.Dv;
  p.extras.sink = buffers.sink;
  if (attn_is_scaled(&problem, ATTN_K)) p.extras.scales = scales_of(problem, buffers);
  if (problem.softcap > 0) {
    p.extras.to_tanh = 1.0f / (problem.softcap * sqrtf((float)problem.D));
    p.extras.from_tanh = problem.softcap * sqrtf((float)problem.D);
  }
  return p;
}

/* Q tile [q_rows][DP + kPad], K tile [kv_rows][DP], V tile [kv_rows][DP] */
constexpr uint32_t smem_bytes(uint32_t q_rows, uint32_t kv_rows, uint32_t DP, uint32_t element_bytes) {
  return (q_rows * (DP + kPad) + 2 * kv_rows * DP) * element_bytes;
}

}  // namespace attn::row_tile

#ifdef __CUDACC__
#include "kernels/tiles/attn_device.cuh"

namespace attn::row_tile {

/* Dense problems read no offsets. */
template <bool kGeneral>
__device__ __forceinline__ Sequence sequence_of(const RowParams &p, uint32_t b) {
  if (kGeneral) return attn::sequence_of(p, p.extras.at, b);
  return {b, p.Sq, p.Skv, 0, 0, nullptr};
}

/* The keys that `rows` neighbouring rows of a sequence see. */
template <bool kGeneral>
__device__ __forceinline__ attn_keys keys_of(const RowParams &p, const Sequence &s, uint32_t row, uint32_t rows) {
  const attn_mask mask = {s.Sq, s.Skv, p.extras.left, p.extras.right};
  if (kGeneral) return attn_mask_rows(&mask, row, rows);
  return {0, visible_keys(p, row + rows - 1)};
}

/* Tile `index` of the rows of a sequence: in one block of queries where there are any. */
template <bool kGeneral>
__device__ __forceinline__ attn_row_tile rows_of(const RowParams &p, const Sequence &s, uint32_t index,
                                                 uint32_t tile_rows) {
  if (kGeneral) return attn_row_tile_of(p.extras.lists.block, s.Sq, tile_rows, index);
  return {index * tile_rows, rows_in_tile(s.Sq, index * tile_rows, tile_rows)};
}

/* The list of blocks of keys of a tile of rows of sequence b. */
template <bool kGeneral>
__device__ __forceinline__ attn_blocks blocks_of(const RowParams &p, uint32_t b, uint32_t h, uint32_t row) {
  if (kGeneral) return attn_blocks_of(&p.extras.lists, b, h, row);
  return {nullptr, 1, 0};
}

/* Columns of V and O. */
template <bool kGeneral>
__device__ __forceinline__ uint32_t v_columns(const RowParams &p) {
  return kGeneral ? p.extras.Dv : p.D;
}

/* The first element of a row: of a query of the sequence, or of its first key, which load_keys takes. */
template <bool kGeneral>
__device__ __forceinline__ size_t query_of(const attn_view &view, const RowParams &p, const Sequence &s, uint32_t h,
                                           uint32_t row, uint32_t columns) {
  if (kGeneral) return attn_view_token(&view, s.batch, h, s.q_first + row);
  return row_offset(s.batch, p.Hq, h, p.Sq, row, columns);
}
template <bool kGeneral>
__device__ __forceinline__ size_t keys_from(const attn_view &view, const RowParams &p, const Sequence &s,
                                            uint32_t kv_h, uint32_t columns) {
  if (kGeneral) return s.pages != nullptr ? 0 : attn_view_token(&view, s.batch, kv_h, s.k_first);
  return row_offset(s.batch, p.Hkv, kv_h, p.Skv, 0, columns);
}

/* Elements between neighbouring rows of a head. */
template <bool kGeneral>
__device__ __forceinline__ size_t row_stride_of(const attn_view &view, uint32_t columns) {
  return kGeneral ? view.token_stride : columns;
}

/* The scales of the tile from key `first` on, of sequence b. A tile lies in one block: its keys divide
 * ATTN_SCALE_KEYS. */
template <bool kGeneral>
__device__ __forceinline__ TileScales scales_of_tile(const RowParams &p, uint32_t b, uint32_t kv_h, uint32_t first) {
  const Scales &s = p.extras.scales;
  if (!kGeneral || s.k == nullptr) return {1.0f, 1.0f};
  const bool is_one = s.k_view.batch * s.k_view.heads < p.B * p.Hkv;
  const size_t head = is_one ? 0 : static_cast<size_t>(b) * p.Hkv + kv_h;
  const size_t at = head * s.k_view.tokens + first / s.block_keys;
  return {s.q != nullptr ? s.q[head] * s.k[at] : s.k[at], s.v[at]};
}

/* The part of a range of keys that lies in the tile from `first` on, counted from there. */
__device__ __forceinline__ attn_keys within_tile(attn_keys keys, uint32_t first, uint32_t tile) {
  return {rows_in_tile(keys.first, first, tile), rows_in_tile(keys.end, first, tile)};
}

/* Copies `valid` rows of `D` elements, row_stride apart, and zeroes the rest of a [rows][DP] tile: zeros add nothing
 * to a dot product, while leftover bits might be NaN. All `Threads` threads of the block take part. */
template <uint32_t DP, uint32_t Threads, typename T>
__device__ __forceinline__ void load_tile(T *tile, uint32_t stride, const T *__restrict__ rows, uint32_t tile_rows,
                                          uint32_t valid, uint32_t D, size_t row_stride) {
  for (uint32_t i = threadIdx.x; i < tile_rows * DP; i += Threads) {
    const uint32_t r = i / DP, c = i % DP;
    tile[r * stride + c] = r < valid && c < D ? rows[r * row_stride + c] : from_float<T>(0.0f);
  }
}

/* Of rows that lie behind one another. */
template <uint32_t DP, uint32_t Threads, typename T>
__device__ __forceinline__ void load_tile(T *tile, uint32_t stride, const T *__restrict__ rows, uint32_t tile_rows,
                                          uint32_t valid, uint32_t D) {
  load_tile<DP, Threads>(tile, stride, rows, tile_rows, valid, D, D);
}

/* The same for `valid` keys or values of a head from `first` on; `from` is where keys_from says. Where K and V alone
 * are e4m3 its numbers become those of T, which has them all. */
template <uint32_t DP, uint32_t Threads, bool kGeneral, typename T>
__device__ __forceinline__ void load_keys(T *tile, const RowParams &p, const void *tensor, size_t from,
                                          const attn_view &view, const Sequence &s, uint32_t kv_h, uint32_t first,
                                          uint32_t tile_rows, uint32_t valid, uint32_t D, size_t row_stride) {
  const T *keys = static_cast<const T *>(tensor) + from;
  if constexpr (kGeneral) {
    const uint8_t *narrow = static_cast<const uint8_t *>(tensor) + from;
    const bool is_narrow = Type<T>::dtype != ATTN_E4M3 && p.extras.scales.k != nullptr;
    const bool is_plain = s.pages == nullptr && !is_narrow;
    for (uint32_t i = threadIdx.x; i < tile_rows * DP && !is_plain; i += Threads) {
      const uint32_t r = i / DP, c = i % DP;
      const bool is_in = r < valid && c < D;
      const size_t at =
          s.pages != nullptr ? attn_view_key(&view, s.pages, 0, kv_h, first + r) : (first + r) * row_stride;
      tile[i] = !is_in      ? from_float<T>(0.0f)
                : is_narrow ? from_float<T>(input_from_e4m3(narrow[at + c]))
                            : keys[at + c];
    }
    if (!is_plain) return;
  }
  load_tile<DP, Threads>(tile, DP, keys + first * row_stride, tile_rows, valid, D, row_stride);
}

/* Streaming softmax of one row. */
template <uint32_t DP>
struct Row {
  float acc[DP]; /* sum of 2^(score - max) * V */
  float max;     /* largest scaled score so far, in log2 units; -inf before the first key */
  float sum;     /* sum of 2^(score - max) */

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (uint32_t d = 0; d < DP; ++d) acc[d] = 0.0f;
    max = minus_infinity();
    sum = 0.0f;
  }

  /* A sink is a term of the sum that comes before all keys. */
  template <bool kGeneral>
  __device__ __forceinline__ void start(const RowParams &p, uint32_t h) {
    reset();
    if (!kGeneral || p.extras.sink == nullptr) return;
    max = static_cast<float>(M_LOG2E) * p.extras.sink[h];
    sum = 1.0f;
  }

  /* Takes in these keys of the tile. Both tiles hold a multiple of kGroup keys. */
  template <bool kGeneral, typename T>
  __device__ __forceinline__ void attend(const T *q, const T *k_tile, const T *v_tile, attn_keys keys,
                                         const RowParams &p, TileScales scales = {1.0f, 1.0f}) {
    const uint32_t start = kGeneral ? keys.first / kGroup * kGroup : 0;
    for (uint32_t first = start; first < keys.end; first += kGroup) {
      float weight[kGroup] = {};
      scores(weight, q, k_tile + first * DP);
      if (kGeneral) multiply(weight, scales.score);
      if (kGeneral && p.extras.from_tanh > 0.0f) cap(weight, p.extras);
      if (kGeneral) hide_before(weight, keys.first, first);
      scores_to_weights(weight, keys.end - first, p.scale_log2);
      if (kGeneral) multiply(weight, scales.value);
      accumulate(weight, v_tile + first * DP);
    }
  }

  /* A row that attended no key has sum 0 and becomes zeros. */
  template <typename T>
  __device__ __forceinline__ void store(T *o, uint32_t D) const {
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll
    for (uint32_t d = 0; d < DP; ++d)
      if (d < D) o[d] = from_float<T>(acc[d] * inverse);
  }

  /* The same where O is of another type than T. */
  __device__ __forceinline__ void store_as(attn_dtype dtype, void *o, size_t first, uint32_t D) const {
    static_assert(ATTN_DTYPE_COUNT == 4, "a new type needs a case below: nvcc lets a kernel lack one");
    switch (dtype) {
      case ATTN_F16: store(static_cast<__half *>(o) + first, D); break;
      case ATTN_BF16: store(static_cast<__nv_bfloat16 *>(o) + first, D); break;
      case ATTN_F32: store(static_cast<float *>(o) + first, D); break;
      case ATTN_E4M3: break; /* of Q, K and V alone */
    }
  }

  /* Row `row` of a head: O, and LSE where it is asked for. */
  template <bool kGeneral, typename T>
  __device__ __forceinline__ void store_row(const RowParams &p, const Sequence &s, uint32_t h, uint32_t row) const {
    const uint32_t columns = v_columns<kGeneral>(p);
    const size_t first = query_of<kGeneral>(p.extras.at.o, p, s, h, row, columns);
    if constexpr (Type<T>::dtype == ATTN_E4M3)
      store_as(p.extras.scales.out_dtype, p.o, first, columns);
    else
      store(static_cast<T *>(p.o) + first, columns);
    if (p.lse != nullptr) p.lse[query_of<kGeneral>(p.extras.at.lse, p, s, h, row, 1)] = log_sum_exp(max, sum);
  }

 private:
  template <typename T>
  static __device__ __forceinline__ void scores(float (&s)[kGroup], const T *q, const T *k) {
#pragma unroll 4
    for (uint32_t d = 0; d < DP; d += 4) {
      const float4 a = load4(q + d);
#pragma unroll
      for (uint32_t j = 0; j < kGroup; ++j) {
        const float4 b = load4(k + j * DP + d);
        s[j] = fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, s[j]))));
      }
    }
  }

  static __device__ __forceinline__ void multiply(float (&s)[kGroup], float factor) {
#pragma unroll
    for (uint32_t j = 0; j < kGroup; ++j) s[j] *= factor;
  }

  static __device__ __forceinline__ void cap(float (&s)[kGroup], const Extras &extras) {
#pragma unroll
    for (uint32_t j = 0; j < kGroup; ++j) s[j] = extras.from_tanh * tanhf(extras.to_tanh * s[j]);
  }

  /* The row does not see the keys before `begin`, of a group that starts at `first`. */
  static __device__ __forceinline__ void hide_before(float (&s)[kGroup], uint32_t begin, uint32_t first) {
#pragma unroll
    for (uint32_t j = 0; j < kGroup; ++j)
      if (first + j < begin) s[j] = minus_infinity();
  }

  /* Scores to weights relative to the new maximum; the old sums are rescaled to it. The row sees a key of the group,
   * so the new maximum is finite. */
  __device__ __forceinline__ void scores_to_weights(float (&s)[kGroup], uint32_t visible, float scale_log2) {
    float new_max = max;
#pragma unroll
    for (uint32_t j = 0; j < kGroup; ++j) {
      s[j] = j < visible ? s[j] * scale_log2 : minus_infinity();
      new_max = fmaxf(new_max, s[j]);
    }
    const float rescale = exp2f(max - new_max);
    float group_sum = 0.0f;
#pragma unroll
    for (uint32_t j = 0; j < kGroup; ++j) {
      s[j] = exp2f(s[j] - new_max);
      group_sum += s[j];
    }
    sum = fmaf(sum, rescale, group_sum);
    max = new_max;
#pragma unroll
    for (uint32_t d = 0; d < DP; ++d) acc[d] *= rescale;
  }

  template <typename T>
  __device__ __forceinline__ void accumulate(const float (&weight)[kGroup], const T *v) {
#pragma unroll
    for (uint32_t j = 0; j < kGroup; ++j)
#pragma unroll
      for (uint32_t d = 0; d < DP; d += 4) {
        const float4 b = load4(v + j * DP + d);
        acc[d + 0] = fmaf(weight[j], b.x, acc[d + 0]);
        acc[d + 1] = fmaf(weight[j], b.y, acc[d + 1]);
        acc[d + 2] = fmaf(weight[j], b.z, acc[d + 2]);
        acc[d + 3] = fmaf(weight[j], b.w, acc[d + 3]);
      }
  }
};

}  // namespace attn::row_tile
#endif

#endif
