/* Planted defects: kernels that are right, each slow for one reason, so that every finding can be held against a
 * kernel that deserves it and against all that do not. tests/gpu/defects.bats and tests/measure/defects.bats have the
 * table.
 *
 * Geometry is exact on any GPU: grids are persistent, a multiple of the SMs, and shared memory pins an SM to
 * kResident blocks, so that `none` is one full wave at half occupancy or more. Each defect changes one thing:
 *
 *   serial          B and H are loops, the grid walks q tiles
 *   half_empty      half the blocks of a wave
 *   tail_wave       a wave and a quarter
 *   smem            all of a block's shared memory: one block per SM
 *   registers       a query row per thread, its output in registers: one or two blocks of 256 threads per SM
 *   spills          the same, forced into 64 registers
 *   idle_threads    four of eight warps hold rows
 *   rereads         every warp reads K and V for a single query row
 *   bank_conflicts  K and V lie so that a warp's lanes meet in one bank
 *   uncoalesced     neighbouring threads load elements of different rows
 *   imbalanced      a block for each 256 query rows of a head, in the order of the grid: under a causal mask of 1024
 *                   rows, with as many heads as SMs, the same SMs have the long ones all the time
 *   convert         reads K and V as `rereads` does; those of e4m3 it takes apart bit by bit, for each query row
 *   compute_bound   both products at most of fp32's rate, from register tiles: what is left is the pipe itself
 *
 * bank_conflicts and uncoalesced change neither launch nor traffic by tiles: counters alone can see them, and without
 * any no finding may. `none` is launch-bound on a shape with next to no work, and `rereads` is memory-bound when each
 * head has one query. */
#include "kernels/tiles/attn_params.cuh"
#include "kernels/tiles/row_tile.cuh"
#ifdef __CUDACC__
#include "kernels/tiles/ptx.cuh"
#endif

namespace attn {

enum defect {
  DEFECT_NONE,
  DEFECT_SERIAL,
  DEFECT_HALF_EMPTY,
  DEFECT_TAIL_WAVE,
  DEFECT_SMEM,
  DEFECT_REGISTERS,
  DEFECT_SPILLS,
  DEFECT_IDLE_THREADS,
  DEFECT_REREADS,
  DEFECT_BANK_CONFLICTS,
  DEFECT_UNCOALESCED,
  DEFECT_IMBALANCED,
  DEFECT_CONVERT,
  DEFECT_COMPUTE_BOUND,
};

constexpr uint32_t kDefectDim = 64;
constexpr uint32_t kDefectThreads = 256;
constexpr uint32_t kDefectWarps = kDefectThreads / 32;
constexpr uint32_t kResident = 4;    /* blocks per SM: 1024 threads, at least half of what any SM holds */
constexpr uint32_t kRowsPerWarp = 4; /* of the staged kernel */
constexpr uint32_t kDefectKeys = 32; /* per tile */
constexpr uint32_t kStagedRows = kDefectWarps * kRowsPerWarp;
constexpr uint32_t kUnlikeTiles = 8; /* of kStagedRows, in an item of `imbalanced` */
constexpr uint32_t kRowWords = kDefectDim / 2;
constexpr uint32_t kTileWords = kDefectKeys * kRowWords;
constexpr uint32_t kGroupKeys = 8; /* keys in flight of the direct kernel */
constexpr uint32_t kTilesBytes = 2 * kTileWords * 4;
static_assert(kTilesBytes == 8192, "K and V tiles of 32 keys");

/* The compute-bound kernel: 128 rows x 64 keys, of which a thread has 8 x 8: 16 multiplications for each 16-byte read
 * of shared memory. Two blocks fit an SM that has 228 KB. */
constexpr uint32_t kPipeThreads = 128, kPipeRows = 128, kPipeKeys = 64, kPipeBlocks = 2;
constexpr uint32_t kPipeOwn = 8, kPipeRowStep = kPipeRows / kPipeOwn, kPipeKeyStep = kPipeKeys / kPipeOwn;
constexpr uint32_t kPipeStride = kDefectDim + 4; /* of Q, K and V, in floats: neighbouring rows are 4 banks apart */
constexpr uint32_t kPipeWeights = kPipeKeys + 8; /* of P: the four rows that a warp writes are 8 banks apart */
constexpr uint32_t kPipeBytes = ((kPipeRows + 2 * kPipeKeys) * kPipeStride + kPipeRows * kPipeWeights) * 4;
static_assert(kPipeRowStep * kPipeKeyStep == kPipeThreads && kPipeKeys == kDefectDim, "each result has one owner");
static_assert(kPipeBytes == 106496, "tiles of Q, K, V and P in fp32");

struct DefectParams {
  row_tile::RowParams p;
  uint32_t blocks; /* of the grid, all on x */
  uint32_t tile_q;
  enum defect defect;
};

#ifdef __CUDACC__

__device__ __forceinline__ const __half2 *head_words(const void *tensor, size_t element) {
  return reinterpret_cast<const __half2 *>(static_cast<const __half *>(tensor) + element);
}

/* One query row, spread over a warp: two columns per lane. */
struct WarpRow {
  float2 q, acc;
  float max, sum;

