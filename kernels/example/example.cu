/* example: a kernel of your own for `attnbench --load`, complete in one file. Copy the folder and change it.
 *
 * Two variants, so that the object is of use with and without a GPU:
 *   example_warp   CUDA: one warp per query row
 *   example_cpu    CPU: the same formula, one row after the other
 *
 * Idea: the 32 lanes of a warp share a row of Q and of the output, lane i holding elements i, i + 32, ...; for every
 *   key they multiply, add up over the warp by shuffles, and fold the key into an online softmax.
 *
 * Source: the online softmax of Milakov and Gimelshein (arXiv 1805.02867), one key at a time.
 *
 * Can win: at one or two query rows per head, where tiles of 64 rows would be mostly empty. Rows are read whole by
 *   neighbouring lanes, so every load is coalesced.
 *
 * Cannot: at more rows: every warp reads all of K and V by itself, Sq times as much as needed, and five dependent
 *   shuffles per key bound it long before the memory does. No tensor cores.
 *
 * Budget: registers, 8 fp32 values each of Q, of a key and of the output per lane (D <= 256), 64 at most in all, so
 * that four full blocks fit an SM; 18 of each up to D = 576, which latent attention has, and two full blocks. No
 * shared memory. A block of `warps` warps has no other limit than 64 warps per SM. */
#include <math.h>
#include <string.h>

#include "kernels/input.h" /* f16 and bf16 on the host */
#include "kernels/plugin.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace example {

/* Sequence b: token t of its queries is token q_first + t of the views' batch `batch`. A ragged batch has its
 * sequences behind one another in one batch, and says in two more inputs where each begins. Where K and V lie in
 * pages, the sequence has a row of the page table. */
struct Sequence {
  uint32_t batch, Sq, Skv, q_first, k_first;
  const int32_t *pages; /* nullptr: K and V are contiguous */
};

/* What says where sequences are; nullptr where the case has no such input. */
struct Tables {
  const int32_t *cu_seqlens_q, *cu_seqlens_k; /* [B + 1] */
  const int32_t *page_table;                  /* [B][pages of the longest sequence] */
};

static ATTN_HD inline Sequence sequence_of(const attn_problem &s, const Tables &in, uint32_t b) {
  Sequence own = {b, s.Sq, s.Skv, 0, 0, nullptr};
  if (in.cu_seqlens_q != nullptr) {
    own.batch = 0;
    own.q_first = (uint32_t)in.cu_seqlens_q[b], own.k_first = (uint32_t)in.cu_seqlens_k[b];
    own.Sq = (uint32_t)in.cu_seqlens_q[b + 1] - own.q_first;
    own.Skv = (uint32_t)in.cu_seqlens_k[b + 1] - own.k_first;
  }
  if (in.page_table != nullptr) {
    own.k_first = 0; /* pages hold the tokens of one sequence */
    own.pages = in.page_table + (size_t)b * attn_pages_for(s.Skv, s.page);
  }
  return own;
}

/* The first element of key or value `key` of the sequence. */
static ATTN_HD inline size_t key_at(const attn_view &view, const Sequence &own, uint32_t kv_h, uint32_t key) {
  return attn_view_key(&view, own.pages, own.batch, kv_h, own.k_first + key);
}

/* The keys that the mask leaves a row of the sequence. Of a block-sparse case the row sees those of them that lie in
 * one of the blocks of its list (kernels/problem/blocks.h); any other case has one block of all keys. */
static ATTN_HD inline attn_keys keys_of(const attn_problem &s, const Sequence &sequence, uint32_t row) {
  const attn_mask mask = {sequence.Sq, sequence.Skv, s.left, s.right};
  return attn_mask_row(&mask, row);
}

/* ---- the CUDA variant: kernel, bind --------------------------------------------------------------------------- */

constexpr uint32_t kWarp = 32, kShort = 8, kLong = 18; /* elements of a row that a lane holds */
constexpr uint32_t kMaxD = kWarp * kLong, kMaxWarps = 8;

