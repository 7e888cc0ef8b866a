/* cluster_split: short shapes, where the GPU is half empty. The keys of 64 query rows are shared by the warpgroups of
 * a block and by the blocks of a cluster, which merge in shared memory, their own and each other's.
 *
 * Idea: at S = 512 a head is 8 q tiles, and one warpgroup after the other takes 8 tiles of keys. Here up to 8 shares
 *   of the keys are worked on at once, tile after tile in turn, so that causal shares are alike. Each share fetches
 *   for itself and waits for nobody until the parts meet (kernels/tiles/group_tile.cuh): a lane's accumulators go to
 *   the lane of the same number, a part of the columns to each warpgroup and block, in one exchange each. How many
 *   shares is looked up in what each kernel takes, below. Without compute capability 9.0 it is the same with warps of
 *   16 rows and mma.sync, four shares, at D = 128 two, and no cluster.
 *
 * Source: FlashDecoding (Dao et al. 2023) for the split, without its second pass; distributed shared memory instead
 *   of a workspace. Sums have a fixed order: the same bits in each run.
 *
 * Floor, H200, hot, us: a node in a chain 0.65 (128 blocks 0.76, a cluster 0.03 more); first instruction to first
 *   tile 0.4 at best (fetch 200 clocks of code, 400 of copy engine); a tile of 64 keys 0.35 (products 200 + 190
 *   clocks, softmax 256 to 540); an exchange 0.15 in a block, 0.25 in a cluster; the store, and its way to memory
 *   before the next launch, 0.6. Together 2.1 for one tile, 2.4 with a cluster. Predicted of latencies alone, before
 *   the first rung: B = H = 1, S = 128 in 2.3, B = 1, H = 8, S = 512 in 4.2, D = 64; cold caches were not thought of.
 *
 * Can win: below a wave of `wgmma`, whose blocks take all keys of their rows: up to B * Hq * ceil(Sq / 64) of about
 *   130; long keys for few queries (Sq = 64, Skv = 2048).
 *
 * Cannot: win when the GPU is full: no overlap of softmax and products inside a warpgroup, no turns, Q fetched once
 *   for each share. At B * H = 64, S = 512 it takes 1.3 times the time of `wgmma`.
 *
 * Budget: registers per thread at D = 64 / 128: S 32, P 16 in the places of S, O 32 / 64, about 35 more: 101 / 132 of
 *   255. Shared memory: Q 8 / 16 KB; for each warpgroup one or two stages of K and V, 16 / 32 KB;
 *   parts of two warpgroups 16 / 32 KB; what the cluster sends 8 to 16 / 16 to 32 KB: 24 to 215 KB.
 *
 * Measured, H200, f16, hot, us (cuDNN 9.14 beside it in the same run; `attnbench --sweep shapes/short.json`):
 *
 *   B,H,S,D        here   wgmma  cuDNN       B,H,S,D              here   wgmma  cuDNN
 *   1,1,64,64      2.51   3.41   7.06        1,8,512,64           4.45   5.86   9.15
 *   1,1,128,64     2.75   3.31   7.20        1,8,512,64 causal    4.44   6.44   9.64
 *   1,1,256,64     3.04   4.11   6.87        2,8,333,64           5.52   5.75   10.1
 *   1,1,512,64     3.57   5.70   8.88        4,8,64x2048,64       8.79   14.4   20.5
 *   1,1,1024,64    4.46   8.62   12.7        1,4,512,128          6.04   7.26   11.2
 *   8,8,128,64     3.85   3.74   7.93        2,8,777,64 causal    8.70   9.23   14.5
 *
 * Rungs, us at 1,1,128,64 and 1,8,512,64. The clock inside the kernel showed that launches begin with cold
 * instruction and constant caches, and that straight code costs 2.5 clocks an instruction; so each rung is less code:
 *   mma.sync, 16 rows a warp, cp.async by all threads, counts in the argument   3.23   6.23   3300 instructions,
 * loads asked for after 1250 to 2280 clocks, 1600 to 3300 to merge the same with wgmma 3.58   5.94 counts known to
 * the compiler, copy engine, merging by lanes of a number     2.96   4.72   1100 instructions three threads fetch
 * side by side, O's address worked out during the wait    2.81   4.55 What did not win: tiles of 128 keys (2 % either
 * way), 8 blocks in a cluster (2 % at one head), four warpgroups; executing the softmax and the store once during the
 * wait, to have their instructions in the cache (0.3 slower); 32 rows for each warp of mma.sync. */