  __device__ __forceinline__ void open(const __half2 *row, uint32_t lane, float scale_log2) {
    q = __half22float2(row[lane]);
    q.x *= scale_log2, q.y *= scale_log2;
    acc = make_float2(0.0f, 0.0f);
    max = minus_infinity(), sum = 0.0f;
  }
  __device__ __forceinline__ float score(const float2 &k) const { return warp_sum(fmaf(q.x, k.x, q.y * k.y)); }
  __device__ __forceinline__ void rescale(float next) {
    const float shrink = exp2f(max - next);
    acc.x *= shrink, acc.y *= shrink, sum *= shrink, max = next;
  }
  __device__ __forceinline__ void add(float weight, const float2 &v) {
    sum += weight;
    acc.x = fmaf(weight, v.x, acc.x), acc.y = fmaf(weight, v.y, acc.y);
  }
  __device__ __forceinline__ void store(__half *o, uint32_t lane) const {
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
    o[2 * lane] = __float2half_rn(acc.x * inverse);
    o[2 * lane + 1] = __float2half_rn(acc.y * inverse);
  }
};

/* ---- staged: K and V tiles in shared memory, kRowsPerWarp rows per warp -----------------------------------------
 */

/* Rotating each key's words lets both a row and a column of the tile be walked without a conflict. */
__device__ __forceinline__ uint32_t word_at(enum defect defect, uint32_t key, uint32_t word) {
  return defect == DEFECT_BANK_CONFLICTS ? word * kDefectKeys + key : key * kRowWords + (word + key) % kRowWords;
}

__device__ __forceinline__ void stage(const DefectParams &a, __half2 *tile, const __half2 *rows, uint32_t keys) {
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < kTileWords; i += kDefectThreads) {
    const bool by_column = a.defect == DEFECT_UNCOALESCED;
    const uint32_t key = by_column ? i % kDefectKeys : i / kRowWords,
                   word = by_column ? i / kDefectKeys : i % kRowWords;
    if (key < keys) tile[word_at(a.defect, key, word)] = rows[key * kRowWords + word];
  }
}

/* One q tile of one head. All threads of the block take part. */
__device__ __forceinline__ void staged_tile(const DefectParams &a, __half2 *smem, uint32_t b, uint32_t h,
                                            uint32_t row0) {
  const Params &p = a.p;
  const uint32_t warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const uint32_t rows = rows_in_tile(p.Sq, row0, min(a.tile_q, kStagedRows)), first_row = warp * kRowsPerWarp;
  const size_t q_offset = row_offset(b, p.Hq, h, p.Sq, row0, kDefectDim);
  const size_t kv_offset = row_offset(b, p.Hkv, kv_head(p, h), p.Skv, 0, kDefectDim);
  const __half2 *q = head_words(p.q, q_offset), *k = head_words(p.k, kv_offset), *v = head_words(p.v, kv_offset);
  const uint32_t tile_keys = visible_keys(p, row0 + rows - 1); /* the tile's last row attends most */
  __half2 *k_tile = smem, *v_tile = smem + kTileWords;
  WarpRow state[kRowsPerWarp];
  uint32_t row_keys[kRowsPerWarp];
#pragma unroll
  for (uint32_t r = 0; r < kRowsPerWarp; ++r) {
    const bool has_row = first_row + r < rows;
    state[r].open(q + (has_row ? first_row + r : 0) * kRowWords, lane, p.scale_log2);
    row_keys[r] = has_row ? visible_keys(p, row0 + first_row + r) : 0;
  }
  for (uint32_t first = 0; first < tile_keys; first += kDefectKeys) {
    const uint32_t keys = rows_in_tile(p.Skv, first, kDefectKeys);
    __syncthreads(); /* orders the previous tile's reads before they are overwritten */
    stage(a, k_tile, k + (size_t)first * kRowWords, keys);
    stage(a, v_tile, v + (size_t)first * kRowWords, keys);
    __syncthreads(); /* orders the stores before the reads by all warps */
    if (first_row >= rows) continue;
#pragma unroll 1
    for (uint32_t j = 0; j < keys; ++j) {
      const uint32_t word = word_at(a.defect, j, lane);
      const float2 k_pair = __half22float2(k_tile[word]), v_pair = __half22float2(v_tile[word]);
#pragma unroll
      for (uint32_t r = 0; r < kRowsPerWarp; ++r) {
        const float score = state[r].score(k_pair);
        if (first + j >= row_keys[r]) continue;
        state[r].rescale(fmaxf(state[r].max, score));
        state[r].add(exp2f(score - state[r].max), v_pair);
      }
    }
  }
  __half *o = static_cast<__half *>(p.o) + q_offset;
#pragma unroll
  for (uint32_t r = 0; r < kRowsPerWarp; ++r)
    if (first_row + r < rows) state[r].store(o + (first_row + r) * kDefectDim, lane);
}