/* The kernel's argument, passed by value. Whatever you need, up to ATTN_PASS_ARGS_MAX bytes. */
struct Params {
  const void *q, *k, *v;
  void *o;
  const float *sink; /* [Hq]; nullptr: the case has none */
  Tables tables;
  attn_lists lists; /* of blocks of keys, in two inputs */
  float *lse;       /* nullptr: the case does not ask for it */
  attn_problem shape;
  attn_view q_view, k_view, v_view, o_view, lse_view; /* where rows lie, in the layout that the case has */
  float scale_log2;                                   /* log2(e) / sqrt(D), so that the softmax costs exp2 */
  float cap_log2;                                     /* softcap * log2(e); 0: scores have no cap */
};

#ifdef __CUDACC__

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(__half x) { return __half2float(x); }
__device__ __forceinline__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ void put(float *p, float x) { *p = x; }
__device__ __forceinline__ void put(__half *p, float x) { *p = __float2half_rn(x); }
__device__ __forceinline__ void put(__nv_bfloat16 *p, float x) { *p = __float2bfloat16_rn(x); }

__device__ __forceinline__ float sum_over_warp(float x) {
#pragma unroll
  for (unsigned lanes = kWarp / 2; lanes > 0; lanes /= 2) x += __shfl_xor_sync(0xffffffffu, x, lanes);
  return x;
}

/* This lane's elements of one row; elements behind the end are 0. */
template <uint32_t kLaneElements, typename T>
__device__ __forceinline__ void load_row(float (&out)[kLaneElements], const T *row, uint32_t columns) {
#pragma unroll
  for (uint32_t i = 0; i < kLaneElements; ++i) {
    const uint32_t d = threadIdx.x + kWarp * i;
    out[i] = d < columns ? to_float(row[d]) : 0.0f;
  }
}

/* Grid: x walks blocks of blockDim.y query rows, y heads, z batch. threadIdx.x is the lane, threadIdx.y the warp. */
template <typename T, uint32_t kLaneElements>
__global__ void __launch_bounds__(kWarp *kMaxWarps, kLaneElements == kShort ? 4 : 2)
    warp_kernel(const __grid_constant__ Params p) {
  const attn_problem &s = p.shape;
  const uint32_t row = blockIdx.x * blockDim.y + threadIdx.y;
  const Sequence own = sequence_of(s, p.tables, blockIdx.z);
  if (row >= own.Sq) return; /* whole warps leave, so the shuffles below have all their lanes */
  const uint32_t h = blockIdx.y, kv_h = h / (s.Hq / s.Hkv);
  const T *q_row = static_cast<const T *>(p.q) + attn_view_token(&p.q_view, own.batch, h, own.q_first + row);
  const T *k = static_cast<const T *>(p.k), *v = static_cast<const T *>(p.v);

  float q[kLaneElements], x[kLaneElements], o[kLaneElements] = {};
  float top = -INFINITY, sum = 0.0f; /* largest score so far; sum of exp2(score - top) */
  if (p.sink != nullptr) top = (float)M_LOG2E * p.sink[h], sum = 1.0f; /* a term of the sum alone */
  load_row(q, q_row, s.D);
  const attn_keys keys = keys_of(s, own, row);
  const attn_blocks blocks = attn_blocks_of(&p.lists, blockIdx.z, h, row);
  for (uint32_t block = 0; block < blocks.count; ++block) {
    const attn_keys listed = attn_blocks_keys(&blocks, block, keys);
    for (uint32_t key = listed.first; key < listed.end; ++key) {
      float dot = 0.0f;
      load_row(x, k + key_at(p.k_view, own, kv_h, key), s.D);
#pragma unroll
      for (uint32_t i = 0; i < kLaneElements; ++i) dot += q[i] * x[i];
      float score = sum_over_warp(dot) * p.scale_log2;
      if (p.cap_log2 > 0.0f) score = p.cap_log2 * tanhf(score / p.cap_log2);
      const float new_top = fmaxf(top, score);
      const float keep = exp2f(top - new_top), weight = exp2f(score - new_top); /* keep is 0 at the first key */
      top = new_top;
      sum = sum * keep + weight;
      load_row(x, v + key_at(p.v_view, own, kv_h, key), s.Dv);
#pragma unroll
      for (uint32_t i = 0; i < kLaneElements; ++i) o[i] = o[i] * keep + weight * x[i];
    }
  }

  T *o_row = static_cast<T *>(p.o) + attn_view_token(&p.o_view, own.batch, h, own.q_first + row);
  const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f; /* a row that sees no key has an output of zeros */
#pragma unroll
  for (uint32_t i = 0; i < kLaneElements; ++i) {
    const uint32_t d = threadIdx.x + kWarp * i;
    if (d < s.Dv) put(o_row + d, o[i] * inverse);
  }
  /* The second output, where the case asks for it: a natural logarithm; of a row without keys -inf, as here. */
  if (p.lse != nullptr && threadIdx.x == 0)
    p.lse[attn_view_token(&p.lse_view, own.batch, h, own.q_first + row)] = (float)M_LN2 * (top + log2f(sum));
}

