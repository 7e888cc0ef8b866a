/* Kernels of wgmma_general_tile.cuh whose blocks share the keys of a q tile: which block has which part of them, the
 * partial results that blocks leave in the workspace, and the pass that merges these.
 *
 * A part is a range of the tiles of keys that the q tile's rows see. Parts have one number of tiles at most, so a q
 * tile that sees few keys has few parts, and none is empty. The host lists the parts of all q tiles of a head, which
 * are the same for every head, and the list is in the kernel's argument. Sequences must have one length.
 *
 * A second pass merges the parts, not the block that ends last: with 32 parts of 64 KB, one SM would read for 40 us
 * what all SMs read in 3. It adds the parts in an order that depends on the plan alone, so results have the same bits
 * each time. No counters have to be reset. The blocks of the first pass do not ask for the second one early
 * (ptx::start_next_pass): most of its blocks would come to the few SMs that are idle then. */
#ifndef ATTNBENCH_KERNELS_WGMMA_SPLIT_TILE_CUH
#define ATTNBENCH_KERNELS_WGMMA_SPLIT_TILE_CUH

#include <algorithm>
#include <vector>

#include "kernels/tiles/wgmma_general_tile.cuh"

namespace attn::wgmma_split {

using wgmma_general::Tiles;

constexpr uint32_t kPartsMax = 512;  /* of all q tiles of a head: so many words in the argument */
constexpr uint32_t kSplitsMax = 255; /* of a q tile: 8 bits of such a word */
constexpr uint32_t kStrip = 16;      /* rows of a warp */

/* ---- which parts there are ------------------------------------------------------------------------------------- */

/* One of `parts` parts of q tile `tile`, in 32 bits. */
constexpr uint32_t packed_part(uint32_t tile, uint32_t part, uint32_t parts) {
  return tile | part << 16 | parts << 24;
}
/* The tiles of keys of part `part`; none is empty where there are no more parts than tiles. */
constexpr ATTN_HD Tiles keys_of_part(const Tiles &all, uint32_t part, uint32_t parts) {
  return {all.begin + all.count() * part / parts, all.begin + all.count() * (part + 1) / parts};
}

/* Tiles of `keys` keys that each q tile of `rows` rows of a head sees; empty where a head has more q tiles than a
 * list has parts. */
inline std::vector<uint32_t> lengths_of(const attn_problem &shape, uint32_t rows, uint32_t keys) {
  const attn_mask mask = attn_mask_of(&shape);
  const Tiles all = wgmma_general::all_tiles(mask, keys);
  std::vector<uint32_t> lengths;
  if (ceil_div(shape.Sq, rows) > kPartsMax) return lengths;
  for (uint32_t row = 0; row < shape.Sq; row += rows)
    lengths.push_back(wgmma_general::tiles_of(mask, row, rows, keys, all).count());
  return lengths;
}

/* How q tiles are cut into parts. */
struct Cut {
  uint32_t most;   /* tiles of keys of a part, at most */
  uint32_t splits; /* parts of the q tile that has the most */
  uint32_t count;  /* parts of all q tiles of a head; more than kPartsMax: there is no list of them */
};
/* The longest q tile gets `splits` parts, or fewer if its longest part stays as short. The same cut again comes of
 * the `splits` in it. */
inline Cut cut_of(const std::vector<uint32_t> &lengths, uint32_t splits) {
  const uint32_t longest = *std::max_element(lengths.begin(), lengths.end());
  Cut cut = {ceil_div(longest, splits), 0, 0};
  cut.splits = ceil_div(longest, cut.most);
  for (const uint32_t length : lengths) cut.count += ceil_div(length, cut.most);
  return cut;
}

/* ---- planning ------------------------------------------------------------------------------------------------- */

/* Strips of 16 rows of a q tile that have a query, and groups of eight columns of O: what a partial result has. */
inline uint32_t strips_of_tile(const attn_problem &shape, uint32_t rows) {
  return ceil_div(shape.Sq < rows ? shape.Sq : rows, kStrip);
}
inline uint32_t octets_of(const attn_problem &shape) { return shape.Dv / 8; }

/* Sums of a part's strips [strips][octets][32 lanes] of 16 bytes, and 16 bytes for each row. */
inline uint64_t sum_bytes(const attn_problem &shape, uint32_t rows) {
  return (uint64_t)strips_of_tile(shape, rows) * octets_of(shape) * 32 * 16;
}
inline uint64_t partial_bytes(const attn_problem &shape, uint32_t rows) {
  return sum_bytes(shape, rows) + (uint64_t)strips_of_tile(shape, rows) * kStrip * 16;
}

/* Of the pass that merges: a block has a strip and so many groups of eight columns, and its warps share the parts.
 * More warps than groups have work only if there are more parts. */
constexpr uint32_t kMergedOctets = 4, kMergeWarpsMax = 8;
constexpr uint32_t merge_warps(uint32_t splits) { return splits > kMergedOctets ? kMergeWarpsMax : kMergedOctets; }

/* Estimates for the choice of splits, in units of 10 ns. None was measured with these kernels. The launch and the
 * rate of all SMs are those that the pass that transposes V has in wgmma_fp8.cu. The rate of one SM is that at which
 * a block of `mla` leaves its partial results. */
struct SplitCosts {
  double launch = 300;             /* of the pass that merges */
  double block_bytes_a_unit = 500; /* of partial results that one block stores */
  double all_bytes_a_unit = 35e3;  /* of partial results that the pass reads */
  /* Splits must be estimated to take at most this share of the time without them. */
  double worthwhile = 0.9;
};
constexpr SplitCosts kSplitCosts;

/* The time of both passes, as wgmma_general::cost:
 *
 *     part of n tiles = n * step + turn + bytes of a partial result / block_bytes_a_unit
 *     time = rounds of the blocks over all parts, each of the mean part, and no less than the longest part takes
 *            + launch + bytes of all partial results / all_bytes_a_unit */
inline double cost(const attn_problem &shape, const std::vector<uint32_t> &lengths, const Cut &cut, uint32_t rows,
                   uint32_t turn, uint32_t step, uint32_t sms) {
  const double bytes = (double)partial_bytes(shape, rows), around = turn + bytes / kSplitCosts.block_bytes_a_unit;
  const double parts = (double)shape.B * shape.Hq * cut.count;
  double tiles = 0;
  for (const uint32_t length : lengths) tiles += length;
  return wgmma_general::time_of_rounds(parts / sms, tiles / cut.count * step + around, cut.most * step + around) +
         kSplitCosts.launch + parts * bytes / kSplitCosts.all_bytes_a_unit;
}

/* The cut that costs least, of those that give each SM few parts; its time is *least. splits = 1 in it: none was
 * found. */
inline Cut cheapest_cut(const attn_problem &shape, const std::vector<uint32_t> &lengths, uint32_t rows, uint32_t turn,
                        uint32_t step, uint32_t sms, double *least) {
  constexpr uint64_t kPartsOfSm = 4;
  Cut best = {0, 1, 0};
  for (uint32_t splits = 2; !lengths.empty() && splits <= kSplitsMax; ++splits) {
    const Cut cut = cut_of(lengths, splits);
    const uint64_t parts = (uint64_t)shape.B * shape.Hq * cut.count;
    if (cut.count > kPartsMax || parts > kPartsOfSm * sms) break;
    if (cut.splits < splits) { /* the same cut as another number's, or each part is one tile */
      if (cut.most == 1) break;
      continue;
    }
    const double time = cost(shape, lengths, cut, rows, turn, step, sms);
    if (best.splits == 1 || time < *least) best = cut, *least = time;
  }
  return best;
}

/* Adds the two passes to an empty plan. `blocks`: as many as there are, each taking several parts; 0: one for each
 * part. `merges`: the second kernel. */
inline void plan_passes(const attn_problem &shape, const Cut &cut, uint32_t rows, uint32_t keys, uint32_t groups,
                        uint32_t blocks, uint32_t smem_bytes, const void *main, const void *merges, attn_plan *plan) {
  const uint32_t heads = shape.B * shape.Hq, parts = heads * cut.count, threads = merge_warps(cut.splits) * 32;
  plan->pass_count = 2;
  plan->tile_q = rows, plan->tile_kv = keys, plan->splits = cut.splits;
  plan->workspace_bytes = parts * partial_bytes(shape, rows);
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = main;
  set_grid(pass, blocks > 0 && blocks < parts ? blocks : parts,
           ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q | ATTN_COVERS_SPLIT, 1, ATTN_COVERS_NOTHING, 1,
           ATTN_COVERS_NOTHING);
  set_block(pass, (groups + 1) * 128, groups * 128, smem_bytes, 128);
  attn_pass &merge = plan->pass[1];
  merge.name = "merge";
  merge.kernel = merges;
  merge.early_start = true;
  set_grid(merge, heads * ceil_div(shape.Sq, kStrip), ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q,
           ceil_div(octets_of(shape), kMergedOctets), ATTN_COVERS_D, 1, ATTN_COVERS_NOTHING);
  set_block(merge, threads, threads, 0);
}

}  // namespace attn::wgmma_split