__global__ void __launch_bounds__(kDefectThreads, kResident)
    defect_staged_kernel(const __grid_constant__ DefectParams a) {
  extern __shared__ __align__(128) unsigned char smem[];
  __half2 *tiles = reinterpret_cast<__half2 *>(smem);
  const uint32_t q_tiles = ceil_div(a.p.Sq, a.tile_q), heads = a.p.B * a.p.Hq;
  const bool serial = a.defect == DEFECT_SERIAL;
  const uint32_t own_tiles = blockIdx.x < q_tiles ? ceil_div(q_tiles - blockIdx.x, a.blocks) : 0;
  const uint32_t per_head = serial ? own_tiles : q_tiles, step = serial ? 1 : a.blocks;
  for (uint32_t item = serial ? 0 : blockIdx.x; item < heads * per_head; item += step) {
    const uint32_t head = item / per_head, in_head = item % per_head;
    const uint32_t tile = serial ? blockIdx.x + in_head * a.blocks : in_head;
    staged_tile(a, tiles, head / a.p.Hq, head % a.p.Hq, tile * a.tile_q);
  }
}

/* The items of `imbalanced`: the rows of blockIdx.x, in the head of blockIdx.y. */
__global__ void __launch_bounds__(kDefectThreads, kResident)
    defect_imbalanced_kernel(const __grid_constant__ DefectParams a) {
  extern __shared__ __align__(128) unsigned char smem[];
  for (uint32_t tile = 0; tile < kUnlikeTiles; ++tile) {
    const uint32_t row0 = (blockIdx.x * kUnlikeTiles + tile) * kStagedRows;
    if (row0 < a.p.Sq) staged_tile(a, reinterpret_cast<__half2 *>(smem), blockIdx.z, blockIdx.y, row0);
  }
}

/* ---- direct: every warp reads K and V from global memory for one row ---------------------------------------------
 */

/* The two columns of a lane in a row of K or V. */
struct WideRows {
  const __half2 *words;

  __device__ __forceinline__ WideRows(const void *tensor, size_t element, uint32_t lane)
      : words(head_words(tensor, element) + lane) {}
  using Pair = __half2;
  __device__ __forceinline__ Pair load(uint32_t key) const { return words[(size_t)key * kRowWords]; }
  __device__ __forceinline__ static float2 widen(Pair pair) { return __half22float2(pair); }
};

/* The same of e4m3, converted the long way: 4 bits of exponent with a bias of 7, 3 of mantissa. */
struct NarrowRows {
  const uint16_t *words;

  __device__ __forceinline__ NarrowRows(const void *tensor, size_t element, uint32_t lane)
      : words(reinterpret_cast<const uint16_t *>(static_cast<const uint8_t *>(tensor) + element) + lane) {}
  using Pair = uint16_t;
  __device__ __forceinline__ Pair load(uint32_t key) const { return words[(size_t)key * kRowWords]; }
  __device__ __forceinline__ static float widen_one(uint32_t bits) {
    const uint32_t exponent = bits >> 3 & 15, mantissa = bits & 7;
    const float size =
        ldexpf((float)(exponent > 0 ? 8 + mantissa : mantissa), (int)(exponent > 0 ? exponent : 1) - 10);
    return bits & 0x80 ? -size : size;
  }
  __device__ __forceinline__ static float2 widen(Pair pair) {
    return make_float2(widen_one(pair & 0xff), widen_one(pair >> 8));
  }
};

