/* tma_wgmma: the smallest whole attention kernel of Hopper's own instructions, for `attnbench --load`: tensor maps
 * made in bind(), tiles fetched by the copy engine, both products by wgmma. A template to start from, not a fast
 * kernel: `wgmma` shows what is left to do.
 *
 * Idea: a block of one warpgroup owns 64 query rows of a head and walks over tiles of 64 keys. Two slots of K and V:
 * the copy engine fills one while the other is multiplied. Scores, weights and output never leave the registers: a
 *   warpgroup's accumulator, packed in pairs, is the A operand of its next product.
 * Can win: against mma.sync kernels that were not tuned. Cannot: against kernels whose softmax runs under a product,
 * as nothing here overlaps but the fetching. Budget: registers, scores 32 + output 32 fp32, weights 16; shared memory
 * Q 8 KB + 2 slots of 16 KB = 40 KB. */
#include <math.h>
#include <string.h>

#include "kernels/plugin.h"
#include "kernels/tiles/tensor_map.cuh"

#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

namespace tma_wgmma {

constexpr uint32_t kD = 64, kRows = 64, kKeys = 64, kSlots = 2, kThreads = 128;
constexpr uint32_t kTileBytes = 64 * kD * 2; /* of Q, K or V: 64 rows of 128 bytes, the width of the swizzle */
constexpr uint32_t kAlignment = 1024;        /* of a tile with the 128-byte swizzle */
constexpr uint32_t kSmemBytes = (1 + 2 * kSlots) * kTileBytes + kAlignment;

#ifdef __CUDACC__

/* The kernel's argument; tensor maps come first, for they are 64-byte aligned. */
struct Params {
  CUtensorMap q, k, v;
  __half *o;
  attn_problem shape;
  float scale_log2;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* ---- barriers and copies -------------------------------------------------------------------------------------- */

__device__ __forceinline__ uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void barrier_init(uint32_t barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
/* The phase ends when this arrival has come and so many bytes. */
__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
  uint32_t ended = 0;
  while (ended == 0) {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(ended)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  }
}
/* 64 rows from `row` on, of one head. Rows behind the tensor's last read as zeros. */
__device__ __forceinline__ void fetch(uint32_t to, const CUtensorMap *map, uint32_t barrier, uint32_t row,
                                      uint32_t head) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(to),
      "l"(map), "r"(0), "r"(row), "r"(head), "r"(barrier)
      : "memory");
}

/* ---- products ------------------------------------------------------------------------------------------------- */

/* Thread t holds, of 64 x 64 results, row 16 (t / 32) + t % 32 / 4 + 8 i and column 8 j + 2 (t % 4) + c in register
 * 4 j + 2 i + c. */
struct Tile {
  float r[32];
};

/* A tile in shared memory, 128-byte swizzle, 8 rows 1024 bytes apart; + n moves it by 16 n bytes. */
__device__ __forceinline__ uint64_t operand(uint32_t address) {
  return 1ull << 62 | (uint64_t)(1024 >> 4) << 32 | 1ull << 16 | (address & 0x3ffff) >> 4;
}

#define REGISTERS                                                                                              \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, " \
  "%23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define FOUR(t, i) "+f"(t.r[i]), "+f"(t.r[i + 1]), "+f"(t.r[i + 2]), "+f"(t.r[i + 3])
#define ACCUMULATOR(t) \
  FOUR(t, 0), FOUR(t, 4), FOUR(t, 8), FOUR(t, 12), FOUR(t, 16), FOUR(t, 20), FOUR(t, 24), FOUR(t, 28)

/* s = or += Q K^T over 16 columns of both. */
__device__ __forceinline__ void multiply_qk(Tile &s, uint64_t q, uint64_t k, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " REGISTERS
      ", %32, %33, p, 1, 1, 0, 0;\n}"
      : ACCUMULATOR(s)
      : "l"(q), "l"(k), "r"(add));
}
/* o += P V over 16 keys: P in registers, V's rows are the summed dimension. */
__device__ __forceinline__ void multiply_pv(Tile &o, const uint32_t *p, uint64_t v) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " REGISTERS
               ", {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
               : ACCUMULATOR(o)
               : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "l"(v));
}
__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void products_end() {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/* ---- softmax -------------------------------------------------------------------------------------------------- */

/* Of the two rows that a thread has a part in; four neighbouring lanes share a row. */
struct Softmax {
  float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f};
};

