/* mla: absorbed multi-head latent attention as DeepSeek's models decode it, on Hopper. Q and K have 576 columns, V is
 * the first 512 of K, and up to 128 query heads share the one KV head.
 *
 * Idea (kernels/tiles/mla_tile.cuh): all query heads and queries of a sequence are rows of one product, 64 to a
 *   block. O of 64 rows is 128 KB in fp32, half of an SM's registers, so two warpgroups have one half of its columns
 *   each. Tiles of 32 or 64 keys go to the two in turns. The one whose tile it is computes scores and weights, and
 *   gives the weights to the other through shared memory. While one makes weights, the other multiplies. The copy
 *   engine loads K once, as nine slabs of 64 columns. wgmma reads V from the same slabs, so nothing is transposed.
 *   With more than 64 rows a cluster of two blocks shares the keys: each fetches half of them for both. With more
 *   than 128, a team of clusters takes the rows of a sequence side by side and finds the keys in L2. Weights are
 *   taken relative to a reference of their row. It is raised only when a weight would exceed 2^8, so that most tiles
 *   cost a vote of the warp.
 *   Keys are shared among the SMs as in decode_general. Each team has an equal stretch of a line of units, which may
 *   begin and end within a sequence. The block that finishes an item last adds up the partial results of the others.
 *   A bundle is the items that a team takes together. Where lengths are equal, teams take whole bundles if that costs
 *   less: a partial result is 128 KB for each block.
 *
 * Source: FlashDecoding and stream-K for the shares of the keys; FlashMLA for two warpgroups with half of O's columns
 *   each. The rest is written from the PTX manual.
 *
 * Can win: against kernels that load V apart from K, which read 1.9 times the bytes; against kernels for D up to 256,
 *   which cannot take 576; against those whose heads are rows of tiles of their own.
 *
 * Cannot: use the tensor cores well with fewer than 64 rows: 16 heads take as many products as 64. Add up many
 *   partial results fast: the last block alone reads them, 128 KB each, so one sequence is cut into few parts. Read
 *   a shared prefix once. Take a page that is smaller than 8 tokens, as the swizzle repeats after 8 rows.
 *
 * Budget of 64 keys and 64 rows, 8.9 MFLOP, in clocks of an SM:
 *
 *                          tiles of 32 keys, four buffers    tiles of 64 keys, two buffers
 *   tensor cores           72 * 16 + 8 * 128 = 2176          36 * 32 + 8 * 128 = 2176
 *   shared memory          2944: 368 KB, as each tile        2368: 296 KB
 *                          reads Q again
 *   a load may take        2944, the time in which the       1000, what is left of 2368 when both
 *                          block uses the two others         warpgroups have used the buffer
 *
 *   Shared memory is the floor: 787 and 978 TFLOP/s at 1.97 GHz. A load takes 2400 to 3000 clocks from memory
 *   when all SMs ask for keys, and about 1000 from L2. So the kernel brings the next tile of 64 keys into L2. On
 *   an H100, with 128 heads and 128 sequences of 16384 keys in pages of 64, it reaches 633 TFLOP/s so, and 532
 *   without. Tiles of 32 keys reach 575. Where memory bounds, with 64 heads or fewer, tiles of 32 keys are
 *   faster by 3 %: 2.85 TB/s of 3.35.
 *   Teams: with two queries of 128 heads, a sequence has two items. One after the other, they read the keys from
 *   DRAM twice: 1.27 GB instead of 0.60 at 128 sequences of 4096 keys. The clusters of a team take them at the same
 *   time, and only the first fetches the next tile into L2: 0.64 GB. A launch then takes this share of its time
 *   without teams (H100, 128 sequences): two queries 0.86 (4096 and 16384 keys), four 0.83, 4096 and 16384 mixed
 *   0.86. Clusters of four blocks, which share each copy of the keys, take 1.5 times as long: a block then fetches
 *   boxes of 16 rows.
 *   Registers: O 128, scores 32, weights 16, references and sums of two rows 4, the walk along the items 10, and
 *   addresses: 232 by setmaxnreg (256 * 232 + 128 * 40 = 64512 of 65536).
 *   Shared memory, KB: Q 72, tiles 144, weights 8, values of rows 2, words and barriers 0.5: 226.5 of 227. */
#include "kernels/tiles/mla_tile.cuh"