template <typename Rows>
__device__ __forceinline__ void direct_rows(const DefectParams &a) {
  const row_tile::RowParams &p = a.p;
  const row_tile::Scales &scales = p.extras.scales;
  const uint32_t warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const uint64_t rows = (uint64_t)p.B * p.Hq * p.Sq;
  for (uint64_t i = (uint64_t)blockIdx.x * kDefectWarps + warp; i < rows; i += (uint64_t)a.blocks * kDefectWarps) {
    const uint32_t row = (uint32_t)(i % p.Sq), h = (uint32_t)(i / p.Sq % p.Hq), b = (uint32_t)(i / p.Sq / p.Hq);
    const size_t kv_offset = row_offset(b, p.Hkv, kv_head(p, h), p.Skv, 0, kDefectDim);
    const uint32_t scale = b * p.Hkv + kv_head(p, h);
    const float k_scale = scales.k != nullptr ? scales.k[scale] : 1.0f;
    const Rows k(p.k, kv_offset, lane), v(p.v, kv_offset, lane);
    const uint32_t keys = visible_keys(p, row);
    WarpRow state;
    state.open(head_words(p.q, i * kDefectDim), lane, p.scale_log2 * k_scale);
    for (uint32_t first = 0; first < keys; first += kGroupKeys) {
      typename Rows::Pair k_words[kGroupKeys], v_words[kGroupKeys];
      float score[kGroupKeys], next = state.max;
#pragma unroll
      for (uint32_t j = 0; j < kGroupKeys; ++j) {
        const uint32_t key = min(first + j, keys - 1);
        k_words[j] = k.load(key), v_words[j] = v.load(key);
      }
#pragma unroll
      for (uint32_t j = 0; j < kGroupKeys; ++j) {
        score[j] = state.score(Rows::widen(k_words[j]));
        if (first + j >= keys) score[j] = minus_infinity();
        next = fmaxf(next, score[j]);
      }
      state.rescale(next);
#pragma unroll
      for (uint32_t j = 0; j < kGroupKeys; ++j) state.add(exp2f(score[j] - next), Rows::widen(v_words[j]));
    }
    if (scales.v != nullptr) state.acc.x *= scales.v[scale], state.acc.y *= scales.v[scale];
    state.store(static_cast<__half *>(p.o) + i * kDefectDim, lane);
  }
}

__global__ void __launch_bounds__(kDefectThreads, kResident)
    defect_direct_kernel(const __grid_constant__ DefectParams a) {
  direct_rows<WideRows>(a);
}

__global__ void __launch_bounds__(kDefectThreads, kResident)
    defect_convert_kernel(const __grid_constant__ DefectParams a) {
  direct_rows<NarrowRows>(a);
}

/* ---- one row per thread: the output row is 64 registers ----------------------------------------------------------
 */

__device__ __forceinline__ void thread_rows(const DefectParams &a, __half *smem) {
  const row_tile::RowParams &p = a.p;
  const uint32_t q_tiles = ceil_div(p.Sq, kDefectThreads);
  __half *k_tile = smem, *v_tile = smem + kDefectKeys * kDefectDim;
  for (uint32_t item = blockIdx.x; item < p.B * p.Hq * q_tiles; item += a.blocks) {
    const uint32_t head = item / q_tiles, b = head / p.Hq, h = head % p.Hq, row0 = item % q_tiles * kDefectThreads;
    const uint32_t rows = rows_in_tile(p.Sq, row0, kDefectThreads);
    const bool has_row = threadIdx.x < rows;
    const size_t offset = row_offset(b, p.Hq, h, p.Sq, row0 + (has_row ? threadIdx.x : 0), kDefectDim);
    const size_t kv_offset = row_offset(b, p.Hkv, kv_head(p, h), p.Skv, 0, kDefectDim);
    const __half *q = static_cast<const __half *>(p.q) + offset, *k = static_cast<const __half *>(p.k) + kv_offset;
    const __half *v = static_cast<const __half *>(p.v) + kv_offset;
    const uint32_t row_keys = has_row ? visible_keys(p, row0 + threadIdx.x) : 0;
    const uint32_t tile_keys = visible_keys(p, row0 + rows - 1);
    row_tile::Row<kDefectDim> state;
    state.reset();
    for (uint32_t first = 0; first < tile_keys; first += kDefectKeys) {
      const uint32_t keys = rows_in_tile(p.Skv, first, kDefectKeys);
      __syncthreads(); /* orders the previous tile's reads before they are overwritten */
      row_tile::load_tile<kDefectDim, kDefectThreads>(k_tile, kDefectDim, k + (size_t)first * kDefectDim, kDefectKeys,
                                                      keys, kDefectDim);
      row_tile::load_tile<kDefectDim, kDefectThreads>(v_tile, kDefectDim, v + (size_t)first * kDefectDim, kDefectKeys,
                                                      keys, kDefectDim);
      __syncthreads(); /* orders the stores before the reads by all threads */
      state.attend<false>(q, k_tile, v_tile, {0, rows_in_tile(row_keys, first, kDefectKeys)}, p);
    }
    if (has_row) state.store(static_cast<__half *>(p.o) + offset, kDefectDim);
  }
}

__global__ void __launch_bounds__(kDefectThreads) defect_registers_kernel(const __grid_constant__ DefectParams a) {
  extern __shared__ __align__(128) unsigned char smem[];
  thread_rows(a, reinterpret_cast<__half *>(smem));
}

