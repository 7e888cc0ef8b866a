/* Splitting the keys of a q tile over several blocks, for kernels built on wgmma_general_tile.cuh (so far wgmma_fp8):
 * which block has which part of the keys, the partial results that blocks leave in the workspace, and the pass that
 * merges these.
 *
 * A part is a range of the tiles of keys that the q tile's rows see. All parts have the same limit of tiles
 * (Cut::most). So a q tile that sees few keys has few parts, and no part is empty. The host lists the parts of all q
 * tiles of a head, which are the same for every head, and the list is in the kernel's argument. Where sequences
 * differ in length, a pass before the kernel makes one list of all of them, in the workspace.
 *
 * A pass behind the kernel merges the parts, not the block that ends last. One SM reads about 50 bytes a ns, as in
 * `mla`, so 32 parts of 64 KB would take it 40 us. The pass adds the parts in an order that depends on the plan
 * alone, so results have the same bits each time. No counters have to be reset. The blocks of the kernel do not ask
 * for that pass early (ptx::start_next_pass): most of its blocks would come to the few SMs that are idle then. */
#ifndef ATTNBENCH_KERNELS_WGMMA_SPLIT_TILE_CUH
#define ATTNBENCH_KERNELS_WGMMA_SPLIT_TILE_CUH

#include <algorithm>
#include <vector>

#include "kernels/tiles/wgmma_general_tile.cuh"