template <uint32_t kLaneElements>
static const void *kernel_of_length(attn_dtype dtype) {
  switch (dtype) {
    case ATTN_F16: return reinterpret_cast<const void *>(&warp_kernel<__half, kLaneElements>);
    case ATTN_BF16: return reinterpret_cast<const void *>(&warp_kernel<__nv_bfloat16, kLaneElements>);
    case ATTN_F32: return reinterpret_cast<const void *>(&warp_kernel<float, kLaneElements>);
    case ATTN_E4M3: break; /* .dtypes below has no such problem come here */
  }
  return nullptr;
}

static const void *kernel_for(const attn_problem *s) {
  return s->D <= kWarp * kShort && s->Dv <= kWarp * kShort ? kernel_of_length<kShort>(s->dtype)
                                                           : kernel_of_length<kLong>(s->dtype);
}

/* Called once before the launches: writes the argument of every pass. */
static struct status warp_bind(const attn_problem *shape, const attn_plan *, const attn_buffers *buffers,
                               attn_pass_args args[ATTN_PASSES_MAX]) {
  Params p = {};
  p.q = buffers->q, p.k = buffers->k, p.v = buffers->v, p.o = buffers->o, p.lse = buffers->lse,
  p.sink = buffers->sink;
  p.shape = *shape;
  p.q_view = attn_view_of(shape, ATTN_Q), p.k_view = attn_view_of(shape, ATTN_K);
  p.v_view = attn_view_of(shape, ATTN_V), p.o_view = attn_view_of(shape, ATTN_O);
  p.lse_view = attn_view_of(shape, ATTN_LSE);
  p.tables = {buffers->cu_seqlens_q, buffers->cu_seqlens_k, buffers->page_table};
  p.lists = attn_lists_of(shape, buffers->block_counts, buffers->block_indices);
  p.scale_log2 = (float)(M_LOG2E / sqrt((double)shape->D));
  p.cap_log2 = (float)M_LOG2E * shape->softcap;
  static_assert(sizeof p <= ATTN_PASS_ARGS_MAX, "a kernel argument must fit the runner's buffer");
  memcpy(args[0].bytes, &p, sizeof p);
  return {};
}

#else /* without nvcc the plan still works: `attnbench plan --gpu h200 --load example.so` */
static const void *kernel_for(const attn_problem *) { return nullptr; }
constexpr decltype(attn_variant::bind) warp_bind = nullptr;
#endif

/* ---- the CUDA variant: supports, plan -------------------------------------------------------------------------- */

static const attn_tunable warp_tunables[] = {
    {.name = "warps", .min = 1, .max = kMaxWarps, .default_value = 4, .help = "warps of a block, one query row each"},
    {.name = nullptr},
};

/* nullptr: takes the problem. Else a sentence with the field and its limit, which the report shows. Types, D and axes
 * such as lse are declared in the descriptor below. */
static const char *warp_supports(const attn_problem *shape, const attn_tuning *, const device_info *device) {
  if (device->cc_major < 8) return "the compute capability must be at least 8.0";
  if (shape->Hq > 65535 || shape->B > 65535) return "Hq and B must be at most 65535, the limit of grid.y and grid.z";
  return nullptr;
}