#ifdef __CUDACC__

namespace attn::wgmma_split {

/* A partial result: of each row, relative to its reference, the sums of weights times V, and of weights. */
struct Partials {
  float4 *sums; /* [parts][strips][octets][32 lanes]: as wgmma's accumulators have them */
  float4 *rows; /* [parts][strips][16]: reference, sum of weights for LSE and sink, divisor of O, scale of V */
  uint32_t strips, octets; /* of a part */
  uint32_t count;          /* parts of a head */

  __device__ __forceinline__ uint64_t strip_of(uint32_t part, uint32_t strip) const {
    return (uint64_t)part * strips + strip;
  }
};

/* Part `number` of the launch: [batch][query heads][parts of a head]. */
struct Part {
  uint32_t head; /* counted through the batch */
  uint32_t tile, part, parts, number;

  __device__ __forceinline__ Tiles keys_of(const Tiles &tile_keys) const {
    return keys_of_part(tile_keys, part, parts);
  }
};

/* The parts, in an argument of a kernel that attends them. */
struct Parts {
  Partials partials;
  uint32_t heads; /* of the batch */
  Divider by_heads;
  uint32_t packed[kPartsMax]; /* so many words as a head has parts, ascending by their q tile */

  /* What a block has as its item `index`: the same part of all heads before the next part, from the last on, since
   * heads that share K and V then read the same keys at one time. Under a causal mask the last q tiles have the most
   * keys. */
  __device__ __forceinline__ Part at(uint32_t index) const {
    const uint32_t reversed = by_heads.quotient(index), head = index - reversed * heads;
    const uint32_t which = partials.count - 1 - reversed, word = packed[which];
    return {head, word & 0xffff, word >> 16 & 0xff, word >> 24, head * partials.count + which};
  }
};

/* Lays out the workspace. */
inline Partials partials_of(const attn_problem &shape, const attn_buffers &buffers, const Cut &cut, uint32_t rows) {
  unsigned char *const workspace = static_cast<unsigned char *>(buffers.workspace);
  const uint64_t parts = (uint64_t)shape.B * shape.Hq * cut.count;
  return {reinterpret_cast<float4 *>(workspace),
          reinterpret_cast<float4 *>(workspace + parts * sum_bytes(shape, rows)), strips_of_tile(shape, rows),
          octets_of(shape), cut.count};
}
inline Parts parts_of(const attn_problem &shape, const std::vector<uint32_t> &lengths, const Cut &cut,
                      const Partials &partials) {
  Parts parts = {partials, shape.B * shape.Hq, divider(shape.B * shape.Hq), {}};
  uint32_t count = 0;
  for (uint32_t tile = 0; tile < lengths.size(); ++tile) {
    const uint32_t of_tile = ceil_div(lengths[tile], cut.most);
    for (uint32_t part = 0; part < of_tile; ++part) parts.packed[count++] = packed_part(tile, part, of_tile);
  }
  return parts;
}

/* The argument of the pass that merges. */
struct MergeParams {
  Partials partials;
  uint32_t strips, Sq; /* strips of a head; queries of a head */
  uint32_t heads;      /* of a sequence */
  Divider by_strips, by_heads;
  const float *sink;
  void *o;
  float *lse;
  attn_view o_view, lse_view;
  uint16_t first[kPartsMax + 1]; /* the first part of each q tile of a head; the last entry is how many there are */
};

inline MergeParams merge_params(const attn_problem &shape, const attn_buffers &buffers,
                                const std::vector<uint32_t> &lengths, const Cut &cut, const Partials &partials) {
  MergeParams merge = {};
  merge.partials = partials;
  merge.strips = ceil_div(shape.Sq, kStrip), merge.Sq = shape.Sq, merge.heads = shape.Hq;
  merge.by_strips = divider(merge.strips), merge.by_heads = divider(shape.Hq);
  merge.sink = buffers.sink, merge.o = buffers.o, merge.lse = buffers.lse;
  merge.o_view = attn_view_of(&shape, ATTN_O), merge.lse_view = attn_view_of(&shape, ATTN_LSE);
  for (uint32_t tile = 0; tile < lengths.size(); ++tile)
    merge.first[tile + 1] = (uint16_t)(merge.first[tile] + ceil_div(lengths[tile], cut.most));
  return merge;
}

#ifdef ATTN_SM90A

/* A warpgroup: its rows of a part. `o`, `reference`, `sum`, `divisor` and `scale`: as GeneralMultiplier::store has
 * them. Warps without a query store nothing. */
template <uint32_t Columns>
__device__ __forceinline__ void store_partial(const Partials &to, uint32_t part, uint32_t group, uint32_t rows,
                                              const float (&o)[Columns / 2], const float (&reference)[2],
                                              const float (&sum)[2], const float (&divisor)[2], float scale) {
  const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x % 128 / kWarp;
  if (warp * kStrip >= rows) return;
  const uint64_t strip = to.strip_of(part, group * 4 + warp);
  float4 *const sums = to.sums + strip * to.octets * kWarp + lane;
#pragma unroll
  for (uint32_t j = 0; j < Columns / 8; ++j)
    if (j < to.octets) sums[j * kWarp] = make_float4(o[4 * j], o[4 * j + 1], o[4 * j + 2], o[4 * j + 3]);
  if (lane % 4 == 0)
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i)
      to.rows[strip * kStrip + lane / 4 + 8 * i] = make_float4(reference[i], sum[i], divisor[i], scale);
}

