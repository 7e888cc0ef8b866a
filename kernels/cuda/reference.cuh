/* The fp64 reference on the GPU: the definition, with one or several warps for each query row. */
#ifndef ATTNBENCH_KERNELS_CUDA_REFERENCE_CUH
#define ATTNBENCH_KERNELS_CUDA_REFERENCE_CUH

#include <cmath>

#include "kernels/bounds.h"
#include "kernels/pattern.h"

namespace attn {

namespace {

template <enum attn_dtype kDtype>
__device__ double load_double(const void *data, uint64_t index) {
  return attn_dtype_value(kDtype, attn_dtype_load(kDtype, data, index));
}

constexpr int kReferenceWarps = 4;     /* of a block, where each warp has a row of its own */
constexpr int kRowWarps = 16;          /* of a block, where they share a row */
constexpr int kReferenceColumns = 256; /* columns of O per block; 8 per lane */
constexpr int kPerLane = kReferenceColumns / 32;
constexpr uint32_t kHeldColumns = 256; /* the first columns of a row of Q, kept as doubles in shared memory */
constexpr uint32_t kAtOnce = 8;        /* neighbouring elements that are loaded together */

constexpr uint32_t kElementBytes[] = {
#define DTYPE(id, name, bytes, ...) bytes,
#include "kernels/problem/dtypes.def"
#undef DTYPE
};

/* Loads kAtOnce neighbouring elements. `index` must be a multiple of kAtOnce, and `data` aligned to 8 bytes. */
template <enum attn_dtype kDtype>
__device__ void load_doubles(const void *data, uint64_t index, double (&out)[kAtOnce]) {
  constexpr uint32_t kWords = kAtOnce * kElementBytes[kDtype] / 4, kPerWord = kAtOnce / kWords;
  uint32_t words[kWords];
  const uint2 *const from = static_cast<const uint2 *>(data) + index * kElementBytes[kDtype] / sizeof(uint2);
#pragma unroll
  for (uint32_t w = 0; w < kWords; w += 2) {
    const uint2 two = from[w / 2];
    words[w] = two.x, words[w + 1] = two.y;
  }
#pragma unroll
  for (uint32_t i = 0; i < kAtOnce; ++i) {
    const uint32_t shift = 32 / kPerWord * (i % kPerWord), mask = ~0u >> (32 - 32 / kPerWord);
    out[i] = attn_dtype_value(kDtype, words[i / kPerWord] >> shift & mask);
  }
}

__device__ double warp_max(double x) {
  for (int offset = 16; offset > 0; offset /= 2) x = fmax(x, __shfl_xor_sync(~0u, x, offset));
  return x;
}

__device__ double warp_sum(double x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}

struct reference_args {
  const void *q, *k, *v;
  const float *sink; /* [Hq]; NULL: none */
  struct attn_lists lists;
  const float *q_scale, *k_scale, *v_scale; /* NULL: their elements are the values */
  struct attn_view q_view, k_view, v_view;
  double *o; /* [count][columns of V] */
  struct reference_row *rows;
  struct attn_problem shape;
  struct pattern_sample sample;
  bool is_aligned; /* load_doubles may read Q and K */
};

/* One lane's part of a row: some of its columns, and what its warp's keys say of the row. Of keys whose score is the
 * largest so far, `top` counts the weights, and top_spread is their part of the spread. */
struct row_state {
  double out[kPerLane], largest, total, spread, values, most, top, top_spread;