__device__ __forceinline__ float max_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ __forceinline__ float sum_of_row(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/* Scores become weights; output and sums are brought to the new maximum. keys[i]: how many the row attends of this
 * tile on. */
__device__ __forceinline__ void weigh(Tile &s, Tile &o, Softmax &m, const int (&keys)[2], float scale_log2) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float top = m.top[i];
#pragma unroll
    for (int n = 0; n < 16; ++n) {
      const int column = n / 2 * 8 + 2 * (threadIdx.x % 4) + n % 2, at = n / 2 * 4 + 2 * i + n % 2;
      s.r[at] = column < keys[i] ? s.r[at] * scale_log2 : -INFINITY;
      top = fmaxf(top, s.r[at]);
    }
    top = max_of_row(top);
    const float base = top == -INFINITY ? 0.0f : top, keep = exp2f(m.top[i] - base); /* no key yet: keep is 0 */
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < 16; ++n) {
      const int at = n / 2 * 4 + 2 * i + n % 2;
      s.r[at] = exp2f(s.r[at] - base);
      sum += s.r[at];
      o.r[at] *= keep;
    }
    m.top[i] = top;
    m.sum[i] = m.sum[i] * keep + sum;
  }
}

/* ---- the kernel ----------------------------------------------------------------------------------------------- */

struct Shared {
  uint32_t q, slot[kSlots]; /* addresses; a slot is a tile of K, then one of V */
};

__device__ __forceinline__ void fetch_slot(const Params &p, uint32_t slot, uint32_t barrier, uint32_t tile,
                                           uint32_t kv_head) {
  barrier_expect(barrier, 2 * kTileBytes);
  fetch(slot, &p.k, barrier, tile * kKeys, kv_head);
  fetch(slot + kTileBytes, &p.v, barrier, tile * kKeys, kv_head);
}

/* One tile of keys: scores, weights, output. */
__device__ __forceinline__ void attend(uint32_t q, uint32_t slot, Tile &o, Softmax &m, const int (&keys)[2],
                                       float scale_log2) {
  Tile s;
  products_begin();
#pragma unroll
  for (uint32_t k = 0; k < kD / 16; ++k) multiply_qk(s, operand(q) + 2 * k, operand(slot) + 2 * k, k > 0);
  products_end();
  weigh(s, o, m, keys, scale_log2);
  uint32_t weights[16];
#pragma unroll
  for (int n = 0; n < 16; ++n) {
    const __half2 pair = __floats2half2_rn(s.r[2 * n], s.r[2 * n + 1]);
    memcpy(&weights[n], &pair, sizeof pair);
  }
  products_begin();
#pragma unroll
  for (uint32_t k = 0; k < kKeys / 16; ++k) multiply_pv(o, weights + 4 * k, operand(slot + kTileBytes) + 128 * k);
  products_end();
}

__device__ __forceinline__ void store(const Params &p, const Tile &o, const Softmax &m, uint32_t row, uint32_t head) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float sum = sum_of_row(m.sum[i]), inverse = sum > 0.0f ? 1.0f / sum : 0.0f; /* no key: zeros */
    if (row + 8 * i >= p.shape.Sq) continue;
    __half *out = p.o + ((size_t)head * p.shape.Sq + row + 8 * i) * kD + 2 * (threadIdx.x % 4);
#pragma unroll
    for (int j = 0; j < 8; ++j)
      *reinterpret_cast<__half2 *>(out + 8 * j) =
          __floats2half2_rn(o.r[4 * j + 2 * i] * inverse, o.r[4 * j + 2 * i + 1] * inverse);
  }
}

#endif

