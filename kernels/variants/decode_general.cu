/* decode_general: decoding as it is served: K and V in pages and of e4m3, sequences of unlike lengths, several
 * queries at a time.
 *
 * Idea: as decode, the rows of the product are all queries of a KV head, so that K and V are read once for all of
 *   them. What differs is who reads what (kernels/tiles/decode_general_tile.cuh):
 *   Work is cut by keys, not by sequences. The tiles of keys of all KV heads form one line of units: each tile is one
 *   unit, and `item_cost` more units stand for the start and end of a head. Each block takes an equal stretch of the
 *   line, which may begin and end within a sequence, and computes it from the sequence lengths by a prefix sum over
 *   its threads, in about the time of one read of memory. So one long sequence keeps no SM busier than many short
 *   ones do, the host need not know the lengths, and no pass makes a list. Where heads of one length nearly fill the
 *   SMs, each block takes a whole one, which costs less than sharing. Up to 16 rows, each warp has its own keys
 *   and its own ring of stages, and waits for other warps only at the end of an item. With more rows, groups of 2
 *   or 4 warps share a ring, 16 rows to each warp, and synchronise once per tile. Each row of a tile is looked up
 *   in the page table, a tile ahead, so a page of one token costs as many instructions as a page of 256. Copies do
 *   not stop at the end of an item: while a block adds up the results of one, the keys of the next are being
 *   fetched. A block has at most two partial results: of the item that it begins with, and of the item that it ends
 *   with. The last block of an item to arrive adds up the item's partial results in the order of the blocks, which
 *   gives the same bits in each run. A block knows from counters in the workspace that it is the last. They are
 *   zero before a launch and after it, so launches with workspaces of their own may run at the same time.
 *
 * Source: FlashDecoding for the splits, stream-K for the line of work; the rest is written from the PTX manual.
 *
 * Can win: against kernels that give a sequence a fixed number of splits, where lengths differ; against copies by
 *   page boxes, where pages are small; and against decode, which reads no pages.
 *
 * Cannot: read a shared prefix once: each sequence reads it, from L2 where it fits. Use tensor cores well: with one
 *   query and 4 heads that share K and V, only 4 of the 16 rows of a warp hold data; with more than 64 rows, K and V
 *   are read again for each 64. Add up partial results as fast as decode, whose splits exchange packets: here the
 *   last block reads them, which takes one more trip to L2.
 *
 * Budget, an H200 at D = 128, bf16: memory gives an SM 36 bytes a ns or 20 a clock, a key's K and V are 512 bytes: 25
 *   clocks. So memory takes 410 clocks for a tile of 16 keys. A warp takes about 1000: 32 mma of 16 x 8 x 16 one
 *   after the other, 32 clocks of latency each. So 3 warps keep memory busy; there are 8. A tile has 16 loads of
 *   matrices, 16 copies and 8 exponentials: some 370 instructions, 93 clocks of each of 4 schedulers. In flight: 8
 *   warps * 1 of 2 stages * 8 KB = 64 KB; the latency of 1 us times the rate needs 36 KB at least.
 *   Registers of 255, by the compiler for 16 rows: Q D / 4, O D / 2, scores and weights 12, and the rest for two
 *   walks along the items and for addresses: 242 at D = 128, 198 at D = 64. Shared memory, KB: 8 * 2 * 8 + 8 * 4 *
 *   0.58 = 147 at 4 rows, 8 * 2 * 8 + 74 = 202 at 16 rows.
 *
 * Budget with K and V of e4m3: a key has half the bytes, so a tile has twice the keys in as many copies. Memory takes
 *   400 clocks for 32 keys of D = 128, the instructions of a warp's tile 110 of them (decode_general_tile.cuh). 8
 *   warps have 3200 clocks for a tile each, of which products one after the other take about 1500. More rows cost
 *   more: each warp of a group converts all keys of the tile, so that 64 rows take 440 clocks, more than memory.
 *   Registers: D = 128: 247; D = 64: 183. Weights have 13 bits more than the range of f16 asks for, so P is rounded
 *   to 11 bits whatever the type of Q.
 *
 * Budget of D = 256: the sums take 128 registers, so Q lies in shared memory, 8 KB for 16 rows, and is read for each
 *   tile: 16 loads beside 64 products. 255 registers for K and V of 16 bits, 237 to 250 for e4m3. 4 warps with stages
 *   of 16 KB each, or 8 with 8 KB where rows are few. */