#endif /* ATTN_SM90A */

/* What was merged of a row until now, relative to `reference`. */
struct MergedRow {
  float reference, sum, divisor;

  /* Takes in the same of other keys. *before, *added: what the values of O have to be multiplied by. */
  __device__ __forceinline__ void add(float other, float other_sum, float other_divisor, float *before,
                                      float *added) {
    const float most = fmaxf(reference, other), base = most == minus_infinity() ? 0.0f : most;
    *before = ptx::ex2(reference - base), *added = ptx::ex2(other - base);
    sum = fmaf(sum, *before, other_sum * *added), divisor = fmaf(divisor, *before, other_divisor * *added);
    reference = most;
  }
};

/* A thread's values of two rows, for accumulators of eight columns. */
__device__ __forceinline__ void add_values(float4 &to, const float4 &x, const float (&before)[2],
                                           const float (&added)[2]) {
  to.x = fmaf(to.x, before[0], x.x * added[0]), to.y = fmaf(to.y, before[0], x.y * added[0]);
  to.z = fmaf(to.z, before[1], x.z * added[1]), to.w = fmaf(to.w, before[1], x.w * added[1]);
}

}  // namespace attn::wgmma_split

namespace attn {

/* Merges the parts of a strip of 16 rows, in kMergedOctets groups of eight columns. Each warp adds every so-manieth
 * part, from its own number on; then warp j adds what the warps have of group j, in their order. T: the type of O.
 * Rows: of a q tile. grid: (strips of all heads, groups of columns). */
template <typename T, uint32_t Rows>
__global__ void __launch_bounds__(wgmma_split::kMergeWarpsMax *kWarp)
    wgmma_split_merge(const __grid_constant__ wgmma_split::MergeParams a) {
  using namespace wgmma_split;
  __shared__ float4 values[kMergeWarpsMax][kMergedOctets][kWarp];
  __shared__ float4 ends[kMergeWarpsMax][2][kWarp];
  const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  const uint32_t head = a.by_strips.quotient(blockIdx.x), strip = blockIdx.x - head * a.strips;
  const uint32_t tile = strip / (Rows / kStrip), first = a.first[tile], end = a.first[tile + 1];
  const uint32_t octet = blockIdx.y * kMergedOctets;
  const MergedRow none = {minus_infinity(), 0.0f, 0.0f};
  MergedRow rows[2] = {none, none};
  float4 mine[kMergedOctets];
  float scale = 0.0f, before[2], added[2];
#pragma unroll
  for (uint32_t j = 0; j < kMergedOctets; ++j) mine[j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  ptx::wait_for_earlier_passes();
#pragma unroll 2
  for (uint32_t part = first + warp; part < end; part += warps) {
    const uint64_t from = a.partials.strip_of(head * a.partials.count + part, strip - tile * (Rows / kStrip));
    float4 x[kMergedOctets];
#pragma unroll
    for (uint32_t j = 0; j < kMergedOctets; ++j) {
      x[j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (octet + j < a.partials.octets)
        x[j] = __ldcg(a.partials.sums + (from * a.partials.octets + octet + j) * kWarp + lane);
    }
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float4 row = __ldcg(a.partials.rows + from * kStrip + lane / 4 + 8 * i);
      rows[i].add(row.x, row.y, row.z, &before[i], &added[i]);
      scale = row.w;
    }
#pragma unroll
    for (uint32_t j = 0; j < kMergedOctets; ++j) add_values(mine[j], x[j], before, added);
  }
#pragma unroll
  for (uint32_t j = 0; j < kMergedOctets; ++j) values[warp][j][lane] = mine[j];
#pragma unroll
  for (uint32_t i = 0; i < 2; ++i)
    ends[warp][i][lane] = make_float4(rows[i].reference, rows[i].sum, rows[i].divisor, scale);
  __syncthreads(); /* orders all warps' stores before the reads */
  if (warp >= kMergedOctets || octet + warp >= a.partials.octets) return;
  rows[0] = rows[1] = none;
  float4 sums = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  for (uint32_t w = 0; w < warps; ++w) {
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float4 row = ends[w][i][lane];
      rows[i].add(row.x, row.y, row.z, &before[i], &added[i]);
    }
    add_values(sums, values[w][warp][lane], before, added);
  }
  scale = ends[0][0][lane].w; /* every q tile has a part, and all of its parts have one scale */
  const uint32_t batch = a.by_heads.quotient(head), head_in_batch = head - batch * a.heads;
#pragma unroll
  for (uint32_t i = 0; i < 2; ++i) {
    float factor = 1.0f, unused;
    /* A sink's logit counts as one more score without a value. */
    if (a.sink != nullptr) rows[i].add(a.sink[head_in_batch] * 1.44269504f, 1.0f, 1.0f, &factor, &unused);
    factor = rows[i].divisor > 0.0f ? factor * scale / rows[i].divisor : 0.0f;
    const uint32_t query = strip * kStrip + lane / 4 + 8 * i;
    if (query >= a.Sq) continue;
    T *const to = static_cast<T *>(a.o) + attn_view_token(&a.o_view, batch, head_in_batch, query);
    const float x = i == 0 ? sums.x : sums.z, y = i == 0 ? sums.y : sums.w;
    *reinterpret_cast<uint32_t *>(to + 8 * (octet + warp) + lane % 4 * 2) = pack<T>(x * factor, y * factor);
    if (a.lse != nullptr && octet + warp == 0 && lane % 4 == 0)
      a.lse[attn_view_token(&a.lse_view, batch, head_in_batch, query)] = log_sum_exp(rows[i].reference, rows[i].sum);
  }
}

}  // namespace attn
#endif

#endif
