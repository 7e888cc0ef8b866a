/* All work of a launch as one line of units. Each worker, which is a block or several, takes an equal stretch of the
 * line, which may begin and end within an item or a sequence. Source: stream-K. */
#ifndef ATTNBENCH_KERNELS_TILES_WORK_LINE_CUH
#define ATTNBENCH_KERNELS_TILES_WORK_LINE_CUH

#include "kernels/tiles/attn_params.cuh"
#include "kernels/tiles/item_order.cuh"

#ifdef __CUDACC__
#include "kernels/tiles/attn_device.cuh"
#endif

namespace attn {

/* 32-bit words of shared memory that work_line_of() needs in a block of so many warps. */
constexpr ATTN_HD uint32_t work_line_words(uint32_t warps) { return warps + 2; }

#ifdef __CUDACC__

/* Each block of a grid of one dimension is a worker. */
struct Blocks {
  __device__ __forceinline__ uint32_t index() const { return blockIdx.x; }
  __device__ __forceinline__ uint32_t count() const { return gridDim.x; }
};

/* A worker's range of units, and the sequence of its first unit. Workers: index() of the block's own, and count() of
 * all. With fewer units than workers, the first workers get one each, and the last ones none. If two workers
 * share an item, each worker between them must have a unit: they would wait for an empty one for ever. */
template <typename Workers>
struct WorkLine {
  Workers workers;
  uint32_t total; /* units of the whole line; below 2^31 */
  uint32_t first, end;
  uint32_t b, base; /* the sequence, and the first of its units */

  /* by_workers: division by their number. */
  __device__ __forceinline__ WorkLine(uint32_t all, Workers all_workers, Divider by_workers)
      : workers(all_workers), total(all), by(by_workers) {
    each = max(by.quotient(total), 1u), rest = total < workers.count() ? 0 : total - each * workers.count();
    first = begin_of(workers.index()), end = begin_of(workers.index() + 1);
  }
  /* The worker that has a unit. A quotient of floats is off by one at most, and much faster than a 64-bit
   * division. */
  __device__ __forceinline__ uint32_t worker_of(uint32_t unit) const {
    const uint32_t working = min(workers.count(), total);
    const uint32_t guess = (uint32_t)((float)unit * (float)working * ptx::rcp((float)total));
    if (begin_of(guess) > unit) return guess - 1;
    return begin_of(guess + 1) <= unit ? guess + 1 : guess;
  }

 private:
  Divider by;
  uint32_t each, rest; /* units of each worker, and how many workers have one more */

  __device__ __forceinline__ uint32_t begin_of(uint32_t worker) const {
    return min(each * worker + by.quotient(rest * worker), total);
  }
};

/* The line of sequences of unlike lengths; units_of(b): the units of a sequence. Each thread sums those of an equal
 * number of neighbouring sequences. The thread whose sequences hold the worker's first unit finds the sequence. All
 * threads of the block call it. */
template <typename Workers, typename UnitsOf>
__device__ __forceinline__ WorkLine<Workers> work_line_of_ragged(uint32_t B, Workers workers, Divider by_workers,
                                                                 uint32_t *words, UnitsOf units_of) {
  const uint32_t warps = blockDim.x / kWarp, share = ceil_div(B, blockDim.x);
  const uint32_t from = min(threadIdx.x * share, B), to = min(from + share, B);
  uint32_t *const found = words + warps;
  uint32_t mine = 0, total = 0;
  for (uint32_t b = from; b < to; ++b) mine += units_of(b);
  if (threadIdx.x == 0) found[0] = B, found[1] = 0;
  uint32_t base = sum_until(mine, words) - mine; /* also orders `found` before the store of the one who finds */
  for (uint32_t w = 0; w < warps; ++w) total += words[w];
  WorkLine<Workers> line(total, workers, by_workers);
  if (line.first >= base && line.first < base + mine) {
    uint32_t b = from, units = units_of(b);
    while (line.first - base >= units) base += units, units = units_of(++b);
    found[0] = b, found[1] = base;
  }
  __syncthreads(); /* orders `found` before the reads */
  line.b = found[0], line.base = found[1];
  return line;
}

/* The line of any batch. by_units: division by the units of a sequence, where all have one length. */
template <typename Workers, typename UnitsOf>
__device__ __forceinline__ WorkLine<Workers> work_line_of(uint32_t B, bool is_ragged, Workers workers,
                                                          Divider by_workers, Divider by_units, uint32_t *words,
                                                          UnitsOf units_of) {
  if (is_ragged) return work_line_of_ragged(B, workers, by_workers, words, units_of);
  const uint32_t units = units_of(0);
  WorkLine<Workers> line(units * B, workers, by_workers);
  line.b = by_units.quotient(line.first), line.base = line.b * units;
  return line;
}

#endif

}  // namespace attn

#endif