namespace attn::wgmma_split {

using wgmma_general::Tiles;

constexpr uint32_t kPartsMax = 512;               /* of all q tiles of a head: so many words in the argument */
constexpr uint32_t kSplitsMax = 255;              /* of a q tile: 8 bits of such a word */
constexpr uint32_t kNumbersMax = INT32_MAX / 128; /* of the parts of all heads */
constexpr uint32_t kPartsOfSm = 4;                /* that an SM has at most, where the number of splits is chosen */
constexpr uint32_t kStrip = 16;                   /* rows of a warp */

/* ---- which parts there are ------------------------------------------------------------------------------------- */

/* One of `parts` parts of q tile `tile`, in 32 bits. */
constexpr uint32_t packed_part(uint32_t tile, uint32_t part, uint32_t parts) {
  return tile | part << 16 | parts << 24;
}
/* The tiles of keys of part `part`; none is empty where there are no more parts than tiles. */
constexpr ATTN_HD Tiles keys_of_part(const Tiles &all, uint32_t part, uint32_t parts) {
  return {all.begin + all.count() * part / parts, all.begin + all.count() * (part + 1) / parts};
}

/* Tiles of keys that a q tile's rows see, and how many q tiles are like it. */
struct Length {
  uint32_t tiles, times;
};
/* The lengths, in tiles of `keys` keys, of all q tiles (of `rows` rows) in one list: those of one head; in a ragged
 * batch, of one head in all sequences. Empty if the batch is not ragged and a head has more than kPartsMax q tiles.
 */
inline std::vector<Length> lengths_of(const attn_problem &shape, uint32_t rows, uint32_t keys) {
  std::vector<Length> lengths;
  if (!attn_is_ragged(&shape) && ceil_div(shape.Sq, rows) > kPartsMax) return lengths;
  for (uint32_t i = 0; i < attn_group_count(&shape); ++i) {
    const attn_group group = attn_group_of(&shape, i);
    const attn_mask mask = {group.Sq, group.Skv, shape.left, shape.right};
    for (uint32_t row = 0; row < group.Sq; row += rows)
      lengths.push_back({wgmma_general::tiles_of(mask, row, rows, keys, wgmma_general::all_tiles(mask, keys)).count(),
                         attn_is_ragged(&shape) ? group.count : 1});
  }
  return lengths;
}
/* Heads that have the same list of parts. */
inline uint32_t heads_of(const attn_problem &shape) { return (attn_is_ragged(&shape) ? 1 : shape.B) * shape.Hq; }
inline uint32_t tiles_in(const std::vector<Length> &lengths) {
  uint32_t tiles = 0;
  for (const Length &length : lengths) tiles += length.times;
  return tiles;
}

/* How q tiles are cut into parts. */
struct Cut {
  uint32_t most;   /* tiles of keys of a part, at most */
  uint32_t splits; /* parts of the q tile that has the most */
  uint32_t count;  /* parts of a list */
};
/* The longest q tile gets `splits` parts, or fewer if its longest part stays as short. Calling it again with the
 * cut's own `splits` gives the same cut, which binding a plan relies on. */
inline Cut cut_of(const std::vector<Length> &lengths, uint32_t splits) {
  uint32_t longest = 1;
  for (const Length &length : lengths) longest = length.tiles > longest ? length.tiles : longest;
  Cut cut = {ceil_div(longest, splits), 0, 0};
  uint64_t count = 0;
  cut.splits = ceil_div(longest, cut.most);
  for (const Length &length : lengths) count += (uint64_t)ceil_div(length.tiles, cut.most) * length.times;
  cut.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
  return cut;
}
/* Whether there is room for the list, and the parts of all heads can be numbered. */
inline bool has_list(const attn_problem &shape, const Cut &cut) {
  return (attn_is_ragged(&shape) || cut.count <= kPartsMax) && (uint64_t)heads_of(shape) * cut.count <= kNumbersMax;
}
/* So many parts, and so q tiles, all heads have at most; is_chosen: the number of splits is not asked for. */
constexpr uint64_t parts_allowed(bool is_chosen, uint32_t sms) {
  return is_chosen ? (uint64_t)kPartsOfSm * sms : kNumbersMax;
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

/* A block of the merging pass takes one strip and kMergedOctets groups of eight columns; its warps share the parts.
 * It has one warp for each group, or kMergeWarpsMax warps if there are more parts than groups. */
constexpr uint32_t kMergedOctets = 4, kMergeWarpsMax = 8;
constexpr uint32_t merge_warps(uint32_t splits) { return splits > kMergedOctets ? kMergeWarpsMax : kMergedOctets; }

/* Estimates for the choice of splits, in units of 10 ns. The launch and the rate of all SMs are those that the pass
 * that transposes V has in wgmma_fp8.cu. The rate of one SM is that at which a block of `mla` leaves its partial
 * results. On an H100 the estimated times of wgmma_fp8 are 0.8 to 1.1 of the measured ones: too short where DRAM
 * limits them, which the estimate leaves out. */
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
inline double cost(const attn_problem &shape, const std::vector<Length> &lengths, const Cut &cut, uint32_t rows,
                   uint32_t turn, uint32_t step, uint32_t sms) {
  const double bytes = (double)partial_bytes(shape, rows), around = turn + bytes / kSplitCosts.block_bytes_a_unit;
  const double parts = (double)heads_of(shape) * cut.count;
  double tiles = 0;
  for (const Length &length : lengths) tiles += (double)length.tiles * length.times;
  return wgmma_general::time_of_rounds(parts / sms, tiles / cut.count * step + around, cut.most * step + around) +
         kSplitCosts.launch + parts * bytes / kSplitCosts.all_bytes_a_unit;
}
/* The time of the same kernel without splits. */
inline double cost_of_whole(const attn_problem &shape, const std::vector<Length> &lengths, uint32_t turn,
                            uint32_t step, uint32_t sms) {
  const Cut whole = cut_of(lengths, 1);
  double tiles = 0;
  for (const Length &length : lengths) tiles += (double)length.tiles * length.times;
  return wgmma_general::time_of_rounds((double)heads_of(shape) * whole.count / sms, tiles / whole.count * step + turn,
                                       (double)whole.most * step + turn);
}

/* The cut that costs least, of those that give each SM few parts; its time is *least. Returns splits = 1 if no cut is
 * worthwhile. */
inline Cut cheapest_cut(const attn_problem &shape, const std::vector<Length> &lengths, uint32_t rows, uint32_t turn,
                        uint32_t step, uint32_t sms, double *least) {
  Cut best = {0, 1, 0};
  *least = kSplitCosts.worthwhile * cost_of_whole(shape, lengths, turn, step, sms);
  for (uint32_t splits = 2; splits <= kSplitsMax; ++splits) {
    const Cut cut = cut_of(lengths, splits);
    if (!has_list(shape, cut) || (uint64_t)heads_of(shape) * cut.count > parts_allowed(true, sms)) break;
    if (cut.splits < splits) { /* the same cut as another number's, or each part is one tile */
      if (cut.most == 1) break;
      continue;
    }
    const double time = cost(shape, lengths, cut, rows, turn, step, sms);
    if (time < *least) best = cut, *least = time;
  }
  return best;
}

/* A part of the keys of a q tile in the list of a ragged batch, which the first pass of the launch makes. */
struct alignas(32) RaggedPart {
  uint32_t row, Sq, Skv, q_first, k_first; /* as RaggedTile */
  uint32_t sequence, part, parts;
};
/* The list: [parts of a head] of these, the parts of a q tile side by side; then where those of each q tile begin. */
inline uint64_t list_bytes(const attn_problem &shape, const std::vector<Length> &lengths, const Cut &cut) {
  if (!attn_is_ragged(&shape)) return 0;
  return (sizeof(RaggedPart) * cut.count + sizeof(uint32_t) * tiles_in(lengths) + 255) / 256 * 256;
}

/* The kernels of a plan; order: of a ragged batch. */
struct Kernels {
  const void *order, *main, *merge;
};

/* Adds the passes to an empty plan: "order", of a ragged batch alone, "main" and "merge". `blocks`: launch at most so
 * many, each of which may take several parts; 0: one for each part. */
inline void plan_passes(const attn_problem &shape, const std::vector<Length> &lengths, const Cut &cut, uint32_t rows,
                        uint32_t keys, uint32_t groups, uint32_t blocks, uint32_t smem_bytes, const Kernels &kernels,
                        attn_plan *plan) {
  const uint32_t heads = heads_of(shape), parts = heads * cut.count, threads = merge_warps(cut.splits) * 32;
  plan->pass_count = 0;
  plan->tile_q = rows, plan->tile_kv = keys, plan->splits = cut.splits;
  plan->workspace_bytes = list_bytes(shape, lengths, cut) + parts * partial_bytes(shape, rows);
  if (attn_is_ragged(&shape)) {
    attn_pass &order = plan->pass[plan->pass_count++];
    order.name = "order";
    order.kernel = kernels.order;
    set_grid(order, 1, ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING);
    set_block(order, wgmma_general::kOrderThreads, 0, 0);
  }
  attn_pass &main = plan->pass[plan->pass_count++];
  main.name = "main";
  main.kernel = kernels.main;
  set_grid(main, blocks > 0 && blocks < parts ? blocks : parts,
           ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q | ATTN_COVERS_SPLIT, 1, ATTN_COVERS_NOTHING, 1,
           ATTN_COVERS_NOTHING);
  set_block(main, (groups + 1) * 128, groups * 128, smem_bytes, 128);
  attn_pass &merge = plan->pass[plan->pass_count++];
  merge.name = "merge";
  merge.kernel = kernels.merge;
  merge.early_start = true;
  set_grid(merge, heads * tiles_in(lengths) * strips_of_tile(shape, rows),
           ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q, ceil_div(octets_of(shape), kMergedOctets), ATTN_COVERS_D, 1,
           ATTN_COVERS_NOTHING);
  set_block(merge, threads, threads, 0);
}

}  // namespace attn::wgmma_split

#ifdef __CUDACC__

namespace attn::wgmma_split {

/* A partial result: of each row, relative to its reference, the sums of weights times V, and of weights. Numbered
 * through the heads: [heads][parts of a list]. */
struct Partials {
  float4 *sums; /* [parts][strips][octets][32 lanes]: as wgmma's accumulators have them */
  float4 *rows; /* [parts][strips][16]: reference, sum of weights for LSE and sink, divisor of O, scale of V */
  uint32_t strips, octets; /* of a part */
  uint32_t count;          /* parts of a list */