__global__ void __launch_bounds__(kDefectThreads, kResident)
    defect_spills_kernel(const __grid_constant__ DefectParams a) {
  extern __shared__ __align__(128) unsigned char smem[];
  thread_rows(a, reinterpret_cast<__half *>(smem));
}

/* ---- compute-bound: register tiles of 8 x 8 in both products, fp32 ------------------------------------------------
 */

/* A warp is 4 rows x 8 columns of threads, interleaved so that lanes i and i ^ 1 read the same row of Q or P, and
 * lanes i and i ^ 2 the same of K or V: shared memory then serves two quarter warps at once. */
struct PipeThread {
  uint32_t row,
      column; /* 0..15, 0..7: of rows row + 16 i, keys column + 8 j, output columns 4 column + 32 c + 0..3 */
  float s[kPipeOwn][kPipeOwn];
  float4 o[kPipeOwn][2];
  float max[kPipeOwn], sum[kPipeOwn];
};

/* Over the eight threads of a row: bits 1 and 4 of the lane are the row's. */
__device__ __forceinline__ float pipe_row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kFullWarp, x, 1));
  x = fmaxf(x, __shfl_xor_sync(kFullWarp, x, 4));
  return fmaxf(x, __shfl_xor_sync(kFullWarp, x, 8));
}
__device__ __forceinline__ float pipe_row_sum(float x) {
  x += __shfl_xor_sync(kFullWarp, x, 1);
  x += __shfl_xor_sync(kFullWarp, x, 4);
  return x + __shfl_xor_sync(kFullWarp, x, 8);
}

__device__ __forceinline__ float dot4(float4 a, float4 b, float sum) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}
__device__ __forceinline__ void add_scaled(float4 &sum, float weight, float4 x) {
  sum.x = fmaf(weight, x.x, sum.x), sum.y = fmaf(weight, x.y, sum.y);
  sum.z = fmaf(weight, x.z, sum.z), sum.w = fmaf(weight, x.w, sum.w);
}

/* `Rows` rows as floats; rows from `rows` on become zeros. */
template <uint32_t Rows>
__device__ __forceinline__ void pipe_load(float *tile, const __half *from, uint32_t rows, float scale) {
#pragma unroll 8
  for (uint32_t n = 0; n < Rows * kDefectDim / 4 / kPipeThreads; ++n) {
    const uint32_t i = threadIdx.x + n * kPipeThreads;
    const uint32_t row = i / (kDefectDim / 4), column = i % (kDefectDim / 4) * 4;
    float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (row < rows) x = load4(from + (size_t)row * kDefectDim + column);
    *reinterpret_cast<float4 *>(tile + row * kPipeStride + column) =
        make_float4(x.x * scale, x.y * scale, x.z * scale, x.w * scale);
  }
}

__device__ __forceinline__ void pipe_scores(PipeThread &t, const float *q_tile, const float *k_tile) {
  const float *q = q_tile + t.row * kPipeStride, *k = k_tile + t.column * kPipeStride;
#pragma unroll
  for (uint32_t i = 0; i < kPipeOwn; ++i)
#pragma unroll
    for (uint32_t j = 0; j < kPipeOwn; ++j) t.s[i][j] = 0.0f;
#pragma unroll 2
  for (uint32_t d = 0; d < kDefectDim; d += 4) {
    float4 keys[kPipeOwn];
#pragma unroll
    for (uint32_t j = 0; j < kPipeOwn; ++j) keys[j] = load4(k + j * kPipeKeyStep * kPipeStride + d);
#pragma unroll
    for (uint32_t i = 0; i < kPipeOwn; ++i) {
      const float4 row = load4(q + i * kPipeRowStep * kPipeStride + d);
#pragma unroll
      for (uint32_t j = 0; j < kPipeOwn; ++j) t.s[i][j] = dot4(row, keys[j], t.s[i][j]);
    }
  }
}

/* Hides the keys that a row does not attend. first_row, first_key: of the tiles, as below. */
__device__ __forceinline__ void pipe_mask(PipeThread &t, const Params &p, uint32_t first_row, uint32_t first_key) {
#pragma unroll
  for (uint32_t i = 0; i < kPipeOwn; ++i) {
    const uint32_t keys = visible_keys(p, first_row + t.row + i * kPipeRowStep);
#pragma unroll
    for (uint32_t j = 0; j < kPipeOwn; ++j)
      if (first_key + t.column + j * kPipeKeyStep >= keys) t.s[i][j] = minus_infinity();
  }
}