#include "kernels/tiles/group_tile.cuh"

namespace attn {

using group_tile::Shape;

/* The kernels that are compiled, with what they take on an H200, in units of 10 ns: that of one wave with one tile
 * for each group; more for each further tile; more for each further block on an SM, and for each of its tiles; and
 * more when all SMs work than when one does. X(first, step, block, block_step, full, D, keys, strips, groups,
 * cluster, wgmma) */
#define CLUSTER_SPLIT_KERNELS(X)                     \
  X(271, 66, 46, 23, 74, 64, 64, 4, 1, 1, true)      \
  X(291, 65, 45, 18, 32, 64, 64, 4, 1, 2, true)      \
  X(288, 59, 0, 49, 82, 64, 64, 4, 1, 4, true)       \
  X(313, 82, 47, 71, 70, 64, 64, 4, 2, 1, true)      \
  X(347, 78, 66, 52, 34, 64, 64, 4, 2, 2, true)      \
  X(319, 55, 165, 62, 132, 64, 64, 4, 2, 4, true)    \
  X(352, 86, 106, 55, 140, 128, 64, 4, 1, 1, true)   \
  X(371, 81, 87, 109, 76, 128, 64, 4, 1, 2, true)    \
  X(349, 70, 248, 190, 192, 128, 64, 4, 1, 4, true)  \
  X(427, 105, 335, 119, 136, 128, 64, 4, 2, 1, true) \
  X(464, 101, 303, 121, 56, 128, 64, 4, 2, 2, true)  \
  X(338, 11, 188, 196, 509, 128, 64, 4, 2, 4, true)  \
  X(290, 105, 40, 20, 40, 64, 32, 1, 4, 1, false)    \
  X(410, 150, 80, 40, 80, 128, 32, 1, 2, 1, false)

struct ClusterSplitKernel {
  double first, step, block, block_step, full;
  Shape shape;
  const void *f16, *bf16;
};

#ifdef __CUDACC__

template <typename Block>
__global__ void __launch_bounds__(group_tile::threads_of(Block::S), 1)
    cluster_split_kernel(const __grid_constant__ GroupParams a) {
  extern __shared__ __align__(1024) unsigned char smem[];
  if constexpr (!Block::S.wgmma) group_tile::attend_by_warps<Block>(a, smem);
#ifdef ATTN_SM90A
  if constexpr (Block::S.wgmma) group_tile::attend_by_groups<Block>(a, smem);
#endif
}
#define CLUSTER_SPLIT_HANDLE(T, ...) handle(cluster_split_kernel<group_tile::Block<T, Shape{__VA_ARGS__}>>)
#else
#define CLUSTER_SPLIT_HANDLE(T, ...) nullptr
constexpr decltype(attn_variant::bind) cluster_split_bind = nullptr;
#endif

#define CLUSTER_SPLIT_ROW(first, step, block, block_step, full, ...) \
  {first,                                                            \
   step,                                                             \
   block,                                                            \
   block_step,                                                       \
   full,                                                             \
   {__VA_ARGS__},                                                    \
   CLUSTER_SPLIT_HANDLE(__half, __VA_ARGS__),                        \
   CLUSTER_SPLIT_HANDLE(__nv_bfloat16, __VA_ARGS__)},
static const ClusterSplitKernel cluster_split_kernels[] = {CLUSTER_SPLIT_KERNELS(CLUSTER_SPLIT_ROW)};

/* Indices into the tuning. */
enum { CLUSTER_SPLIT_WGMMA, CLUSTER_SPLIT_GROUPS, CLUSTER_SPLIT_CLUSTER };

static const attn_tunable cluster_split_tunables[] = {
    {"wgmma", 0, 2, 0,
     "2: four warps multiply together, by wgmma; 1: each for itself, by mma.sync; 0: as the GPU can"},
    {"groups", 0, 4, 0, "groups of warps of a block that share the keys; 0: what is fastest for the shape"},
    {"cluster", 0, 4, 0, "blocks of a cluster that share the keys; 0: what is fastest for the shape"},
    {nullptr, 0, 0, 0, nullptr},
};

static bool cluster_split_runs_wgmma(const device_info &device) {
  return device.cc_major == 9 && device.cc_minor == 0;
}

static bool cluster_split_fits(const Shape &s, const attn_shape &shape, const attn_tuning &t,
                               const device_info &device) {
  const auto any_or = [&](int which, uint32_t value) {
    return t.value[which] == 0 || (uint32_t)t.value[which] == value;
  };
  const bool wgmma =
      t.value[CLUSTER_SPLIT_WGMMA] == 0 ? cluster_split_runs_wgmma(device) : t.value[CLUSTER_SPLIT_WGMMA] == 2;
  return s.D == shape.D && s.wgmma == wgmma && any_or(CLUSTER_SPLIT_GROUPS, s.groups) &&
         any_or(CLUSTER_SPLIT_CLUSTER, s.cluster);
}

static uint32_t cluster_split_stages(const attn_shape &shape, const Shape &s) {
  return ceil_div(shape.Skv, s.keys) > s.groups * s.cluster ? 2 : 1;
}

static uint32_t cluster_split_smem(const attn_shape &shape, const Shape &s) {
  return group_tile::layout_of(s, cluster_split_stages(shape, s)).end;
}

/* As a sum of what the table says. Under a causal mask further blocks have half the tiles. The table's clusters were
 * measured with up to the work of two blocks on an SM; beyond they lose (8,8,256,64: 7.5 us against 6.6). */
static double cluster_split_cost(const attn_shape &shape, const ClusterSplitKernel &kernel,
                                 const device_info &device) {
  const Shape &s = kernel.shape;
  const uint32_t tiles = ceil_div(ceil_div(shape.Skv, s.keys), s.groups * s.cluster);
  const double blocks = (double)shape.B * shape.Hq * ceil_div(shape.Sq, group_tile::rows_of(s)) * s.cluster,
               load = blocks / device.sms, further = load > 1 ? load - 1 : 0;
  if (s.cluster > 1 && load > (shape.causal ? 4 : 2)) return HUGE_VAL;
  return kernel.first + kernel.full * (load < 1 ? load : 1) + (tiles - 1) * kernel.step +
         further * (kernel.block + tiles * kernel.block_step * (shape.causal ? 0.5 : 1.0));
}

static const ClusterSplitKernel *cluster_split_choose(const attn_shape &shape, const attn_tuning &tuning,
                                                      const device_info &device) {
  const ClusterSplitKernel *best = nullptr;
  for (const ClusterSplitKernel &kernel : cluster_split_kernels) {
    if (!cluster_split_fits(kernel.shape, shape, tuning, device) ||
        cluster_split_smem(shape, kernel.shape) > device.smem_per_block_bytes)
      continue;
    if (best == nullptr || cluster_split_cost(shape, kernel, device) < cluster_split_cost(shape, *best, device))
      best = &kernel;
  }
  return best;
}

#ifdef __CUDACC__
static struct status cluster_split_bind(const attn_shape *shape, const attn_plan *plan, const attn_buffers *buffers,
                                        attn_pass_args args[ATTN_PASSES_MAX]) {
  const uint64_t heads = (uint64_t)shape->B * shape->Hq, kv_heads = (uint64_t)shape->B * shape->Hkv;
  const uint32_t ratio = shape->Hq / shape->Hkv;
  GroupParams params = {};
  params.attention = params_of(*shape, *buffers);
  params.kv_head_factor = ((UINT64_C(1) << 32) + ratio - 1) / ratio;
  params.stages = plan->stages;
  struct status status = status_ok();
  if (plan->tile_q == 64) { /* wgmma, by tensor maps */
    status = tensor_map_make(&params.maps[0], buffers->q, shape->dtype, heads, shape->Sq, shape->D, plan->tile_q);
    if (status.code == STATUS_OK)
      status =
          tensor_map_make(&params.maps[1], buffers->k, shape->dtype, kv_heads, shape->Skv, shape->D, plan->tile_kv);
    if (status.code == STATUS_OK)
      status =
          tensor_map_make(&params.maps[2], buffers->v, shape->dtype, kv_heads, shape->Skv, shape->D, plan->tile_kv);
  }
  put_args(args[0], params);
  return status;
}
#endif

static const char *cluster_split_supports(const attn_shape *shape, const attn_tuning *tuning,
                                          const device_info *device) {
  if (shape->dtype == ATTN_F32) return "dtype must be f16 or bf16: tensor cores have no fp32 inputs";
  if (shape->D != 64 && shape->D != 128) return "D must be 64 or 128";
  if (const char *wrong = check_device(*device, 0)) return wrong;
  if (tuning->value[CLUSTER_SPLIT_WGMMA] == 2 && !cluster_split_runs_wgmma(*device))
    return "wgmma=2 needs compute capability 9.0";
  const ClusterSplitKernel *kernel = cluster_split_choose(*shape, *tuning, *device);
  if (kernel == nullptr)
    return "no kernel is compiled for these tunables at this D: kernels/variants/cluster_split.cu lists them";
  if (shape->B > kGridYzMax) return "B must be at most 65535, the limit of grid.y";
  if (ceil_div(shape->Sq, group_tile::rows_of(kernel->shape)) > kGridYzMax)
    return "Sq must be at most 65535 q tiles, the limit of grid.z";
  return nullptr;
}

static void cluster_split_plan(const attn_shape *shape, const attn_tuning *tuning, const device_info *device,
                               attn_plan *plan) {
  const ClusterSplitKernel &kernel = *cluster_split_choose(*shape, *tuning, *device);
  const Shape &s = kernel.shape;
  const uint32_t threads = group_tile::threads_of(s), tiles = ceil_div(shape->Skv, s.keys);
  plan->pass_count = 1;
  plan->tile_q = group_tile::rows_of(s), plan->tile_kv = s.keys;
  plan->splits = tiles < s.cluster ? tiles : s.cluster, plan->stages = cluster_split_stages(*shape, s);
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = shape->dtype == ATTN_F16 ? kernel.f16 : kernel.bf16;
  pass.cluster[0] = s.cluster;
  set_grid(pass, shape->Hq * s.cluster, s.cluster > 1 ? ATTN_COVERS_H | ATTN_COVERS_SPLIT : ATTN_COVERS_H, shape->B,
           ATTN_COVERS_B, ceil_div(shape->Sq, plan->tile_q), ATTN_COVERS_Q);
  set_block(pass, threads, threads, cluster_split_smem(*shape, s));
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_cluster_split = {
    .name = "cluster_split",
    .summary = "keys shared by groups of warps and by the blocks of a cluster, which merge in shared memory",
    .limits = "f16, bf16; D 64 or 128; compute capability >= 8.0 (clusters and wgmma: 9.0)",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_WGMMA,
    .writes_lse = true,
    .tunables = attn::cluster_split_tunables,
    .supports = attn::cluster_split_supports,
    .plan = attn::cluster_split_plan,
    .bind = attn::cluster_split_bind,
    .run = nullptr,
};