  __device__ __forceinline__ uint64_t strip_of(uint32_t part, uint32_t strip) const {
    return (uint64_t)part * strips + strip;
  }
};

/* The lists of a ragged batch; nullptr where sequences have one length. */
struct RaggedList {
  RaggedPart *part;
  uint32_t *first; /* of each q tile */
};

/* The parts, in an argument of a kernel that attends them. */
struct Parts {
  Partials partials;
  RaggedList ragged;
  uint32_t heads; /* that have the same list */
  Divider by_heads;
  uint32_t packed[kPartsMax]; /* of sequences of one length: so many words as the list has parts */

  /* A block's item `index` is of this part of the list. The same part of all heads comes before the next part, since
   * heads that share K and V then read the same keys at one time. A list of this argument is taken from its end on:
   * under a causal mask the last q tiles have the most keys. */
  __device__ __forceinline__ uint32_t which(uint32_t index) const {
    const uint32_t at = by_heads.quotient(index);
    return ragged.part != nullptr ? at : partials.count - 1 - at;
  }
  __device__ __forceinline__ uint32_t head(uint32_t index) const { return index - by_heads.quotient(index) * heads; }
  __device__ __forceinline__ uint32_t number_of(uint32_t index) const {
    return head(index) * partials.count + which(index);
  }
  /* The part's tiles, of those that its q tile sees. */
  __device__ __forceinline__ Tiles keys_of(uint32_t index, const Tiles &of_tile) const {
    if (ragged.part != nullptr) {
      const RaggedPart &part = ragged.part[which(index)];
      return keys_of_part(of_tile, part.part, part.parts);
    }
    const uint32_t word = packed[which(index)];
    return keys_of_part(of_tile, word >> 16 & 0xff, word >> 24);
  }
  /* All of an item but its tiles. `of_sequence`: query heads. Item: wgmma_general::Item, which not every architecture
   * has. */
  template <uint32_t Rows, typename Item>
  __device__ __forceinline__ void put_place(uint32_t index, uint32_t of_sequence, Divider by_sequence,
                                            Item *item) const {
    item->head = head(index);
    if (ragged.part != nullptr) {
      const RaggedPart &part = ragged.part[which(index)];
      item->batch = 0, item->sequence = part.sequence, item->row = part.row;
      item->q_first = part.q_first, item->k_first = part.k_first;
      item->mask.Sq = part.Sq, item->mask.Skv = part.Skv;
    } else {
      item->batch = item->sequence = by_sequence.quotient(item->head);
      item->head -= item->batch * of_sequence;
      item->row = (packed[which(index)] & 0xffff) * Rows, item->q_first = item->k_first = 0;
    }
  }
};

/* Lays out the workspace. */
inline RaggedList list_of(const attn_problem &shape, const attn_buffers &buffers, const Cut &cut) {
  if (!attn_is_ragged(&shape)) return {nullptr, nullptr};
  RaggedPart *const parts = static_cast<RaggedPart *>(buffers.workspace);
  return {parts, reinterpret_cast<uint32_t *>(parts + cut.count)};
}
inline Partials partials_of(const attn_problem &shape, const attn_buffers &buffers,
                            const std::vector<Length> &lengths, const Cut &cut, uint32_t rows) {
  unsigned char *const sums = static_cast<unsigned char *>(buffers.workspace) + list_bytes(shape, lengths, cut);
  const uint64_t parts = (uint64_t)heads_of(shape) * cut.count;
  return {reinterpret_cast<float4 *>(sums), reinterpret_cast<float4 *>(sums + parts * sum_bytes(shape, rows)),
          strips_of_tile(shape, rows), octets_of(shape), cut.count};
}
inline Parts parts_of(const attn_problem &shape, const attn_buffers &buffers, const std::vector<Length> &lengths,
                      const Cut &cut, const Partials &partials) {
  Parts parts = {partials, list_of(shape, buffers, cut), heads_of(shape), divider(heads_of(shape)), {}};
  uint32_t count = 0;
  for (uint32_t tile = 0; tile < lengths.size() && !attn_is_ragged(&shape); ++tile) {
    const uint32_t of_tile = ceil_div(lengths[tile].tiles, cut.most);
    for (uint32_t part = 0; part < of_tile; ++part) parts.packed[count++] = packed_part(tile, part, of_tile);
  }
  return parts;
}

/* The argument of the pass that makes the list of a ragged batch. */
struct OrderParams {
  const int32_t *cu_seqlens_q, *cu_seqlens_k;
  uint32_t B;
  int32_t left, right;
  uint32_t most; /* tiles of keys of a part */
  RaggedList list;
};
inline OrderParams order_params(const attn_problem &shape, const attn_buffers &buffers, const Cut &cut) {
  return {buffers.cu_seqlens_q,        buffers.cu_seqlens_k, shape.B, shape.left, shape.right, cut.most,
          list_of(shape, buffers, cut)};
}

/* The argument of the pass that merges. */
struct MergeParams {
  Partials partials;
  RaggedList ragged;
  uint32_t strips, Sq; /* strips of the q tiles of a list; queries of a sequence, where all have so many */
  uint32_t heads;      /* of a sequence */
  Divider by_strips, by_tile_strips, by_heads;
  const float *sink;
  void *o;
  float *lse;
  attn_view o_view, lse_view;
  uint16_t first[kPartsMax + 1]; /* of sequences of one length: the first part of each q tile, and the end */
};

inline MergeParams merge_params(const attn_problem &shape, const attn_buffers &buffers,
                                const std::vector<Length> &lengths, const Cut &cut, const Partials &partials) {
  MergeParams merge = {};
  merge.partials = partials, merge.ragged = list_of(shape, buffers, cut);
  merge.strips = tiles_in(lengths) * partials.strips, merge.Sq = shape.Sq, merge.heads = shape.Hq;
  merge.by_strips = divider(merge.strips), merge.by_tile_strips = divider(partials.strips);
  merge.by_heads = divider(shape.Hq);
  merge.sink = buffers.sink, merge.o = buffers.o, merge.lse = buffers.lse;
  merge.o_view = attn_view_of(&shape, ATTN_O), merge.lse_view = attn_view_of(&shape, ATTN_LSE);
  for (uint32_t tile = 0; tile < lengths.size() && !attn_is_ragged(&shape); ++tile)
    merge.first[tile + 1] = (uint16_t)(merge.first[tile] + ceil_div(lengths[tile].tiles, cut.most));
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

/* Merges the parts of a strip of 16 rows, in kMergedOctets groups of eight columns. Part p goes to warp p modulo the
 * number of warps, and each warp sums its parts. Then warp j sums group j over all warps. T: the type of O. Rows: of
 * a q tile. grid: (strips of all heads, groups of columns). */
template <typename T, uint32_t Rows>
__global__ void __launch_bounds__(wgmma_split::kMergeWarpsMax *kWarp)
    wgmma_split_merge(const __grid_constant__ wgmma_split::MergeParams a) {
  using namespace wgmma_split;
  __shared__ float4 values[kMergeWarpsMax][kMergedOctets][kWarp];
  __shared__ float4 ends[kMergeWarpsMax][2][kWarp];
  const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  const uint32_t head = a.by_strips.quotient(blockIdx.x), of_head = blockIdx.x - head * a.strips;
  const uint32_t tile = a.by_tile_strips.quotient(of_head), strip = of_head - tile * a.partials.strips;
  const uint32_t octet = blockIdx.y * kMergedOctets;
  const MergedRow none = {minus_infinity(), 0.0f, 0.0f};
  MergedRow rows[2] = {none, none};
  float4 mine[kMergedOctets];
  float scale = 0.0f, before[2], added[2];
#pragma unroll
  for (uint32_t j = 0; j < kMergedOctets; ++j) mine[j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  ptx::wait_for_earlier_passes();
  uint32_t first, end, row, Sq, q_first = 0, batch = 0, head_in_batch = head;
  if (a.ragged.part != nullptr) {
    first = a.ragged.first[tile];
    const RaggedPart &part = a.ragged.part[first];
    end = first + part.parts, row = part.row + strip * kStrip, Sq = part.Sq, q_first = part.q_first;
  } else {
    first = a.first[tile], end = a.first[tile + 1], row = tile * Rows + strip * kStrip, Sq = a.Sq;
    batch = a.by_heads.quotient(head), head_in_batch = head - batch * a.heads;
  }
  if (row >= Sq) return;
#pragma unroll 2
  for (uint32_t part = first + warp; part < end; part += warps) {
    const uint64_t from = a.partials.strip_of(head * a.partials.count + part, strip);
    float4 x[kMergedOctets];
#pragma unroll
    for (uint32_t j = 0; j < kMergedOctets; ++j) {
      x[j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (octet + j < a.partials.octets)
        x[j] = __ldcg(a.partials.sums + (from * a.partials.octets + octet + j) * kWarp + lane);
    }
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const float4 of_part = __ldcg(a.partials.rows + from * kStrip + lane / 4 + 8 * i);
      rows[i].add(of_part.x, of_part.y, of_part.z, &before[i], &added[i]);
      scale = of_part.w;
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
      const float4 of_warp = ends[w][i][lane];
      rows[i].add(of_warp.x, of_warp.y, of_warp.z, &before[i], &added[i]);
    }
    add_values(sums, values[w][warp][lane], before, added);
  }
  scale = ends[0][0][lane].w; /* every q tile has a part, and all of its parts have one scale */
#pragma unroll
  for (uint32_t i = 0; i < 2; ++i) {
    float factor = 1.0f, unused;
    /* A sink's logit counts as one more score without a value. */
    if (a.sink != nullptr) rows[i].add(a.sink[head_in_batch] * 1.44269504f, 1.0f, 1.0f, &factor, &unused);
    factor = rows[i].divisor > 0.0f ? factor * scale / rows[i].divisor : 0.0f;
    const uint32_t query = row + lane / 4 + 8 * i;
    if (query >= Sq) continue;
    T *const to = static_cast<T *>(a.o) + attn_view_token(&a.o_view, batch, head_in_batch, q_first + query);
    const float x = i == 0 ? sums.x : sums.z, y = i == 0 ? sums.y : sums.w;
    *reinterpret_cast<uint32_t *>(to + 8 * (octet + warp) + lane % 4 * 2) = pack<T>(x * factor, y * factor);
    if (a.lse != nullptr && octet + warp == 0 && lane % 4 == 0)
      a.lse[attn_view_token(&a.lse_view, batch, head_in_batch, q_first + query)] =
          log_sum_exp(rows[i].reference, rows[i].sum);
  }
}

/* Makes the list of the parts of a ragged batch by a counting sort: the parts of q tiles whose longest part has most
 * tiles of keys come first. Parts of one q tile stay side by side. grid: one block of kOrderThreads threads. */
template <uint32_t Rows, uint32_t Keys>
__global__ void __launch_bounds__(wgmma_general::kOrderThreads, 1) wgmma_split_order(wgmma_split::OrderParams a) {
  using namespace wgmma_split;
  constexpr uint32_t kClasses = wgmma_general::kOrderThreads;
  __shared__ uint32_t place[kClasses], sums[kWarp], tiles;
  const uint32_t thread = threadIdx.x;
  const auto for_tiles = [&](auto with) {
    for_ragged_tiles(a, Rows, Keys, [&](uint32_t count, const RaggedTile &t) {
      const uint32_t parts = ceil_div(count, a.most);
      with(kClasses - min(ceil_div(count, parts), kClasses),
           RaggedPart{t.row, t.Sq, t.Skv, t.q_first, t.k_first, t.sequence, 0, parts});
    });
  };
  place[thread] = 0;
  if (thread == 0) tiles = 0;
  __syncthreads();
  for_tiles([&](uint32_t which, const RaggedPart &part) { atomicAdd(&place[which], part.parts); });
  __syncthreads();
  const uint32_t count = place[thread];
  place[thread] = sum_until(count, sums) - count;
  __syncthreads();
  for_tiles([&](uint32_t which, RaggedPart part) {
    const uint32_t first = atomicAdd(&place[which], part.parts);
    a.list.first[atomicAdd(&tiles, 1u)] = first;
    for (; part.part < part.parts; ++part.part) a.list.part[first + part.part] = part;
  });
}

}  // namespace attn
#endif

#endif