/* Scores become weights in p_tile; rows are this warp's alone. */
__device__ __forceinline__ void pipe_softmax(PipeThread &t, const Params &p, float *p_tile, uint32_t first_row,
                                             uint32_t first_key) {
  /* The tile's first row attends least. */
  if (visible_keys(p, first_row) < first_key + kPipeKeys) pipe_mask(t, p, first_row, first_key);
#pragma unroll
  for (uint32_t i = 0; i < kPipeOwn; ++i) {
    float next = t.max[i];
#pragma unroll
    for (uint32_t j = 0; j < kPipeOwn; ++j) next = fmaxf(next, t.s[i][j]);
    next = pipe_row_max(next);
    const float base = next == minus_infinity() ? 0.0f : next, shrink = ptx::ex2(t.max[i] - base);
    t.max[i] = next, t.sum[i] *= shrink;
#pragma unroll
    for (uint32_t c = 0; c < 2; ++c)
      t.o[i][c].x *= shrink, t.o[i][c].y *= shrink, t.o[i][c].z *= shrink, t.o[i][c].w *= shrink;
#pragma unroll
    for (uint32_t j = 0; j < kPipeOwn; ++j) {
      const float weight = ptx::ex2(t.s[i][j] - base);
      t.sum[i] += weight;
      p_tile[(t.row + i * kPipeRowStep) * kPipeWeights + t.column + j * kPipeKeyStep] = weight;
    }
  }
}

__device__ __forceinline__ void pipe_output(PipeThread &t, const float *p_tile, const float *v_tile) {
  const float *weights = p_tile + t.row * kPipeWeights, *v = v_tile + t.column * 4;
#pragma unroll 2
  for (uint32_t key = 0; key < kPipeKeys; key += 4) {
    float4 values[4][2];
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j)
      values[j][0] = load4(v + (key + j) * kPipeStride), values[j][1] = load4(v + (key + j) * kPipeStride + 32);
#pragma unroll
    for (uint32_t i = 0; i < kPipeOwn; ++i) {
      const float4 w = load4(weights + i * kPipeRowStep * kPipeWeights + key);
#pragma unroll
      for (uint32_t c = 0; c < 2; ++c) {
        add_scaled(t.o[i][c], w.x, values[0][c]), add_scaled(t.o[i][c], w.y, values[1][c]);
        add_scaled(t.o[i][c], w.z, values[2][c]), add_scaled(t.o[i][c], w.w, values[3][c]);
      }
    }
  }
}

__device__ __forceinline__ void pipe_store(PipeThread &t, __half *o, uint32_t rows) {
#pragma unroll
  for (uint32_t i = 0; i < kPipeOwn; ++i) {
    const float sum = pipe_row_sum(t.sum[i]), inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
    const uint32_t row = t.row + i * kPipeRowStep;
    if (row >= rows) continue;
#pragma unroll
    for (uint32_t c = 0; c < 2; ++c) {
      __half2 *to = reinterpret_cast<__half2 *>(o + row * kDefectDim + t.column * 4 + c * 32);
      to[0] = __floats2half2_rn(t.o[i][c].x * inverse, t.o[i][c].y * inverse);
      to[1] = __floats2half2_rn(t.o[i][c].z * inverse, t.o[i][c].w * inverse);
    }
  }
}

/* One q tile of one head. All threads of the block take part. */
__device__ __forceinline__ void pipe_tile(const Params &p, float *smem, uint32_t head, uint32_t row0) {
  float *q_tile = smem, *k_tile = q_tile + kPipeRows * kPipeStride, *v_tile = k_tile + kPipeKeys * kPipeStride;
  float *p_tile = v_tile + kPipeKeys * kPipeStride;
  const uint32_t b = head / p.Hq, h = head % p.Hq, rows = rows_in_tile(p.Sq, row0, kPipeRows);
  const size_t q_offset = row_offset(b, p.Hq, h, p.Sq, row0, kDefectDim);
  const size_t kv_offset = row_offset(b, p.Hkv, kv_head(p, h), p.Skv, 0, kDefectDim);
  const __half *k = static_cast<const __half *>(p.k) + kv_offset, *v = static_cast<const __half *>(p.v) + kv_offset;
  const uint32_t tile_keys = visible_keys(p, row0 + rows - 1), lane = threadIdx.x % kWarp; /* the last row's */
  PipeThread t;
  t.row = threadIdx.x / kWarp * 4 + ((lane >> 1 & 1) | (lane >> 3 & 2)), t.column = (lane & 1) | (lane >> 1 & 6);
#pragma unroll
  for (uint32_t i = 0; i < kPipeOwn; ++i) {
    t.o[i][0] = t.o[i][1] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    t.max[i] = minus_infinity(), t.sum[i] = 0.0f;
  }
  __syncthreads(); /* orders the previous tile's reads of Q before it is overwritten */
  pipe_load<kPipeRows>(q_tile, static_cast<const __half *>(p.q) + q_offset, rows, p.scale_log2);
  for (uint32_t first = 0; first < tile_keys; first += kPipeKeys) {
    const uint32_t keys = rows_in_tile(p.Skv, first, kPipeKeys);
    __syncthreads(); /* orders the previous keys' reads before they are overwritten */
    pipe_load<kPipeKeys>(k_tile, k + (size_t)first * kDefectDim, keys, 1.0f);
    pipe_load<kPipeKeys>(v_tile, v + (size_t)first * kDefectDim, keys, 1.0f);
    __syncthreads(); /* orders the stores before the reads by all warps */
    pipe_scores(t, q_tile, k_tile);
    __syncwarp(); /* orders the previous keys' reads of P before the warp overwrites it */
    pipe_softmax(t, p, p_tile, row0, first);
    __syncwarp(); /* orders the stores of P before the warp reads it */
    pipe_output(t, p_tile, v_tile);
  }
  pipe_store(t, static_cast<__half *>(p.o) + q_offset, rows);
}

