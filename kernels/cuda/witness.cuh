/* The witness of timed launches: the kernels that change the inputs between launches, in a way whose effect on the
 * outputs is known (pattern.h), and that check all sampled rows of the outputs after a launch. They run between timed
 * samples, so they should take little longer than their bytes need. */
#ifndef ATTNBENCH_KERNELS_CUDA_WITNESS_CUH
#define ATTNBENCH_KERNELS_CUDA_WITNESS_CUH

#include <algorithm>

#include "kernels/cuda/reference.cuh"

namespace attn {

namespace {

__device__ uint64_t grid_thread() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ uint64_t grid_stride() { return uint64_t{gridDim.x} * blockDim.x; }

/* How many slabs of `of_slab` columns a row of `columns` has. */
__host__ __device__ inline uint64_t slabs_of(uint32_t columns, uint32_t of_slab) {
  return columns / of_slab + (columns % of_slab != 0);
}

/* ---- comparing ----------------------------------------------------------------------------------------------- */

struct compare_args {
  const void *output;
  struct attn_view view; /* of the output */
  const float *lse;      /* NULL: not asked for */
  const double *o;
  const struct reference_row *rows;
  struct attn_problem shape;
  struct pattern_sample sample;
  struct tolerance tolerance;
  struct pattern inputs; /* as they are now: flips and swaps against the reference's */
};

__device__ struct compare_bound bound_of(const compare_args &a, uint64_t place) {
  const struct attn_place at = attn_place_of(&a.shape, ATTN_ROWS_QUERIES, pattern_sample_row(&a.sample, place));
  return compare_bound_of(&a.tolerance, &a.shape, attn_seen_keys(&a.shape, &at), &a.rows[place]);
}

/* The row of the output that has to be row `place` of the reference's sample. */
__device__ uint64_t row_of(const compare_args &a, uint64_t place) {
  return pattern_source(&a.inputs, ATTN_O, pattern_sample_row(&a.sample, place));
}

/* ---- runs of rows -------------------------------------------------------------------------------------------- */

/* To find out where a row lies, and which of its signs are inverted, takes many times as long as to read its
 * elements. So a warp takes a run of neighbouring rows: each lane finds out one of them, and then all lanes go
 * through their elements. Rows of one pair of KV heads have the same signs. */
constexpr uint32_t kRunColumns = 128; /* of a row, for one warp; 4 for a lane */

struct witness_runs {
  uint32_t rows;  /* of a run; at most 32 */
  uint64_t slabs; /* of a row */
  uint64_t count; /* of all rows and slabs */
};

witness_runs witness_runs_of(uint64_t rows, uint32_t columns) {
  constexpr uint64_t kWarps = 2048; /* so many at least, where there are rows enough: 16 for each SM of a large GPU */
  const uint64_t slabs = slabs_of(columns, kRunColumns);
  const uint32_t of_run = static_cast<uint32_t>(std::clamp<uint64_t>(rows * slabs / kWarps, 1, 32));
  return {of_run, slabs, (rows + of_run - 1) / of_run * slabs};
}

/* The inverted signs of a lane's elements in a slab of a row: bit k is of column column0 + 32 k + lane. */
struct slab_signs {
  uint64_t pair; /* of the row; signs of PATTERN_NO_PAIR are not inverted */
  uint32_t bits;