  /* Makes `to` the score that sums are relative to. It must not be below any score so far. `shrink` is exp(largest -
   * to). */
  __device__ void raise(double to, double shrink) {
    largest = to;
    total *= shrink;
    spread *= shrink * shrink;
    top = shrink < COMPARE_TOP_WEIGHT ? 0.0 : top * shrink;
    top_spread = shrink < COMPARE_TOP_WEIGHT ? 0.0 : top_spread * shrink * shrink;
    for (double &x : out) x *= shrink;
  }
  /* Adds the sums over other keys. */
  __device__ void merge(row_state other) {
    const double next = fmax(largest, other.largest);
    raise(next, largest == next ? 1.0 : exp(largest - next));
    other.raise(next, other.largest == next ? 1.0 : exp(other.largest - next));
    total += other.total, spread += other.spread, values += other.values;
    top += other.top, top_spread += other.top_spread;
    most = fmax(most, other.most);
    for (int i = 0; i < kPerLane; ++i) out[i] += other.out[i];
  }
};

/* The scale of a row of Q, K or V. */
__device__ double scale_at(const reference_args &a, const float *scales, enum attn_role role,
                           const struct attn_place &place) {
  return scales != nullptr ? scales[attn_scale_row(&a.shape, role, &place)] : 1.0;
}

/* The first element of key j of K or V, whose rows are those of a head; `first` is that of key 0. */
__device__ uint64_t key_at(const struct attn_view &view, const struct attn_key_rows &rows, uint64_t first,
                           uint32_t j) {
  const uint32_t page = rows.pages.page;
  if (page == 0) return first + j * view.token_stride;
  return attn_view_token(&view, attn_page_at(&rows.pages, rows.own, j / page), rows.h, j % page);
}

/* Adds `count` keys from `first` on, each with its lane's unnormalised weight p. */
template <enum attn_dtype kDtype>
__device__ void weigh_keys(const reference_args &a, const struct attn_key_rows &rows, uint64_t v_first,
                           uint32_t column0, const struct attn_place &first, uint32_t count, double p,
                           row_state *state) {
  struct attn_place key = first;
  const uint32_t j0 = first.token;
  for (uint32_t t = 0; t < count; ++t) {
    const double weight = __shfl_sync(~0u, p, static_cast<int>(t));
    key.token = j0 + t;
    const double scale = scale_at(a, a.v_scale, ATTN_V, key);
    const uint64_t row = key_at(a.v_view, rows, v_first, j0 + t);
    double square = 0;
    for (int i = 0; i < kPerLane; ++i) {
      const uint32_t d = column0 + threadIdx.x % 32 + 32 * i;
      if (d >= a.v_view.columns) break;
      const double value = load_double<kDtype>(a.v, row + d) * scale;
      state->out[i] += weight * value;
      square += value * value;
    }
    const double spread = weight * weight * square;
    const bool is_top = weight >= COMPARE_TOP_WEIGHT;
    state->values += square;
    state->spread += spread;
    state->top += is_top ? weight : 0.0;
    state->top_spread += is_top ? spread : 0.0;
  }
}

/* Adds at most 32 neighbouring keys, each with its lane's score; lanes behind the last key have none. */
template <enum attn_dtype kKvDtype>
__device__ void add_keys(const reference_args &a, const struct attn_key_rows &kv, uint64_t v_first, uint32_t column0,
                         struct attn_place first, uint32_t count, double score, row_state *state) {
  const bool is_key = threadIdx.x % 32 < count;
  const double next = fmax(state->largest, warp_max(score)), shrink = exp(state->largest - next);
  const double p = is_key ? exp(score - next) : 0.0;
  if (is_key) state->most = fmax(state->most, fabs(score));
  state->raise(next, shrink);
  state->total += warp_sum(p);
  weigh_keys<kKvDtype>(a, kv, v_first, column0, first, count, p, state);
}

/* The score of one pair, capped where the problem says so. `scale`: of Q and K together. `held`: the first columns of
 * the row of Q. */
template <enum attn_dtype kDtype, enum attn_dtype kKvDtype>
__device__ double score_of(const reference_args &a, const double *held, uint64_t q_first, uint64_t k_first,
                           double scale) {
  double dot = 0;
  uint32_t d = 0;
  for (; a.is_aligned && d + kAtOnce <= a.shape.D; d += kAtOnce) {
    double q[kAtOnce], k[kAtOnce];
    load_doubles<kKvDtype>(a.k, k_first + d, k);
    if (d + kAtOnce <= kHeldColumns) {
      for (uint32_t i = 0; i < kAtOnce; ++i) q[i] = held[d + i];
    } else {
      load_doubles<kDtype>(a.q, q_first + d, q);
    }
    for (uint32_t i = 0; i < kAtOnce; ++i) dot += q[i] * k[i];
  }
  for (; d < a.shape.D; ++d) {
    dot += load_double<kDtype>(a.q, q_first + d) * load_double<kKvDtype>(a.k, k_first + d);
  }
  const double score = dot * scale / sqrt(static_cast<double>(a.shape.D)), cap = a.shape.softcap;
  return cap > 0 ? cap * tanh(score / cap) : score;
}

template <enum attn_dtype kDtype>
__device__ double size_of_q(const reference_args &a, uint64_t q_first, double scale) {
  double squares = 0;
  for (uint32_t d = threadIdx.x % 32; d < a.shape.D; d += 32) {
    const double q = load_double<kDtype>(a.q, q_first + d);
    squares += q * q;
  }
  return scale * sqrt(warp_sum(squares) / a.shape.D);
}

/* Merges the states of all warps of the block into that of the first warp. The number of warps is a power of two. */
__device__ void merge_warps(row_state *state) {
  __shared__ row_state parts[kRowWarps / 2][32];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (uint32_t half = blockDim.x / 64; half > 0; half /= 2) {
    if (warp >= half && warp < 2 * half) parts[warp - half][lane] = *state;
    __syncthreads();
    if (warp < half) state->merge(parts[warp][lane]);
    __syncthreads();
  }
}

/* The largest x of all threads of the block. */
__device__ double block_max(double x) {
  __shared__ double of_warp[kRowWarps];
  x = warp_max(x);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
  __syncthreads();
  for (uint32_t warp = 0; warp < blockDim.x / 32; ++warp) x = fmax(x, of_warp[warp]);
  return x;
}

/* The definition, in fp64: online softmax over 32 keys at a time, lanes own keys while scoring and columns while
 * accumulating. A warp has a row of its own or, with kSplit, the block's warps take the keys of one row in turns.
 * blockIdx.y picks a slab of 256 columns; each slab scores all keys again and adds its part of the row's sums over
 * columns, which arrive zeroed. Where warps have rows of their own, the launch bounds ask for six blocks on an SM,
 * for which the compiler spills. Without bounds it would use 120 registers, fewer blocks would fit, and that is
 * slower than the spills. */
template <enum attn_dtype kDtype, enum attn_dtype kKvDtype, bool kSplit>
__global__ void __launch_bounds__(32 * (kSplit ? kRowWarps : kReferenceWarps), kSplit ? 1 : 6)
    reference_kernel(const reference_args a) {
  __shared__ double held_rows[kSplit ? 1 : kReferenceWarps][kHeldColumns];
  const struct attn_problem &s = a.shape;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, column0 = blockIdx.y * kReferenceColumns;
  const uint64_t place = kSplit ? blockIdx.x : uint64_t{blockIdx.x} * kReferenceWarps + warp;
  if (place >= a.sample.count) return; /* never with kSplit, where barriers of the block follow */
  const uint64_t row = pattern_sample_row(&a.sample, place), q_first = attn_view_row(&a.q_view, row);
  const struct attn_place at = attn_place_of(&s, ATTN_ROWS_QUERIES, row);
  const struct attn_key_rows kv = attn_key_rows_of(&s, &at.sequence, attn_kv_head(&s, at.h));
  const uint64_t kv_row = attn_key_row_at(&kv, 0);
  const uint64_t k_first = attn_view_row(&a.k_view, kv_row), v_first = attn_view_row(&a.v_view, kv_row);
  const struct attn_keys seen = attn_keys_of(&s, &at);
  const struct attn_blocks blocks = attn_blocks_of(&a.lists, at.sequence.b, at.h, at.token);
  const double q_scale = scale_at(a, a.q_scale, ATTN_Q, at);
  double *const held = held_rows[kSplit ? 0 : warp];
  for (uint32_t d = kSplit ? threadIdx.x : lane; d < s.D && d < kHeldColumns; d += kSplit ? blockDim.x : 32)
    held[d] = load_double<kDtype>(a.q, q_first + d);
  if (kSplit)
    __syncthreads();
  else
    __syncwarp();
  struct attn_place key = {at.sequence, attn_kv_head(&s, at.h), 0, false};
  const auto score_at = [&](const struct attn_keys &keys, uint32_t token) {
    key.token = token;
    return token < keys.end ? score_of<kDtype, kKvDtype>(a, held, q_first, key_at(a.k_view, kv, k_first, token),
                                                         q_scale * scale_at(a, a.k_scale, ATTN_K, key))
                            : -INFINITY;
  };
  bool is_empty = true;
  /* Calls visit(keys, j0) for the warp's share of the row's keys: at most 32 keys from j0 on, within `keys`. */
  const auto for_keys = [&](const auto &visit) {
    uint32_t turn = 0;
    for (uint32_t i = 0; i < blocks.count; ++i) {
      const struct attn_keys keys = attn_blocks_keys(&blocks, i, seen);
      for (uint32_t j0 = keys.first; j0 < keys.end; j0 += 32) {
        is_empty = false;
        if (!kSplit || turn++ % (blockDim.x / 32) == warp) visit(keys, j0);
      }
    }
  };
  row_state state = {};
  state.largest = -INFINITY;
  if (a.sink != nullptr) {
    state.largest = a.sink[at.h];
    state.most = fabs(state.largest);
  }
  /* Capped scores come as near to each other as they like, and whether one is the largest is a matter of 2^-30: it
   * has to be held against the maximum of all keys, not of those so far. */
  if (s.softcap > 0) {
    for_keys([&](const struct attn_keys &keys, uint32_t j0) {
      state.largest = fmax(state.largest, warp_max(score_at(keys, j0 + lane)));
    });
    if (kSplit) state.largest = block_max(state.largest);
  }
  if (a.sink != nullptr && (!kSplit || warp == 0)) state.total = exp(a.sink[at.h] - state.largest);
  for_keys([&](const struct attn_keys &keys, uint32_t j0) {
    const double score = score_at(keys, j0 + lane);
    key.token = j0;
    add_keys<kKvDtype>(a, kv, v_first, column0, key, min(32u, keys.end - j0), score, &state);
  });
  if (kSplit) {
    merge_warps(&state);
    if (warp > 0) return;
  }
  for (int i = 0; i < kPerLane; ++i) {
    const uint32_t d = column0 + lane + 32 * i;
    if (d >= a.v_view.columns) break;
    a.o[place * a.v_view.columns + d] = is_empty ? 0.0 : state.out[i] / state.total;
  }
  const double spread = warp_sum(state.spread), values = warp_sum(state.values);
  const double rest_spread = warp_sum(fmax(state.spread - state.top_spread, 0.0));
  const double most = warp_max(state.most), q_size = size_of_q<kDtype>(a, q_first, q_scale);
  const double has_sink = a.sink != nullptr ? exp(a.sink[at.h] - state.largest) : 0.0;
  if (lane != 0) return;
  /* All but the sums over columns are the same from every slab. */
  struct reference_row *const out = &a.rows[place];
  out->largest = most;
  out->lse = state.largest + log(state.total); /* -infinity without keys and sink */
  out->q_size = q_size;
  out->sink = a.sink != nullptr ? has_sink / state.total : 0.0;
  if (is_empty) return;
  out->top = 1 / state.total;
  out->rest = fmax(state.total - state.top - has_sink, 0.0) / state.total;
  atomicAdd(&out->value_square, values);
  atomicAdd(&out->spread_square, spread / (state.total * state.total));
  atomicAdd(&out->rest_square, rest_spread / (state.total * state.total));
}

uint32_t columns_of(const struct attn_problem &problem) { return attn_columns(&problem, ATTN_O); }

template <enum attn_dtype kDtype, bool kSplit>
auto reference_kernel_of(const struct attn_problem &s) {
  const bool is_mixed = attn_kv_dtype(&s) != s.dtype; /* then K and V are e4m3 */
  return is_mixed ? reference_kernel<kDtype, ATTN_E4M3, kSplit> : reference_kernel<kDtype, kDtype, kSplit>;
}

/* How the kernel is launched: with several warps for a row or one. */
struct reference_launch {
  bool splits;
  dim3 grid;
  uint32_t threads;
};

reference_launch reference_launch_of(const reference_args &a, bool splits) {
  const uint64_t blocks = splits ? a.sample.count : (a.sample.count + kReferenceWarps - 1) / kReferenceWarps;
  return {splits,
          dim3(static_cast<unsigned>(blocks), (columns_of(a.shape) + kReferenceColumns - 1) / kReferenceColumns),
          32 * static_cast<uint32_t>(splits ? kRowWarps : kReferenceWarps)};
}

bool is_aligned(const void *data, const struct attn_view &view) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && view.token_stride % kAtOnce == 0 &&
         view.head_stride % kAtOnce == 0 && view.batch_stride % kAtOnce == 0;
}

/* `data`: the inputs, by enum attn_role. */
reference_args reference_args_of(const struct attn_problem &s, const void *const data[ATTN_ROLE_COUNT], double *o,
                                 struct reference_row *rows, const struct pattern_sample &sample) {
  const auto floats = [data](enum attn_role role) { return static_cast<const float *>(data[role]); };
  const auto numbers = [data](enum attn_role role) { return static_cast<const int32_t *>(data[role]); };
  return {data[ATTN_Q],
          data[ATTN_K],
          data[ATTN_V],
          floats(ATTN_SINK),
          attn_lists_of(&s, numbers(ATTN_BLOCK_COUNTS), numbers(ATTN_BLOCK_INDICES)),
          floats(ATTN_Q_SCALE),
          floats(ATTN_K_SCALE),
          floats(ATTN_V_SCALE),
          attn_view_of(&s, ATTN_Q),
          attn_view_of(&s, ATTN_K),
          attn_view_of(&s, ATTN_V),
          o,
          rows,
          s,
          sample,
          is_aligned(data[ATTN_Q], attn_view_of(&s, ATTN_Q)) && is_aligned(data[ATTN_K], attn_view_of(&s, ATTN_K))};
}

/* ---- is the reference right? --------------------------------------------------------------------------------- */

constexpr double kVerifyTolerance = 1e-11; /* of the row's norms; fp64 sums in another order stay far below */

/* Both NaN, the same infinity, or near each other. */
bool agree(double a, double b, double tolerance) {
  return (std::isnan(a) && std::isnan(b)) || a == b || fabs(a - b) <= tolerance;
}

/* Which of what is known of a row, and of its `columns` elements, the CPU has otherwise; NULL: nothing. */
const char *disagreement(const double *cpu_o, const struct reference_row &cpu, const double *gpu_o,
                         const struct reference_row &gpu, uint32_t columns) {
  double square = cpu.spread_square;
  for (uint32_t d = 0; d < columns; ++d) square += cpu_o[d] * cpu_o[d];
  /* An error of a score, which is as large as the largest of them, is one of its weight. */
  const double tolerance = kVerifyTolerance * (1 + cpu.largest), spread = tolerance * cpu.spread_square;
  for (uint32_t d = 0; d < columns; ++d) {
    if (!agree(cpu_o[d], gpu_o[d], tolerance * sqrt(square))) return "O";
  }
  if (!agree(cpu.value_square, gpu.value_square, kVerifyTolerance * cpu.value_square)) return "sum of |v|^2";
  if (!agree(cpu.spread_square, gpu.spread_square, spread)) return "sum of p^2 |v|^2";
  if (!agree(cpu.rest_square, gpu.rest_square, spread + cpu.doubt_square))
    return "sum of p^2 |v|^2 of smaller weights";
  if (!agree(cpu.top, gpu.top, tolerance)) return "largest weight";
  if (!agree(cpu.sink, gpu.sink, tolerance)) return "weight of the sink";
  if (!agree(cpu.rest, gpu.rest, tolerance + cpu.doubt)) return "sum of smaller weights";
  if (!agree(cpu.largest, gpu.largest, tolerance)) return "largest score";
  if (!agree(cpu.lse, gpu.lse, tolerance)) return "log-sum-exp";
  return agree(cpu.q_size, gpu.q_size, kVerifyTolerance * cpu.q_size) ? nullptr : "size of Q";
}

}  // namespace

}  // namespace attn

#endif