/* What will be launched, and nothing else will. Pure: called without a GPU too. */
static void warp_plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *, attn_plan *plan) {
  const uint32_t warps = (uint32_t)tuning->value[0];
  plan->pass_count = 1;
  plan->tile_q = warps, plan->tile_kv = 1; /* rows of Q and of K/V per block and step */
  plan->splits = 1, plan->stages = 1;
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = kernel_for(shape);
  pass.grid[0] = (shape->Sq - 1) / warps + 1, pass.covers[0] = ATTN_COVERS_Q;
  pass.grid[1] = shape->Hq, pass.covers[1] = ATTN_COVERS_H;
  pass.grid[2] = shape->B, pass.covers[2] = ATTN_COVERS_B;
  pass.block[0] = kWarp, pass.block[1] = warps, pass.block[2] = 1;
  pass.row_threads = kWarp * warps; /* every thread works on a row */
}

/* ---- the CPU variant ------------------------------------------------------------------------------------------- */

static float host_load(const void *data, attn_dtype dtype, size_t index) {
  return attn_dtype_value(dtype, attn_dtype_load(dtype, data, index));
}

static void host_store(void *data, attn_dtype dtype, size_t index, float x) {
  attn_dtype_store(dtype, data, index, attn_dtype_bits(dtype, x));
}

static const char *cpu_supports(const attn_problem *, const attn_tuning *, const device_info *) { return nullptr; }

/* The runner owns all memory: what run() needs besides the tensors is asked for here. */
static void cpu_plan(const attn_problem *shape, const attn_tuning *, const device_info *, attn_plan *plan) {
  plan->workspace_bytes = sizeof(float) * shape->Skv;
  plan->tile_q = 1, plan->tile_kv = shape->Skv;
  plan->splits = 1, plan->stages = 1;
}

/* Turns the scores of these keys into weights that add up to 1, with that of the sink where there is one; returns
 * their log-sum-exp, -inf of none. Keys that the row does not see have a score of -inf. */
static float softmax(float *scores, attn_keys keys, const float *sink) {
  float top = sink != nullptr ? *sink : -INFINITY;
  double sum = 0.0; /* in fp32 many equal terms beside a large one would be rounded the same way */
  for (uint32_t key = keys.first; key < keys.end; ++key) top = fmaxf(top, scores[key]);
  if (sink != nullptr) sum = expf(*sink - top);
  for (uint32_t key = keys.first; key < keys.end && top == -INFINITY; ++key) scores[key] = 0.0f;
  if (top == -INFINITY) return top;
  for (uint32_t key = keys.first; key < keys.end; ++key) sum += scores[key] = expf(scores[key] - top);
  for (uint32_t key = keys.first; key < keys.end; ++key) scores[key] = (float)(scores[key] / sum);
  return top + (float)log(sum);
}

/* The first element of a row of Q or O. */
static size_t host_row(const attn_problem *s, attn_role role, uint32_t b, uint32_t h, uint32_t token) {
  const attn_view view = attn_view_of(s, role);
  return attn_view_token(&view, b, h, token);
}