  /* Makes them those of another row. */
  __device__ void become(uint64_t of, uint64_t flips, enum pattern_flip what, uint32_t column0) {
    if (of == pair) return;
    pair = of, bits = 0;
    for (uint32_t k = 0; k < kRunColumns / 32; ++k)
      bits |= static_cast<uint32_t>(pattern_is_flipped(flips, what, of, column0 + 32 * k + threadIdx.x % 32)) << k;
  }
  template <enum attn_dtype kDtype>
  __device__ uint32_t mask(uint32_t k) const {
    return (bits >> k & 1) != 0 ? attn_dtype_sign(kDtype) : 0;
  }
};

constexpr uint64_t kNoRow = UINT64_MAX;

/* ---- changing the inputs ------------------------------------------------------------------------------------- */

/* Inverts signs of a tensor, and exchanges each row with its partner. */
template <enum attn_dtype kDtype>
__global__ void change_kernel(void *data, const struct attn_problem shape, const struct attn_tensor tensor,
                              uint64_t flips, const witness_runs runs) {
  const enum pattern_flip what = pattern_flip_of(&shape, tensor.role);
  const uint64_t rows = attn_view_rows(&tensor.view);
  const uint32_t lane = threadIdx.x % 32, columns = tensor.view.columns;
  for (uint64_t i = grid_thread() / 32; i < runs.count; i += grid_stride() / 32) {
    const uint64_t row = i / runs.slabs * runs.rows + lane;
    const uint32_t column0 = static_cast<uint32_t>(i % runs.slabs) * kRunColumns;
    uint64_t here = kNoRow, there = kNoRow, pair = PATTERN_NO_PAIR; /* first elements of the row and of its partner */
    if (lane < runs.rows && row < rows) {
      const uint64_t partner = pattern_partner(&shape, tensor.role, row);
      if (partner >= row) { /* else the partner's lane does both */
        here = attn_view_row(&tensor.view, row), there = attn_view_row(&tensor.view, partner);
        if (pattern_flips(tensor.role)) pair = pattern_flip_pair(&shape, tensor.role, row);
      }
    }
    slab_signs signs = {PATTERN_NO_PAIR, 0};
    for (uint32_t r = 0; r < runs.rows; ++r) {
      const uint64_t first = __shfl_sync(~0u, here, r), second = __shfl_sync(~0u, there, r);
      const uint64_t of_row = __shfl_sync(~0u, pair, r);
      if (first == kNoRow) continue;
      signs.become(of_row, flips, what, column0);
      for (uint32_t k = 0; k < kRunColumns / 32; ++k) {
        const uint32_t d = column0 + 32 * k + lane, sign = signs.template mask<kDtype>(k);
        if (d >= columns || (second == first && sign == 0)) continue;
        const uint32_t a = attn_dtype_load(kDtype, data, first + d), b = attn_dtype_load(kDtype, data, second + d);
        attn_dtype_store(kDtype, data, first + d, b ^ sign);
        if (second != first) attn_dtype_store(kDtype, data, second + d, a ^ sign);
      }
    }
  }
}

/* ---- looking at the outputs ---------------------------------------------------------------------------------- */

/* The outputs that were found right, with the signs of launch 0; NULL: none. */
struct verified_outputs {
  const void *o;
  const float *lse;
};

/* Checks all rows of the sample; `look` is the number of this check, from 1. If a row is wrong, 1 is added to *wrong,
 * and *last becomes `look`. An element is right if it has the bits that were found right before, or else if it is
 * within its bound; the bound is rarely needed. */
template <enum attn_dtype kDtype>
__global__ void witness_kernel(const compare_args a, const verified_outputs verified, const witness_runs runs,
                               unsigned long long look, unsigned long long *wrong, unsigned long long *last) {
  const uint32_t lane = threadIdx.x % 32, columns = a.view.columns;
  struct compare_partial mine;
  struct compare_row sums = {};
  compare_start(&mine);
  for (uint64_t i = grid_thread() / 32; i < runs.count; i += grid_stride() / 32) {
    const uint64_t place0 = i / runs.slabs * runs.rows;
    const uint32_t column0 = static_cast<uint32_t>(i % runs.slabs) * kRunColumns;
    uint64_t row = kNoRow, source = 0, here = 0, before = 0, pair = PATTERN_NO_PAIR;
    if (lane < runs.rows && place0 + lane < a.sample.count) {
      source = pattern_sample_row(&a.sample, place0 + lane), row = row_of(a, place0 + lane);
      here = attn_view_row(&a.view, row), before = attn_view_row(&a.view, source);
      if (a.inputs.flips != 0) pair = pattern_flip_pair(&a.shape, ATTN_O, row);
    }
    slab_signs signs = {PATTERN_NO_PAIR, 0};
    for (uint32_t r = 0; r < runs.rows; ++r) {
      const uint64_t of_row = __shfl_sync(~0u, row, r), first = __shfl_sync(~0u, here, r);
      const uint64_t from_row = __shfl_sync(~0u, source, r), of_pair = __shfl_sync(~0u, pair, r);
      if (of_row == kNoRow) break;
      const uint64_t place = place0 + r, from = __shfl_sync(~0u, before, r);
      signs.become(of_pair, a.inputs.flips, pattern_flip_of(&a.shape, ATTN_O), column0);
      for (uint32_t k = 0; k < kRunColumns / 32; ++k) {
        const uint32_t d = column0 + 32 * k + lane, sign = signs.template mask<kDtype>(k);
        if (d >= columns) break;
        const uint32_t bits = attn_dtype_load(kDtype, a.output, first + d);
        if (verified.o != nullptr && bits == (attn_dtype_load(kDtype, verified.o, from + d) ^ sign)) continue;
        const struct compare_bound bound = bound_of(a, place);
        const double reference = a.o[place * columns + d];
        compare_element(&mine, &sums, &bound, of_row * columns + d, attn_dtype_value(kDtype, bits),
                        sign != 0 ? -reference : reference);
      }
      if (a.lse == nullptr || lane > 0 || column0 > 0) continue;
      if (verified.lse != nullptr && verified.lse[from_row] == a.lse[of_row]) continue;
      const struct compare_bound bound = bound_of(a, place);
      compare_lse(&mine, &bound, of_row, a.lse[of_row], a.rows[place].lse);
    }
  }
  const bool is_wrong = sums.bad + mine.result.lse.bad_rows > 0;
  if (__any_sync(~0u, is_wrong) && lane == 0 && atomicExch(last, look) != look) atomicAdd(wrong, 1ull);
}

}  // namespace

}  // namespace attn

#endif
