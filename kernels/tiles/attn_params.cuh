/* What the CUDA variants share on the host: the kernel argument, limits of a grid, and helpers to fill a plan. Plain
 * C++ that compiles without CUDA, so that plans and their tests need no GPU and no nvcc. */
#ifndef ATTNBENCH_KERNELS_TILES_ATTN_PARAMS_CUH
#define ATTNBENCH_KERNELS_TILES_ATTN_PARAMS_CUH

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/input.h" /* ATTN_HD */
#include "kernels/variant.h"

namespace attn {

/* The argument of an attention kernel, passed by value. */
struct Params {
  const void *q; /* [B][Hq][Sq][D] */
  const void *k; /* [B][Hkv][Skv][D] */
  const void *v; /* [B][Hkv][Skv][D] */
  void *o;       /* [B][Hq][Sq][D] */
  uint32_t B, Hq, Hkv, Sq, Skv, D;
  uint32_t causal;
  float scale_log2; /* log2(e) / sqrt(D): a scaled score is a power of two, so exp costs one exp2 */
  float *lse;       /* [B][Hq][Sq]; NULL: not asked for */
};

inline Params params_of(const attn_problem &shape, const attn_buffers &buffers) {
  Params p = {};
  p.q = buffers.q, p.k = buffers.k, p.v = buffers.v, p.o = buffers.o;
  p.B = shape.B, p.Hq = shape.Hq, p.Hkv = shape.Hkv;
  p.Sq = shape.Sq, p.Skv = shape.Skv, p.D = shape.D;
  p.causal = attn_is_causal(&shape);
  p.scale_log2 = (float)(M_LOG2E / sqrt((double)shape.D));
  p.lse = buffers.lse;
  return p;
}

/* Where the elements of the tensors lie, for kernels that take other layouts than dense [B][H][S][D]: batch, head and
 * token strides in elements (attn_view_token), as a tensor map wants them too. */
struct Views {
  attn_view q, k, v, o, lse;
  const int32_t *cu_seqlens_q, *cu_seqlens_k; /* [B + 1]: first tokens of a ragged batch's sequences; else NULL */
  const int32_t *page_table;                  /* [B][entries]: pages of K and V; NULL: they are contiguous */
  uint32_t entries;
};

inline Views views_of(const attn_problem &shape, const attn_buffers &buffers) {
  return {attn_view_of(&shape, ATTN_Q),
          attn_view_of(&shape, ATTN_K),
          attn_view_of(&shape, ATTN_V),
          attn_view_of(&shape, ATTN_O),
          attn_view_of(&shape, ATTN_LSE),
          buffers.cu_seqlens_q,
          buffers.cu_seqlens_k,
          buffers.page_table,
          attn_pages_for(shape.Skv, shape.page)};
}

/* One sequence as a kernel sees it: token t of its queries is token q_first + t of the views' batch `batch`, and so
 * are its keys, or they lie in pages (attn_view_key). */
struct Sequence {
  uint32_t batch, Sq, Skv, q_first, k_first;
  const int32_t *pages; /* the sequence's row of the page table; NULL: K and V are contiguous */
};

template <typename P>
inline void put_args(attn_pass_args &args, const P &params) {
  static_assert(sizeof(P) <= ATTN_PASS_ARGS_MAX, "a kernel argument must fit the runner's buffer");
  memcpy(args.bytes, &params, sizeof params);
}

constexpr ATTN_HD uint32_t ceil_div(uint32_t n, uint32_t d) { return n / d + (n % d != 0); }

/* Of so many counters at the beginning of a workspace: what lies behind them stays aligned. */
constexpr ATTN_HD uint32_t counter_bytes(uint32_t counters) { return ceil_div(counters, 64) * 256; }

/* Keys that query row `row` sees of a full or a causal mask: keys [0, n). */
constexpr ATTN_HD uint32_t keys_under_mask(bool causal, uint32_t Sq, uint32_t Skv, uint32_t row) {
  if (!causal) return Skv;
  const int64_t keys = (int64_t)row + 1 + (int64_t)Skv - (int64_t)Sq;
  return keys <= 0 ? 0 : keys >= (int64_t)Skv ? Skv : (uint32_t)keys;
}

constexpr uint32_t kGridYzMax = 65535; /* CUDA's limit on grid.y and grid.z; grid.x may be 2^31 - 1 */

/* The checks every CUDA variant starts with; NULL when they hold. */
inline const char *check_device(const struct device_info &device, uint32_t smem_bytes) {
  if (device.kind != DEVICE_CUDA) return "the device must be a CUDA GPU";
  if (device.cc_major < 8) return "the compute capability must be at least 8.0";
  if (smem_bytes > device.smem_per_block_bytes)
    return "the shared memory of one block (smem_per_block_bytes) is too small for the tiles of this D";
  return nullptr;
}

/* What the variants on wgmma ask before they look at a shape; NULL when it holds. */
inline const char *check_hopper(const struct device_info &device) {
  if (device.kind != DEVICE_CUDA) return "the device must be a CUDA GPU";
  if (device.cc_major != 9 || device.cc_minor != 0)
    return "the compute capability must be 9.0: wgmma exists on Hopper alone";
  return nullptr;
}

/* For grids with q tiles (or something smaller) on x, Hq on y and B on z. */
inline const char *check_grid_hb(const attn_problem &shape) {
  if (shape.Hq > kGridYzMax) return "Hq must be at most 65535, the limit of grid.y";
  if (shape.B > kGridYzMax) return "B must be at most 65535, the limit of grid.z";
  return nullptr;
}

/* Fields are set one by one: the plan arrives zeroed, and plans are compared byte for byte, padding included. */
inline void set_grid(attn_pass &pass, uint32_t x, unsigned covers_x, uint32_t y, unsigned covers_y, uint32_t z,
                     unsigned covers_z) {
  pass.grid[0] = x, pass.grid[1] = y, pass.grid[2] = z;
  pass.covers[0] = covers_x, pass.covers[1] = covers_y, pass.covers[2] = covers_z;
}

inline void set_block(attn_pass &pass, uint32_t threads, uint32_t row_threads, uint32_t smem_bytes,
                      uint32_t producer_threads = 0) {
  pass.block[0] = threads, pass.block[1] = 1, pass.block[2] = 1;
  pass.producer_threads = producer_threads;
  pass.row_threads = row_threads;
  pass.dynamic_smem_bytes = smem_bytes;
}

/* A kernel's host handle. Kernels have external linkage: the build names them by address. */
template <typename Kernel>
inline const void *handle(Kernel *kernel) {
  return reinterpret_cast<const void *>(kernel);
}

}  // namespace attn

#endif