/* Row `row` of the queries of sequence b. */
static void cpu_row(const attn_problem *s, const attn_buffers *buffers, uint32_t sequence, uint32_t h, uint32_t row) {
  const Tables tables = {buffers->cu_seqlens_q, buffers->cu_seqlens_k, buffers->page_table};
  const Sequence own = sequence_of(*s, tables, sequence);
  const uint32_t kv_h = h / (s->Hq / s->Hkv);
  const uint32_t b = own.batch, token = own.q_first + row;
  const size_t q = host_row(s, ATTN_Q, b, h, token), o_row = host_row(s, ATTN_O, b, h, token);
  const attn_view k_view = attn_view_of(s, ATTN_K), v_view = attn_view_of(s, ATTN_V);
  const attn_lists lists = attn_lists_of(s, buffers->block_counts, buffers->block_indices);
  const attn_blocks blocks = attn_blocks_of(&lists, sequence, h, row);
  const attn_keys keys = keys_of(*s, own, row);
  float *scores = static_cast<float *>(buffers->workspace);
  const float scale = 1.0f / sqrtf((float)s->D);
  for (uint32_t key = keys.first; key < keys.end; ++key) scores[key] = -INFINITY;
  for (uint32_t i = 0; i < blocks.count; ++i) {
    const attn_keys listed = attn_blocks_keys(&blocks, i, keys);
    for (uint32_t key = listed.first; key < listed.end; ++key) {
      const size_t k = key_at(k_view, own, kv_h, key);
      float dot = 0.0f;
      for (uint32_t d = 0; d < s->D; ++d) {
        dot += host_load(buffers->q, s->dtype, q + d) * host_load(buffers->k, s->dtype, k + d);
      }
      scores[key] = s->softcap > 0 ? s->softcap * tanhf(dot * scale / s->softcap) : dot * scale;
    }
  }
  const float *sink = buffers->sink != nullptr ? buffers->sink + h : nullptr;
  const float lse = softmax(scores, keys, sink);
  if (buffers->lse != nullptr) buffers->lse[host_row(s, ATTN_LSE, b, h, token)] = lse;
  for (uint32_t d = 0; d < s->Dv; ++d) {
    float o = 0.0f;
    for (uint32_t key = keys.first; key < keys.end; ++key) {
      o += scores[key] * host_load(buffers->v, s->dtype, key_at(v_view, own, kv_h, key) + d);
    }
    host_store(buffers->o, s->dtype, o_row + d, o);
  }
}

/* The last argument is the number of threads that may be used; this one is content with its own. */
static void cpu_run(const attn_problem *s, const attn_plan *, const attn_buffers *buffers, unsigned) {
  const Tables tables = {buffers->cu_seqlens_q, buffers->cu_seqlens_k, buffers->page_table};
  for (uint32_t b = 0; b < s->B; ++b) {
    const Sequence own = sequence_of(*s, tables, b);
    for (uint32_t h = 0; h < s->Hq; ++h)
      for (uint32_t row = 0; row < own.Sq; ++row) cpu_row(s, buffers, b, h, row);
  }
}

/* What both compute beside sizes, types and a full or causal mask. A case with something else is skipped. */
constexpr unsigned kTakes = ATTN_TAKES_LSE | ATTN_TAKES_WINDOW | ATTN_TAKES_DV | ATTN_TAKES_SOFTCAP |
                            ATTN_TAKES_SINK | ATTN_TAKES_LAYOUT | ATTN_TAKES_BATCH | ATTN_TAKES_PAGE |
                            ATTN_TAKES_V_IN_K | ATTN_TAKES_SPARSE;

/* ---- what attnbench reads -------------------------------------------------------------------------------------- */

static const attn_variant warp_variant = {
    .name = "example_warp", /* yours; must not be the name of another variant */
    .summary = "example of a loaded CUDA variant: one warp per query row",
    .limits = "compute capability >= 8.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_FP32, /* the roof that the report compares with */
    .takes = kTakes,
    .dtypes = ATTN_DTYPES_FLOAT,
    .dims = {.most = kMaxD, .why = "32 lanes hold 18 elements of a row each"},
    .tunables = warp_tunables,
    .supports = warp_supports,
    .plan = warp_plan,
    .bind = warp_bind,
    .run = nullptr,
};

static const attn_variant cpu_variant = {
    .name = "example_cpu",
    .summary = "example of a loaded CPU variant: straight loops, one thread",
    .limits = "CPU",
    .runs_on = DEVICE_CPU,
    .math = ATTN_MATH_FP32_HOST,
    .takes = kTakes,
    .dtypes = ATTN_DTYPES_FLOAT,
    .dims = {.most = 1024, .why = "nobody waits for a scalar loop over more"},
    .tunables = nullptr,
    .supports = cpu_supports,
    .plan = cpu_plan,
    .bind = nullptr,
    .run = cpu_run,
};

static const attn_variant *const variants[] = {&warp_variant, &cpu_variant};

}  // namespace example

ATTN_PLUGIN(example::variants, ATTN_PLUGIN_LAUNCH_HANDLE);