namespace attn {

#ifdef __CUDACC__
template <uint32_t kKeys>
static const void *mla_handle(uint32_t cluster, enum attn_dtype dtype) {
  return for_type<__half, __nv_bfloat16>(dtype, [&](auto t) -> const void * {
    using T = typename decltype(t)::type;
    return cluster == 1 ? handle(mla_kernel<mla::Config<T, 1, kKeys>>) : handle(mla_kernel<mla::Config<T, 2, kKeys>>);
  });
}
#else
template <uint32_t kKeys>
static const void *mla_handle(uint32_t, enum attn_dtype) {
  return nullptr;
}
constexpr decltype(attn_variant::bind) mla_bind = nullptr;
#endif

enum { MLA_CLUSTER, MLA_SHARES, MLA_COST, MLA_KEYS, MLA_TEAM };
enum { MLA_WHOLE = 1, MLA_EQUAL = 2 };

constexpr uint32_t kMlaTeamMost = 64; /* clusters of a team */

static const attn_tunable mla_tunables[] = {
    {.name = "cluster",
     .max = 2,
     .help = "blocks of 64 rows that share keys: 1 or 2; 0: 2 where a sequence has more than 64 rows"},
    {.name = "shares",
     .max = 2,
     .help = "how work is shared among teams: 1: each takes all keys of a group of rows, 2: each takes an equal part "
             "of the work, which may cut the keys of a sequence; 0: what costs less, and 2 where lengths differ"},
    {.name = "item_cost",
     .min = 1,
     .max = 64,
     .default_value = 2,
     .help = "what the beginning and the end of a team's rows take, in tiles of 64 keys, whatever kv_tile is"},
    {.name = "kv_tile",
     .max = 64,
     .help = "keys of a tile: 32, in four buffers, or 64, in two; 0: what is fastest for the shape"},
    {.name = "team",
     .max = kMlaTeamMost,
     .help = "clusters that take different rows of a sequence and read its keys at the same time; must divide the "
             "number of clusters that the rows of each sequence fill; 0: what is fastest for the shape"},
    {.name = nullptr},
};

/* How a problem is cut up; a function of the problem, the tuning and the device. */
struct MlaCut {
  uint32_t cluster, row_warps;    /* blocks of a cluster; warps of a warpgroup that have rows */
  uint32_t keys, cost;            /* of a tile; units of a bundle beside those of its tiles */
  uint32_t items;                 /* of each sequence with queries; 0: not all have the same number */
  uint32_t team, teams;           /* clusters of a team; teams of the grid */
  uint64_t bundles, units, tiles; /* units of the line; tiles of the longest sequence */
  bool is_whole;
};

/* Units of a bundle beside those of its tiles. The tunable is in tiles of 64 keys. */
static uint32_t mla_bundle_cost(const attn_tuning &tuning, uint32_t keys) {
  return (uint32_t)tuning.value[MLA_COST] * 64 / keys;
}

/* What a partial result of 64 rows takes to be left and added up, in keys: 128 KB each way, at about 50 bytes a ns.
 */
constexpr double kMlaPartialCost = 192;

/* The time of the launch, in tiles, with equal shares for so many teams: a team leaves two partial results, and one
 * of them adds up those of a bundle. */
static double mla_cost(const MlaCut &cut, uint64_t teams) {
  const double in_bundle = (double)teams / (double)cut.bundles;
  return (double)cut.units / (double)teams + kMlaPartialCost / cut.keys * cut.row_warps / 4 * (2 + in_bundle);
}

static void mla_share(const attn_problem &p, const attn_tuning &tuning, uint64_t most, MlaCut *cut) {
  const uint64_t turn = cut->cost + cut->tiles;
  cut->teams = (uint32_t)(cut->units < most ? cut->units : most);
  for (uint32_t teams = cut->teams; teams-- > 1;)
    if (mla_cost(*cut, teams) < mla_cost(*cut, cut->teams)) cut->teams = teams;
  if (attn_is_ragged(&p) || tuning.value[MLA_SHARES] == MLA_EQUAL) return;
  const double rounds = (double)((cut->bundles + most - 1) / most);
  cut->is_whole = tuning.value[MLA_SHARES] == MLA_WHOLE || rounds * (double)turn <= mla_cost(*cut, cut->teams);
  if (cut->is_whole) cut->teams = (uint32_t)(cut->bundles < most ? cut->bundles : most);
}

/* The items of a sequence of Sq queries. */
static uint32_t mla_items(const attn_problem &p, uint32_t cluster, uint32_t Sq) {
  const uint64_t of_rows = mla::kRows * cluster;
  return (uint32_t)(((uint64_t)Sq * p.Hq + of_rows - 1) / of_rows);
}

/* The items of each sequence that has queries; 0 where not all have the same number. */
static uint32_t mla_common_items(const attn_problem &p, uint32_t cluster) {
  uint32_t common = 0;
  for (uint32_t i = 0; i < attn_group_count(&p); ++i) {
    const uint32_t items = mla_items(p, cluster, attn_group_of(&p, i).Sq);
    if (items != 0 && common != 0 && items != common) return 0;
    if (items != 0) common = items;
  }
  return common;
}

/* The largest team that divides the items of a sequence and leaves at most a twentieth of the clusters idle. */
static uint32_t mla_team(const MlaCut &cut, uint32_t clusters) {
  const uint32_t most = clusters < kMlaTeamMost ? clusters : kMlaTeamMost;
  for (uint32_t team = cut.items < most ? cut.items : most; team > 1; --team)
    if (cut.items % team == 0 && clusters / team * team * 20 >= clusters * 19) return team;
  return 1;
}

static MlaCut mla_cut(const attn_problem &p, const attn_tuning &tuning, const device_info &device) {
  MlaCut cut = {};
  const uint64_t rows = (uint64_t)p.Sq * p.Hq;
  cut.cluster = (uint32_t)tuning.value[MLA_CLUSTER];
  if (cut.cluster == 0) cut.cluster = rows > mla::kRows ? 2 : 1;
  const uint32_t clusters = device.sms / cut.cluster > 0 ? device.sms / cut.cluster : 1;
  cut.row_warps = rows < mla::kRows ? ceil_div((uint32_t)rows, 16) : 4;
  cut.items = mla_common_items(p, cut.cluster);
  cut.team = (uint32_t)tuning.value[MLA_TEAM];
  if (cut.team == 0) cut.team = mla_team(cut, clusters);
  cut.keys = (uint32_t)tuning.value[MLA_KEYS];
  if (cut.keys == 0) cut.keys = cut.cluster == 2 && cut.items == cut.team ? 64 : 32;
  cut.cost = mla_bundle_cost(tuning, cut.keys);
  cut.tiles = ceil_div(p.Skv, cut.keys);
  for (uint32_t i = 0; i < attn_group_count(&p); ++i) {
    const attn_group group = attn_group_of(&p, i);
    const uint64_t bundles = (uint64_t)group.count * (mla_items(p, cut.cluster, group.Sq) / cut.team);
    cut.bundles += bundles;
    cut.units += bundles * (cut.cost + ceil_div(group.Skv, cut.keys));
  }
  if (cut.bundles > 0) mla_share(p, tuning, clusters / cut.team > 0 ? clusters / cut.team : 1, &cut);
  return cut;
}

/* Why the kernel does not take the problem itself; nullptr: it does. */
static const char *mla_refusal(const attn_problem &p) {
  if (!p.v_in_k) return "v_in_k must be true: V is the first 512 columns of K";
  if (p.D != mla::kD) return "D must be 576: 512 latent columns, which V is, and 64 rotary ones";
  if (p.Dv != mla::kDv) return "Dv must be 512: each of two warpgroups has 256 columns of O";
  if (p.Hkv != 1) return "Hkv must be 1: all query heads are rows of one product";
  if (p.Hq > 128) return "Hq must be at most 128";
  if (const char *why = page_refusal(p)) return why;
  if (attn_tokens(&p, ATTN_ROWS_QUERIES) == 0 || attn_tokens(&p, ATTN_ROWS_KEYS) == 0)
    return "batch must have a query and a key: a tensor without elements has no tensor map";
  return nullptr;
}

static const char *mla_supports(const attn_problem *p, const attn_tuning *tuning, const device_info *device) {
  if (const char *why = check_hopper(*device)) return why;
  const char *refusal = mla_refusal(*p);
  if (refusal != nullptr) return refusal;
  const int32_t keys = tuning->value[MLA_KEYS];
  if (keys != 0 && keys != 32 && keys != 64) return "kv_tile must be 0, 32 or 64";
  if (tuning->value[MLA_SHARES] == MLA_WHOLE && attn_is_ragged(p))
    return "shares must be 0 or 2 where the lengths of sequences differ";
  if ((uint64_t)p->Sq * p->Hq > INT32_MAX / 2) return "Sq * Hq must be below 2^30";
  const MlaCut cut = mla_cut(*p, *tuning, *device);
  if (cut.team > 1 && (cut.items == 0 || cut.items % cut.team != 0))
    return "team must divide the number of clusters that the rows of each sequence fill";
  if (cut.team * cut.cluster > device->sms) return "team * cluster must be at most the number of SMs";
  if (cut.units > INT32_MAX) return "B * Skv must be below 2^31 tiles of keys";
  return check_device(*device, mla::smem_bytes(cut.keys));
}

static void mla_plan(const attn_problem *p, const attn_tuning *tuning, const device_info *device, attn_plan *plan) {
  const MlaCut cut = mla_cut(*p, *tuning, *device);
  plan->pass_count = 1;
  plan->tile_q = mla::kRows, plan->tile_kv = cut.keys, plan->stages = mla::buffers_of(cut.keys);
  plan->splits = cut.is_whole ? 1 : (uint32_t)((cut.teams - 1) / cut.bundles + 1);
  const uint32_t team_blocks = cut.team * cut.cluster, blocks = cut.teams * team_blocks;
  if (!cut.is_whole && cut.teams > 1) {
    if (plan->splits == 1) plan->splits = 2;
    plan->zeroed_bytes = counter_bytes(blocks);
    plan->workspace_bytes = plan->zeroed_bytes + blocks * mla::partial_bytes(cut.row_warps);
  }
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = cut.keys == 64 ? mla_handle<64>(cut.cluster, p->dtype) : mla_handle<32>(cut.cluster, p->dtype);
  pass.cluster[0] = cut.cluster;
  set_grid(pass, team_blocks, team_blocks > 1 ? ATTN_COVERS_Q : ATTN_COVERS_NOTHING, cut.teams,
           ATTN_COVERS_B | ATTN_COVERS_HKV | (cut.items == cut.team ? 0 : ATTN_COVERS_Q) |
               (cut.is_whole ? 0 : ATTN_COVERS_SPLIT),
           1, ATTN_COVERS_NOTHING);
  set_block(pass, mla::kThreads, mla::kConsumers, mla::smem_bytes(cut.keys), mla::kThreads - mla::kConsumers);
}

#ifdef __CUDACC__
static struct status mla_bind(const attn_problem *p, const attn_plan *plan, const attn_buffers *buffers,
                              attn_pass_args args[ATTN_PASSES_MAX]) {
  const attn_pass &pass = plan->pass[0];
  const uint32_t cluster = pass.cluster[0], share = plan->tile_kv / cluster;
  const uint32_t team = pass.grid[0] / cluster, teams = pass.grid[1], blocks = pass.grid[0] * teams;
  MlaParams a = {};
  a.attention = params_of(*p, *buffers), a.at = views_of(*p, *buffers);
  a.right = p->right, a.by_heads = divider(p->Hq), a.by_teams = divider(teams);
  a.boxes = page_boxes(*p, share);
  a.cost = mla_bundle_cost(plan->tuning, plan->tile_kv);
  a.is_whole = (pass.covers[1] & ATTN_COVERS_SPLIT) == 0;
  const uint64_t rows = (uint64_t)p->Sq * p->Hq;
  const uint32_t bundles = mla_items(*p, cluster, p->Sq) / team;
  a.by_bundles = divider(bundles), a.bundles_most = team > 1 ? bundles : UINT32_MAX;
  a.by_sequence = divider(bundles * (a.cost + ceil_div(p->Skv, plan->tile_kv)));
  a.reads_once = rows <= mla::kRows * cluster;
  a.row_warps = rows < mla::kRows ? ceil_div((uint32_t)rows, 16) : 4;
  a.arrivals = static_cast<uint32_t *>(buffers->workspace);
  a.stats = reinterpret_cast<float2 *>(static_cast<unsigned char *>(buffers->workspace) + plan->zeroed_bytes);
  a.partial = reinterpret_cast<float4 *>(a.stats + (size_t)blocks * mla::kPartials * mla::kRows);
  TRY(tensor_map_make(&a.k, buffers->k, p->dtype, a.at.k.batch, a.at.k.tokens, mla::kD, a.boxes.rows,
                      CU_TENSOR_MAP_L2_PROMOTION_L2_128B));
  put_args(args[0], a);
  return status_ok();
}
#endif

}  // namespace attn

extern "C" const struct attn_variant attn_variant_mla = {
    .name = "mla",
    .summary = "Hopper: multi-head latent attention as it is decoded, D of 576 with V in K, one KV head",
    .limits =
        "Dv = 512, V in K, Hkv = 1, Hq <= 128; no pages, or of 8 to 256 tokens, a power of two; compute "
        "capability 9.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_WGMMA,
    .takes =
        ATTN_TAKES_LSE | ATTN_TAKES_DV | ATTN_TAKES_LAYOUT | ATTN_TAKES_BATCH | ATTN_TAKES_PAGE | ATTN_TAKES_V_IN_K,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = "wgmma has no fp32 inputs",
    .dims = {.one_of = {512, 576}, .why = "keys have 512 latent columns, which V is, and 64 rotary ones"},
    .tunables = attn::mla_tunables,
    .supports = attn::mla_supports,
    .plan = attn::mla_plan,
    .bind = attn::mla_bind,
    .run = nullptr,
};