/* Grid: x walks tiles of query rows, y heads and batch. */
__global__ void __launch_bounds__(kThreads) tma_wgmma_kernel(const __grid_constant__ Params p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char raw[];
  __shared__ alignas(8) uint64_t full[kSlots + 1]; /* of each slot, then of Q */
  const attn_problem &s = p.shape;
  const uint32_t head = blockIdx.y, kv_head = head / s.Hq * s.Hkv + head % s.Hq / (s.Hq / s.Hkv);
  const uint32_t first_row = blockIdx.x * kRows, last_row = min(first_row + kRows, s.Sq) - 1;
  const uint32_t tiles = (attn_keys_of_row(&s, last_row).end + kKeys - 1) / kKeys;
  const uint32_t q = (shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment, slots = q + kTileBytes;
  const auto barrier = [&](uint32_t i) { return shared_address(&full[i]); };
  const uint32_t q_full = barrier(kSlots);

  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i <= kSlots; ++i) barrier_init(barrier(i));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    barrier_expect(q_full, kTileBytes);
    fetch(q, &p.q, q_full, first_row, head);
    for (uint32_t i = 0; i < kSlots && i < tiles; ++i)
      fetch_slot(p, slots + i * 2 * kTileBytes, barrier(i), i, kv_head);
  }
  __syncthreads(); /* the barriers are there for all */
  barrier_wait(q_full, 0);

  Tile o = {};
  Softmax m;
  const uint32_t row = first_row + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4; /* and 8 rows further down */
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    const uint32_t at = tile % kSlots, slot = slots + at * 2 * kTileBytes;
    int keys[2];
    for (uint32_t i = 0; i < 2; ++i) keys[i] = (int)attn_keys_of_row(&s, row + 8 * i).end - (int)(tile * kKeys);
    barrier_wait(barrier(at), tile / kSlots & 1);
    attend(q, slot, o, m, keys, p.scale_log2);
    __syncthreads(); /* all warps have read the slot */
    if (threadIdx.x == 0 && tile + kSlots < tiles) fetch_slot(p, slot, barrier(at), tile + kSlots, kv_head);
  }
  store(p, o, m, row, head);
#endif
}

static struct status bind(const attn_problem *shape, const attn_plan *, const attn_buffers *buffers,
                          attn_pass_args args[ATTN_PASSES_MAX]) {
  Params p = {};
  static_assert(sizeof p <= ATTN_PASS_ARGS_MAX, "a kernel argument must fit the runner's buffer");
  const struct {
    CUtensorMap *map;
    const void *tensor;
    uint32_t heads, rows;
  } maps[] = {{&p.q, buffers->q, shape->Hq, shape->Sq},
              {&p.k, buffers->k, shape->Hkv, shape->Skv},
              {&p.v, buffers->v, shape->Hkv, shape->Skv}};
  for (const auto &m : maps)
    TRY(attn::tensor_map_make(m.map, m.tensor, shape->dtype, (uint64_t)shape->B * m.heads, m.rows, kD, 64));
  p.o = static_cast<__half *>(buffers->o);
  p.shape = *shape;
  p.scale_log2 = (float)(M_LOG2E / sqrt((double)kD));
  memcpy(args[0].bytes, &p, sizeof p);
  return {};
}

static const void *kernel() { return reinterpret_cast<const void *>(&tma_wgmma_kernel); }

#else
static const void *kernel() { return nullptr; }
constexpr decltype(attn_variant::bind) bind = nullptr;
#endif

/* ---- supports, plan ------------------------------------------------------------------------------------------- */

static const char *supports(const attn_problem *shape, const attn_tuning *, const device_info *device) {
  if (device->cc_major != 9 || device->cc_minor != 0) return "the compute capability must be 9.0, for wgmma";
  if ((uint64_t)shape->B * shape->Hq > 65535) return "B * Hq must be at most 65535, the limit of grid.y";
  return nullptr;
}

static void plan(const attn_problem *shape, const attn_tuning *, const device_info *, attn_plan *plan) {
  plan->pass_count = 1;
  plan->tile_q = kRows, plan->tile_kv = kKeys;
  plan->splits = 1, plan->stages = kSlots;
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = kernel();
  pass.grid[0] = (shape->Sq - 1) / kRows + 1, pass.covers[0] = ATTN_COVERS_Q;
  pass.grid[1] = shape->B * shape->Hq, pass.covers[1] = ATTN_COVERS_B | ATTN_COVERS_H;
  pass.grid[2] = 1;
  pass.block[0] = kThreads, pass.block[1] = pass.block[2] = 1;
  pass.row_threads = kThreads;
  pass.dynamic_smem_bytes = kSmemBytes;
}

static const attn_variant variant = {
    .name = "example_tma_wgmma",
    .summary = "example of a Hopper kernel: tensor maps, copy engine, wgmma; one warpgroup",
    .limits = "compute capability 9.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_WGMMA,
    .dtypes = ATTN_DTYPE_BIT(ATTN_F16),
    .dims = {.one_of = {kD}, .why = "rows of 128 bytes, the width of the swizzle"},
    .tunables = nullptr,
    .supports = supports,
    .plan = plan,
    .bind = bind,
    .run = nullptr,
    .vendor = nullptr,
    .picks = nullptr,
};

static const attn_variant *const variants[] = {&variant};

}  // namespace tma_wgmma

ATTN_PLUGIN(tma_wgmma::variants, ATTN_PLUGIN_LAUNCH_HANDLE);