__global__ void __launch_bounds__(kPipeThreads, kPipeBlocks)
    defect_pipe_kernel(const __grid_constant__ DefectParams a) {
  extern __shared__ __align__(128) unsigned char smem[];
  const uint32_t q_tiles = ceil_div(a.p.Sq, kPipeRows);
  for (uint32_t item = blockIdx.x; item < a.p.B * a.p.Hq * q_tiles; item += a.blocks)
    pipe_tile(a.p, reinterpret_cast<float *>(smem), item / q_tiles, item % q_tiles * kPipeRows);
}

static const void *defect_kernel_for(enum defect defect, bool narrow) {
  switch (defect) {
    case DEFECT_COMPUTE_BOUND: return handle(defect_pipe_kernel);
    case DEFECT_REREADS: return handle(defect_direct_kernel);
    case DEFECT_CONVERT: return narrow ? handle(defect_convert_kernel) : handle(defect_direct_kernel);
    case DEFECT_REGISTERS: return handle(defect_registers_kernel);
    case DEFECT_SPILLS: return handle(defect_spills_kernel);
    case DEFECT_IMBALANCED: return handle(defect_imbalanced_kernel);
    default: return handle(defect_staged_kernel);
  }
}

template <enum defect kDefect>
static struct status defect_bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                                 attn_pass_args args[ATTN_PASSES_MAX]) {
  put_args(args[0],
           DefectParams{row_tile::row_params_of(*shape, *buffers), plan->pass[0].grid[0], plan->tile_q, kDefect});
  return status_ok();
}
#define DEFECT_BIND(defect) attn::defect_bind<attn::defect>

#else
static const void *defect_kernel_for(enum defect, bool) { return nullptr; }
#define DEFECT_BIND(defect) nullptr
#endif

/* What a defect changes of the plan: quarters of a wave, rows that share a read, threads that hold a row, and all. */
struct DefectPlan {
  uint32_t wave_quarters, tile_q, tile_kv, row_threads, threads = kDefectThreads;
};

constexpr DefectPlan defect_plan_of(enum defect defect) {
  switch (defect) {
    case DEFECT_HALF_EMPTY: return {2, 32, kDefectKeys, kDefectThreads};
    case DEFECT_TAIL_WAVE: return {5, 32, kDefectKeys, kDefectThreads};
    case DEFECT_SMEM: return {1, 32, kDefectKeys, kDefectThreads};
    case DEFECT_REGISTERS: return {2, kDefectThreads, kDefectKeys, kDefectThreads};
    case DEFECT_SPILLS: return {4, kDefectThreads, kDefectKeys, kDefectThreads};
    case DEFECT_IDLE_THREADS: return {4, 16, kDefectKeys, kDefectThreads / 2};
    case DEFECT_REREADS:
    case DEFECT_CONVERT: return {4, 1, kGroupKeys, kDefectThreads};
    case DEFECT_IMBALANCED: return {4, kUnlikeTiles * kStagedRows, kDefectKeys, kDefectThreads};
    case DEFECT_COMPUTE_BOUND: return {kPipeBlocks, kPipeRows, kPipeKeys, kPipeThreads, kPipeThreads};
    default: return {4, 32, kDefectKeys, kDefectThreads};
  }
}
static_assert(defect_plan_of(DEFECT_NONE).tile_q == kDefectWarps * kRowsPerWarp, "every warp holds its rows");
static_assert(defect_plan_of(DEFECT_IDLE_THREADS).tile_q == kDefectWarps / 2 * kRowsPerWarp, "half the warps do");