#include "kernels/tiles/decode_general_tile.cuh"

namespace attn {

using decode_general::Shape;

/* The kernels that are compiled; the first one of the problem's D and type of K and V whose group has the item's rows
 * is taken, or the last. */
constexpr Shape kDecodeGeneral[] = {
    {64, 1, 32, 2},  {64, 2, 32, 2},  {64, 4, 64, 2},  {128, 1, 16, 2}, {128, 2, 32, 2}, {128, 4, 32, 2},
    {256, 1, 16, 2}, {256, 4, 32, 2}, {64, 1, 32, 1},  {64, 2, 64, 1},  {64, 4, 64, 1},  {128, 1, 32, 1},
    {128, 2, 32, 1}, {128, 4, 32, 1}, {256, 1, 16, 1}, {256, 4, 32, 1},
};

#ifdef __CUDACC__
/* grid: blocks with equal stretches of the line of work */
template <typename C>
__global__ void __launch_bounds__(decode_general::kWarpsMax *kWarp, 1)
    decode_general_kernel(const __grid_constant__ DecodeGeneralParams a) {
  extern __shared__ __align__(128) unsigned char smem_base[];
  if constexpr (C::kShape.kv_bytes == 2 || decode_general::kHasE4m3)
    decode_general::attend<typename C::T, C::kShape>(a, ptx::shared_address(smem_base));
}

static const void *decode_general_handle(const Shape &shape, enum attn_dtype dtype) {
  return for_row<std::size(kDecodeGeneral)>(&shape - kDecodeGeneral, [&](auto row) {
    return for_type<__half, __nv_bfloat16>(dtype, [](auto t) -> const void * {
      constexpr const Shape &kShape = kDecodeGeneral[decltype(row)::value];
      return handle(decode_general_kernel<decode_general::Config<typename decltype(t)::type, kShape>>);
    });
  });
}
#else
static const void *decode_general_handle(const Shape &, enum attn_dtype) { return nullptr; }
constexpr decltype(attn_variant::bind) decode_general_bind = nullptr;
#endif

/* ---- tunables and plan --------------------------------------------------------------------------------------- */

enum { GENERAL_WARPS, GENERAL_STAGES, GENERAL_BLOCKS, GENERAL_COST };

static const attn_tunable decode_general_tunables[] = {
    {.name = "warps",
     .max = (int32_t)decode_general::kWarpsMax,
     .help =
         "warps of a block: 1, 2, 4 or 8, and as many as share a stage at least; 0 = the most that have 2 stages"},
    {.name = "stages",
     .max = (int32_t)decode_general::kStagesMax,
     .help = "tiles of keys in the ring of a group of warps, 2 at least; 0 = 2, or more where K and V are e4m3 or D "
             "is 256"},
    {.name = "blocks", .min = 1, .max = 4, .default_value = 1, .help = "blocks of an SM"},
    {.name = "item_cost",
     .min = 1,
     .max = 64,
     .default_value = 2,
     .help = "what the beginning and the end of a KV head of a sequence take, in tiles of keys"},
    {.name = nullptr},
};

/* How a problem is cut up; a function of the problem, the tuning and the device. */
struct DecodeGeneralCut {
  const Shape *shape;                         /* NULL: no kernel has this D */
  uint32_t rows, warp_rows;                   /* of an item, of a warp */
  uint32_t warps, stages, blocks, smem_bytes; /* 0 stages: shared memory does not hold two */
  uint64_t heads, tiles;                      /* items; tiles of the longest of them */
};

static uint32_t decode_general_least(uint64_t x, uint64_t y) { return (uint32_t)(x < y ? x : y); }

static bool decode_general_fits(const DecodeGeneralCut &cut, uint32_t warps, uint32_t stages,
                                const attn_tuning &tuning, const device_info &device) {
  const uint32_t share =
      device.smem_per_sm_bytes / (uint32_t)tuning.value[GENERAL_BLOCKS] - device.smem_reserved_bytes;
  const uint32_t room = decode_general_least(share, device.smem_per_block_bytes) - decode_general::kStaticBytes;
  return decode_general::smem_bytes(*cut.shape, warps, cut.warp_rows, stages) <= room;
}

/* Stages of e4m3, or of the few warps of D = 256, until 48 KB are in flight. */
static uint32_t decode_general_more_stages(const DecodeGeneralCut &cut, uint32_t warps, const attn_tuning &tuning,
                                           const device_info &device) {
  const uint32_t ring = warps / cut.shape->row_warps * decode_general::stage_bytes(*cut.shape);
  uint32_t stages = 2;
  if (cut.shape->kv_bytes == 2 && cut.shape->D < 256) return stages;
  while (stages < decode_general::kStagesMax && (stages - 1) * ring < decode_general::kInFlightBytes &&
         decode_general_fits(cut, warps, stages + 1, tuning, device))
    ++stages;
  return stages;
}

static uint32_t decode_general_stages(const DecodeGeneralCut &cut, uint32_t warps, const attn_tuning &tuning,
                                      const device_info &device) {
  const uint32_t asked = (uint32_t)tuning.value[GENERAL_STAGES];
  if (!decode_general_fits(cut, warps, asked != 0 ? asked : 2, tuning, device)) return 0;
  return asked != 0 ? asked : decode_general_more_stages(cut, warps, tuning, device);
}

/* The most warps that have 2 stages each, and no more stages. On an H200, with K and V of 16 bits, a third one gains
 * 1 % at pages of 64 and loses 3 % at pages of 16; fewer warps with more stages lose 2 to 9 %. */
static void decode_general_cut_block(const attn_tuning &tuning, const device_info &device, DecodeGeneralCut *cut) {
  const uint32_t asked = (uint32_t)tuning.value[GENERAL_WARPS];
  const uint32_t least = asked < cut->shape->row_warps ? cut->shape->row_warps : asked;
  for (uint32_t warps = asked != 0 ? least : decode_general::kWarpsMax; warps >= least && cut->stages == 0;
       warps /= 2)
    cut->warps = warps, cut->stages = decode_general_stages(*cut, warps, tuning, device);
  cut->smem_bytes = decode_general::smem_bytes(*cut->shape, cut->warps, cut->warp_rows, cut->stages);
}

/* The bytes that a block could read in the time that sharing items costs it. On an H100 these are about 7 us: it
 * leaves two partial results, and adds up those of an item. */
constexpr double kDecodeGeneralShareBytes = 128 * 1024;

/* Whether each block had better take one whole item than all blocks equal shares. */
static bool decode_general_is_whole(const DecodeGeneralCut &cut, const attn_tuning &tuning) {
  const double whole = (double)cut.tiles + tuning.value[GENERAL_COST];
  return whole * decode_general::stage_bytes(*cut.shape) <=
         whole * decode_general::stage_bytes(*cut.shape) * (double)cut.heads / cut.blocks + kDecodeGeneralShareBytes;
}

static DecodeGeneralCut decode_general_cut(const attn_problem &p, const attn_tuning &tuning,
                                           const device_info &device) {
  DecodeGeneralCut cut = {};
  const uint64_t rows = (uint64_t)p.Hq / p.Hkv * p.Sq;
  for (const Shape &shape : kDecodeGeneral)
    if (shape.D == p.D && shape.kv_bytes == attn_dtype_bytes(attn_kv_dtype(&p)) &&
        (cut.shape == nullptr || rows > decode_general::kWarpRows * cut.shape->row_warps))
      cut.shape = &shape;
  if (cut.shape == nullptr) return cut;
  cut.rows = decode_general_least(rows, decode_general::kWarpRows * cut.shape->row_warps);
  cut.warp_rows = decode_general_least(rows, decode_general::kWarpRows);
  cut.heads = (uint64_t)p.B * p.Hkv * ((rows - 1) / (decode_general::kWarpRows * cut.shape->row_warps) + 1);
  cut.tiles = ceil_div(p.Skv, cut.shape->keys);
  decode_general_cut_block(tuning, device, &cut);
  if (cut.stages == 0) return cut;
  const uint64_t most = (uint64_t)device.sms * (uint32_t)tuning.value[GENERAL_BLOCKS];
  const uint64_t groups = cut.warps / cut.shape->row_warps;
  cut.blocks = decode_general_least(most, cut.heads * ((cut.tiles - 1) / groups + 1));
  if (!attn_is_ragged(&p) && cut.heads <= most && decode_general_is_whole(cut, tuning))
    cut.blocks = (uint32_t)cut.heads;
  return cut;
}

/* Elements of K in 16 bytes. */
static uint32_t decode_general_unit(const attn_problem &p) {
  return decode_general::kChunkBytes / attn_dtype_bytes(attn_kv_dtype(&p));
}

static const char *decode_general_supports(const attn_problem *p, const attn_tuning *tuning,
                                           const device_info *device) {
  const int32_t warps = tuning->value[GENERAL_WARPS];
  if (warps != 0 && warps != 1 && warps != 2 && warps != 4 && warps != 8) return "warps must be 0, 1, 2, 4 or 8";
  if (tuning->value[GENERAL_STAGES] == 1) return "stages must be 0 or at least 2";
  const bool is_narrow = attn_kv_dtype(p) == ATTN_E4M3;
  if (is_narrow && device->cc_major * 10 + device->cc_minor < 89)
    return "kv_dtype must be left out: GPUs convert e4m3 from compute capability 8.9 on";
  if (is_narrow && p->scales == ATTN_SCALES_BLOCK)
    return "scales must be head or tensor: it multiplies the scores and the sums of a KV head by one scale each";
  const DecodeGeneralCut cut = decode_general_cut(*p, *tuning, *device);
  if (cut.stages == 0)
    return "the shared memory of a block is too small for two stages, or those asked for, of these warps";
  if ((uint64_t)p->Hq / p->Hkv * p->Sq > INT32_MAX) return "Sq * Hq / Hkv must be below 2^31";
  if (cut.heads * ((uint64_t)tuning->value[GENERAL_COST] + cut.tiles) > INT32_MAX)
    return "B * Hkv * Skv must be below 2^31 tiles of keys";
  const attn_view k = attn_view_of(p, ATTN_K);
  const uint64_t elements = attn_is_paged(p) ? k.batch * k.batch_stride : k.tokens * k.token_stride;
  if (elements / decode_general_unit(*p) > UINT32_MAX)
    return "K must be at most 64 GB: the places of its rows are 32-bit numbers of 16 bytes";
  return check_device(*device, cut.smem_bytes);
}

/* Blocks share items unless each has one, or one tile. */
static bool decode_general_shares(const attn_problem &p, const DecodeGeneralCut &cut) {
  return cut.blocks > 1 && cut.tiles > 1 && (attn_is_ragged(&p) || cut.blocks != cut.heads);
}

static void decode_general_plan(const attn_problem *p, const attn_tuning *tuning, const device_info *device,
                                attn_plan *plan) {
  const DecodeGeneralCut cut = decode_general_cut(*p, *tuning, *device);
  plan->pass_count = 1;
  plan->tile_q = decode_general::kWarpRows * cut.shape->row_warps, plan->tile_kv = cut.shape->keys;
  plan->splits = (uint32_t)((cut.blocks - 1) / cut.heads + 1), plan->stages = cut.stages;
  if (decode_general_shares(*p, cut)) {
    if (plan->splits == 1) plan->splits = 2;
    plan->zeroed_bytes = counter_bytes(cut.blocks);
    plan->workspace_bytes = plan->zeroed_bytes + cut.blocks * decode_general::partial_bytes(p->D, cut.rows);
  }
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = decode_general_handle(*cut.shape, p->dtype);
  set_grid(pass, cut.blocks, ATTN_COVERS_B | ATTN_COVERS_HKV | ATTN_COVERS_Q | ATTN_COVERS_SPLIT, 1,
           ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING);
  set_block(pass, cut.warps * 32, cut.warps * 32, cut.smem_bytes);
}

#ifdef __CUDACC__
static struct status decode_general_bind(const attn_problem *p, const attn_plan *plan, const attn_buffers *buffers,
                                         attn_pass_args args[ATTN_PASSES_MAX]) {
  const uint64_t rows = (uint64_t)p->Hq / p->Hkv * p->Sq;
  DecodeGeneralParams a = {};
  a.attention = params_of(*p, *buffers), a.at = views_of(*p, *buffers);
  a.left = p->left, a.right = p->right;
  if (p->softcap > 0) a.cap = (float)(M_LOG2E * p->softcap), a.cap_inverse = (float)(1 / (M_LOG2E * p->softcap));
  a.sink = buffers->sink;
  a.page = p->page, a.group = p->Hq / p->Hkv;
  a.by_page = divider(a.page > 0 ? a.page : 1), a.by_group = divider(a.group);
  a.by_blocks = divider(plan->pass[0].grid[0]);
  a.k_scale = buffers->k_scale, a.v_scale = buffers->v_scale;
  a.scale_heads = p->scales == ATTN_SCALES_TENSOR ? 0 : p->Hkv;
  const uint32_t unit = decode_general_unit(*p);
  a.page_units = (uint32_t)(a.at.k.batch_stride / unit), a.key_units = (uint32_t)(a.at.k.token_stride / unit);
  if (a.page == 0) a.page_units = 0;
  a.rows = decode_general_least(rows, plan->tile_q),
  a.warp_rows = decode_general_least(rows, decode_general::kWarpRows);
  a.stages = plan->stages, a.cost = (uint32_t)plan->tuning.value[GENERAL_COST];
  const attn_mask mask = {p->Sq, p->Skv, p->left, p->right};
  a.keys = attn_mask_rows(&mask, 0, p->Sq);
  a.tiles = a.keys.end > a.keys.first ? ceil_div(a.keys.end - a.keys.first, plan->tile_kv) : 0;
  a.row_blocks = (uint32_t)((rows - 1) / plan->tile_q + 1);
  a.by_item = divider(a.cost + a.tiles), a.by_sequence = divider((a.cost + a.tiles) * a.row_blocks * p->Hkv);
  a.arrivals = static_cast<uint32_t *>(buffers->workspace);
  a.partial = reinterpret_cast<float *>(static_cast<unsigned char *>(buffers->workspace) + plan->zeroed_bytes);
  a.stats = a.partial + (size_t)plan->pass[0].grid[0] * decode_general::kPartials * a.rows * p->D;
  put_args(args[0], a);
  return status_ok();
}
#endif

}  // namespace attn

extern "C" const struct attn_variant attn_variant_decode_general = {
    .name = "decode_general",
    .summary =
        "decoding as it is served: pages, caches of e4m3, unlike lengths; equal shares of all keys for all SMs",
    .limits = "Dv is D, V is not in K; compute capability >= 8.0; e4m3 for K and V >= 8.9, without scales of blocks",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_TENSOR,
    .takes = ATTN_TAKES_LSE | ATTN_TAKES_WINDOW | ATTN_TAKES_SOFTCAP | ATTN_TAKES_SINK | ATTN_TAKES_LAYOUT |
             ATTN_TAKES_BATCH | ATTN_TAKES_PAGE | ATTN_TAKES_SCALES | ATTN_TAKES_KV_DTYPE,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = "mma.m16n8k16 has no fp32 inputs",
    .dims = {.one_of = {64, 128, 256}},
    .tunables = attn::decode_general_tunables,
    .supports = attn::decode_general_supports,
    .plan = attn::decode_general_plan,
    .bind = attn::decode_general_bind,
    .run = nullptr,
};