/* Shared memory that leaves room for exactly kResident blocks on an SM; registers alone decide where they are to. */
static uint32_t defect_smem_bytes(enum defect defect, const device_info &device) {
  if (defect == DEFECT_REGISTERS) return kTilesBytes;
  if (defect == DEFECT_SMEM) return device.smem_per_block_bytes;
  if (defect == DEFECT_COMPUTE_BOUND) return kPipeBytes;
  return (device.smem_per_sm_bytes / kResident - device.smem_reserved_bytes) / 128 * 128;
}

template <enum defect kDefect>
static const char *defect_supports(const attn_problem *shape, const attn_tuning *, const device_info *device) {
  if (shape->dtype != ATTN_F16 || shape->D != kDefectDim) return "planted GPU defects take f16 with D = 64 only";
  if ((uint64_t)shape->B * shape->Hq * shape->Sq > INT32_MAX) return "B * Hq * Sq must be below 2^31";
  if (kDefect == DEFECT_IMBALANCED && shape->B > UINT16_MAX) return "B must be at most 65535, a grid axis";
  return check_device(*device, defect_smem_bytes(kDefect, *device));
}

template <enum defect kDefect>
static void defect_plan(const attn_problem *shape, const attn_tuning *, const device_info *device, attn_plan *plan) {
  constexpr DefectPlan wanted = defect_plan_of(kDefect);
  constexpr unsigned heads = kDefect == DEFECT_SERIAL ? 0u : ATTN_COVERS_B | ATTN_COVERS_H;
  plan->pass_count = 1;
  plan->tile_q = wanted.tile_q, plan->tile_kv = wanted.tile_kv;
  plan->splits = 1, plan->stages = 1;
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = defect_kernel_for(kDefect, attn_kv_dtype(shape) == ATTN_E4M3);
  set_grid(pass, device->sms * wanted.wave_quarters * kResident / 4, heads | ATTN_COVERS_Q, 1, ATTN_COVERS_NOTHING, 1,
           ATTN_COVERS_NOTHING);
  if (kDefect == DEFECT_IMBALANCED)
    set_grid(pass, ceil_div(shape->Sq, wanted.tile_q), ATTN_COVERS_Q, shape->Hq, ATTN_COVERS_H, shape->B,
             ATTN_COVERS_B);
  set_block(pass, wanted.threads, wanted.row_threads, defect_smem_bytes(kDefect, *device));
}

}  // namespace attn

#define DEFECT(id, defect, text) DEFECT_THAT_TAKES(id, defect, 0, text)
#define DEFECT_THAT_TAKES(id, defect, takes_, text)                     \
  extern "C" const struct attn_variant attn_variant_gpu_defect_##id = { \
      .name = "gpu_defect_" #id,                                        \
      .summary = "planted defect: " text,                               \
      .limits = "f16; D 64",                                            \
      .runs_on = DEVICE_CUDA,                                           \
      .math = ATTN_MATH_FP32,                                           \
      .takes = takes_,                                                  \
      .tunables = nullptr,                                              \
      .supports = attn::defect_supports<attn::defect>,                  \
      .plan = attn::defect_plan<attn::defect>,                          \
      .bind = DEFECT_BIND(defect),                                      \
      .run = nullptr,                                                   \
  }

DEFECT(none, DEFECT_NONE, "none, to hold the others against");
DEFECT(serial, DEFECT_SERIAL, "the grid misses B and H");
DEFECT(half_empty, DEFECT_HALF_EMPTY, "half the blocks of one wave");
DEFECT(tail_wave, DEFECT_TAIL_WAVE, "a wave and a quarter");
DEFECT(smem, DEFECT_SMEM, "shared memory lets one block onto an SM");
DEFECT(registers, DEFECT_REGISTERS, "registers let one or two blocks onto an SM");
DEFECT(spills, DEFECT_SPILLS, "registers spill to local memory");
DEFECT(idle_threads, DEFECT_IDLE_THREADS, "half the warps hold no query row");
DEFECT(rereads, DEFECT_REREADS, "K and V are read for one query row at a time");
DEFECT(bank_conflicts, DEFECT_BANK_CONFLICTS, "a warp's lanes meet in one bank of shared memory");
DEFECT(uncoalesced, DEFECT_UNCOALESCED, "neighbouring threads load elements of different rows");
DEFECT(imbalanced, DEFECT_IMBALANCED, "blocks of unlike work, in the order of the grid");
DEFECT_THAT_TAKES(convert, DEFECT_CONVERT, ATTN_TAKES_KV_DTYPE, "numbers of e4m3 are converted bit by bit");
DEFECT(compute_bound, DEFECT_COMPUTE_BOUND, "fp32 products near the pipe's rate");
