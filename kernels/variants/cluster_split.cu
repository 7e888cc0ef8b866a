/* cluster_split: short shapes, where the GPU is half empty. The keys of 64 query rows are shared by the warpgroups of
 * a block and by the blocks of a cluster, which merge in shared memory, their own and each other's.
 *
 * Idea: at S = 512 a head has 8 q tiles, each with 8 tiles of keys, which `wgmma` takes one after the other. Here up
 *   to 8 groups share the keys of a q tile and work at once. Group n takes tiles n, n + 8, ..., so that under a
 *   causal mask all have about as many. A group fetches for itself and waits for no other until the parts are merged
 *   (kernels/tiles/group_tile.cuh): each warpgroup, and then each block of the cluster, merges some of the columns,
 *   in one exchange each, and a lane sends its accumulators to the lanes of the same number. The table below says
 *   what each kernel costs, and so how many groups a shape gets. Below compute capability 9.0 a group is a warp of 16
 *   rows that uses mma.sync, there are four groups, at D = 128 two, and no cluster.
 *
 * Source: FlashDecoding (Dao et al. 2023) for the split, without its second pass; distributed shared memory instead
 *   of a workspace. Sums have a fixed order: the same bits in each run.
 *
 * Floor, H200, hot, us; the sum is 2.1 for one tile, 2.4 with a cluster:
 *   a node in a chain of a CUDA graph             0.65   128 blocks 0.76; a cluster adds 0.03
 *   first instruction to first tile               0.4    at best: 200 clocks of code, 400 of copy engine
 *   a tile of 64 keys                             0.35   products 200 + 190 clocks, softmax 256 to 540
 *   an exchange                                   0.15   in a block; 0.25 in a cluster
 *   the store, until memory has it                0.6    the next launch waits for that
 *   Predicted from latencies alone, before the first rung, at D = 64: 2.3 for B = H = 1, S = 128; 4.2 for B = 1,
 *   H = 8, S = 512. The prediction left out cold caches.
 *
 * Can win: where q tiles are fewer than the SMs, B * Hq * ceil(Sq / 64) up to about 130: blocks of `wgmma` take all
 *   keys of their rows and leave SMs idle. Also with many keys for few queries (Sq = 64, Skv = 2048).
 *
 * Cannot: win when the GPU is full: softmax and products of a warpgroup do not overlap, warpgroups do not take turns,
 *   and each block of a cluster fetches Q. At B * H = 64, S = 512 it takes 1.3 times the time of `wgmma`.
 *
 * Budget: registers per thread at D = 64 / 128: S 32, P 16 in the places of S, O 32 / 64, about 35 more: 101 / 132 of
 *   255. Shared memory: Q 8 / 16 KB; for each warpgroup one or two stages of K and V, 16 / 32 KB;
 *   parts of two warpgroups 16 / 32 KB; what the cluster sends 8 to 16 / 16 to 32 KB: 24 to 215 KB.
 *
 * Measured, H200, f16, hot, us, beside the fastest plan of cuDNN 9.14 (journals short, it3 and mission of
 * results/h200; 64x2048: 64 queries over 2048 keys):
 *
 *   B,H,S,D             here   wgmma  cuDNN       B,H,S,D              here   wgmma  cuDNN
 *   1,1,64,64           2.48   3.29   2.57        1,8,512,64           4.69   5.87   7.22
 *   1,1,128,64          2.93   3.35   3.40        1,8,512,64 causal    4.60   6.29   7.32
 *   1,1,300,64          3.56   5.21   5.41        2,8,333,64           5.49   5.61   6.39
 *   1,1,1024,64         4.42   8.63   11.9        4,8,64x2048,64       8.83   14.6   20.8
 *   8,8,128,64          3.73   3.72   3.86        1,4,512,128          6.05   6.89   9.74
 *   4,16,64,64          3.04   3.82   2.95        2,8,777,64 causal    8.75   9.21   13.0
 *   4,16,64,64 causal   3.33   3.98   3.08
 *
 *   cuDNN is faster at 4,16,64,64, where its kernel is one of mma.sync, without clusters.
 *
 * Rungs, measured before the table, us at 1,1,128,64 and at 1,8,512,64. A clock inside the kernel showed that a
 * launch begins with cold instruction and constant caches, and that code which runs once costs 2.5 clocks an
 * instruction. So each rung has less code:
 *
 *   mma.sync, 16 rows a warp; cp.async by all threads; counts in the argument       3.23   6.23
 *     3300 instructions; loads are asked for after 1250 to 2280 clocks, merging takes 1600 to 3300
 *   the same with wgmma                                                             3.58   5.94
 *   counts known to the compiler, copy engine, lanes of one number merge            2.96   4.72
 *     1100 instructions
 *   three threads fetch side by side; O's address is worked out during the wait     2.81   4.55
 *
 * What did not win:
 *   - tiles of 128 keys: 2 % either way
 *   - 8 blocks in a cluster: 2 % at one head
 *   - four warpgroups
 *   - executing the softmax and the store once during the wait, to have their instructions in the cache: 0.3 slower
 *   - 32 rows for each warp of mma.sync */
#include "kernels/tiles/group_tile.cuh"

namespace attn {

using group_tile::Shape;

/* What a kernel takes on an H200, in units of 10 ns. */
struct ClusterSplitCost {
  double base;       /* one wave with one tile for each group */
  double tile;       /* more for each further tile */
  double block;      /* more for each further block on an SM */
  double block_tile; /* more for each tile of such a block */
  double full;       /* more when all SMs work than when one does */
};

/* A kernel that is compiled. */
struct ClusterSplitKernel {
  Shape shape;
  ClusterSplitCost cost;
};

constexpr ClusterSplitKernel kClusterSplitKernels[] = {
    {{.D = 64}, {.base = 271, .tile = 66, .block = 46, .block_tile = 23, .full = 74}},
    {{.D = 64, .one_tile = true}, {.base = 250, .tile = 0, .block = 46, .block_tile = 23, .full = 60}},
    {{.D = 64, .cluster = 2}, {.base = 291, .tile = 65, .block = 45, .block_tile = 18, .full = 32}},
    {{.D = 64, .cluster = 4}, {.base = 288, .tile = 59, .block = 0, .block_tile = 49, .full = 82}},
    {{.D = 64, .groups = 2}, {.base = 313, .tile = 82, .block = 47, .block_tile = 71, .full = 70}},
    {{.D = 64, .groups = 2, .cluster = 2}, {.base = 347, .tile = 78, .block = 66, .block_tile = 52, .full = 34}},
    {{.D = 64, .groups = 2, .cluster = 4}, {.base = 319, .tile = 55, .block = 165, .block_tile = 62, .full = 132}},
    {{.D = 128}, {.base = 352, .tile = 86, .block = 106, .block_tile = 55, .full = 140}},
    {{.D = 128, .one_tile = true}, {.base = 330, .tile = 0, .block = 106, .block_tile = 55, .full = 120}},
    {{.D = 128, .cluster = 2}, {.base = 371, .tile = 81, .block = 87, .block_tile = 109, .full = 76}},
    {{.D = 128, .cluster = 4}, {.base = 349, .tile = 70, .block = 248, .block_tile = 190, .full = 192}},
    {{.D = 128, .groups = 2}, {.base = 427, .tile = 105, .block = 335, .block_tile = 119, .full = 136}},
    {{.D = 128, .groups = 2, .cluster = 2}, {.base = 464, .tile = 101, .block = 303, .block_tile = 121, .full = 56}},
    {{.D = 128, .groups = 2, .cluster = 4}, {.base = 338, .tile = 11, .block = 188, .block_tile = 196, .full = 509}},
    {{.D = 64, .keys = 32, .strips = 1, .groups = 4, .wgmma = false},
     {.base = 290, .tile = 105, .block = 40, .block_tile = 20, .full = 40}},
    {{.D = 128, .keys = 32, .strips = 1, .groups = 2, .wgmma = false},
     {.base = 410, .tile = 150, .block = 80, .block_tile = 40, .full = 80}},
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

static const void *cluster_split_handle(const ClusterSplitKernel &kernel, enum attn_dtype dtype) {
  return for_row<std::size(kClusterSplitKernels)>(&kernel - kClusterSplitKernels, [&](auto row) {
    return for_type<__half, __nv_bfloat16>(dtype, [](auto t) {
      constexpr Shape kShape = kClusterSplitKernels[decltype(row)::value].shape;
      return handle(cluster_split_kernel<group_tile::Block<typename decltype(t)::type, kShape>>);
    });
  });
}
#else
static const void *cluster_split_handle(const ClusterSplitKernel &, enum attn_dtype) { return nullptr; }
constexpr decltype(attn_variant::bind) cluster_split_bind = nullptr;
#endif

/* Indices into the tuning. */
enum { CLUSTER_SPLIT_WGMMA, CLUSTER_SPLIT_GROUPS, CLUSTER_SPLIT_CLUSTER };

static const attn_tunable cluster_split_tunables[] = {
    {.name = "wgmma",
     .max = 2,
     .help = "2: four warps multiply together, by wgmma; 1: each for itself, by mma.sync; 0: as the GPU can"},
    {.name = "groups",
     .max = 4,
     .help = "groups of warps of a block that share the keys; 0: what is fastest for the shape"},
    {.name = "cluster",
     .max = 4,
     .help = "blocks of a cluster that share the keys; 0: what is fastest for the shape"},
    {.name = nullptr},
};

static bool cluster_split_runs_wgmma(const device_info &device) {
  return device.cc_major == 9 && device.cc_minor == 0;
}

static bool cluster_split_fits(const Shape &s, const attn_problem &shape, const attn_tuning &t,
                               const device_info &device) {
  const auto any_or = [&](int which, uint32_t value) {
    return t.value[which] == 0 || (uint32_t)t.value[which] == value;
  };
  const bool wgmma =
      t.value[CLUSTER_SPLIT_WGMMA] == 0 ? cluster_split_runs_wgmma(device) : t.value[CLUSTER_SPLIT_WGMMA] == 2;
  return s.D == shape.D && s.wgmma == wgmma && (!s.one_tile || shape.Skv <= s.keys) &&
         any_or(CLUSTER_SPLIT_GROUPS, s.groups) && any_or(CLUSTER_SPLIT_CLUSTER, s.cluster);
}

static uint32_t cluster_split_stages(const attn_problem &shape, const Shape &s) {
  return ceil_div(shape.Skv, s.keys) > s.groups * s.cluster ? 2 : 1;
}

static uint32_t cluster_split_smem(const attn_problem &shape, const Shape &s) {
  return group_tile::layout_of(s, cluster_split_stages(shape, s)).end;
}

/* As a sum of what the table says. Under a causal mask further blocks have half the tiles. The table's clusters were
 * measured with up to the work of two blocks on an SM; beyond they lose (8,8,256,64: 7.5 us against 6.6). */
static double cluster_split_cost(const attn_problem &shape, const ClusterSplitKernel &kernel,
                                 const device_info &device) {
  const Shape &s = kernel.shape;
  const uint32_t tiles = ceil_div(ceil_div(shape.Skv, s.keys), s.groups * s.cluster);
  const double blocks = (double)shape.B * shape.Hq * ceil_div(shape.Sq, group_tile::rows_of(s)) * s.cluster,
               load = blocks / device.sms, further = load > 1 ? load - 1 : 0;
  if (s.cluster > 1 && load > (attn_is_causal(&shape) ? 4 : 2)) return HUGE_VAL;
  return kernel.cost.base + kernel.cost.full * (load < 1 ? load : 1) + (tiles - 1) * kernel.cost.tile +
         further * (kernel.cost.block + tiles * kernel.cost.block_tile * (attn_is_causal(&shape) ? 0.5 : 1.0));
}

static const ClusterSplitKernel *cluster_split_choose(const attn_problem &shape, const attn_tuning &tuning,
                                                      const device_info &device) {
  const ClusterSplitKernel *best = nullptr;
  for (const ClusterSplitKernel &kernel : kClusterSplitKernels) {
    if (!cluster_split_fits(kernel.shape, shape, tuning, device) ||
        cluster_split_smem(shape, kernel.shape) > device.smem_per_block_bytes)
      continue;
    if (best == nullptr || cluster_split_cost(shape, kernel, device) < cluster_split_cost(shape, *best, device))
      best = &kernel;
  }
  return best;
}

#ifdef __CUDACC__
static struct status cluster_split_bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                                        attn_pass_args args[ATTN_PASSES_MAX]) {
  const uint64_t heads = (uint64_t)shape->B * shape->Hq, kv_heads = (uint64_t)shape->B * shape->Hkv;
  const uint32_t ratio = shape->Hq / shape->Hkv;
  GroupParams params = {};
  params.attention = params_of(*shape, *buffers);
  params.kv_head_factor = ((UINT64_C(1) << 32) + ratio - 1) / ratio;
  params.stages = plan->stages;
  if (plan->tile_q == 64) { /* wgmma, by tensor maps */
    TRY(tensor_map_make(&params.maps[0], buffers->q, shape->dtype, heads, shape->Sq, shape->D, plan->tile_q));
    TRY(tensor_map_make(&params.maps[1], buffers->k, shape->dtype, kv_heads, shape->Skv, shape->D, plan->tile_kv));
    TRY(tensor_map_make(&params.maps[2], buffers->v, shape->dtype, kv_heads, shape->Skv, shape->D, plan->tile_kv));
  }
  put_args(args[0], params);
  return status_ok();
}
#endif

static const char *cluster_split_supports(const attn_problem *shape, const attn_tuning *tuning,
                                          const device_info *device) {
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

static void cluster_split_plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *device,
                               attn_plan *plan) {
  const ClusterSplitKernel &kernel = *cluster_split_choose(*shape, *tuning, *device);
  const Shape &s = kernel.shape;
  const uint32_t threads = group_tile::threads_of(s), tiles = ceil_div(shape->Skv, s.keys);
  plan->pass_count = 1;
  plan->tile_q = group_tile::rows_of(s), plan->tile_kv = s.keys;
  plan->splits = tiles < s.cluster ? tiles : s.cluster, plan->stages = cluster_split_stages(*shape, s);
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = cluster_split_handle(kernel, shape->dtype);
  pass.cluster[0] = s.cluster;
  set_grid(pass, shape->Hq * s.cluster, s.cluster > 1 ? ATTN_COVERS_H | ATTN_COVERS_SPLIT : ATTN_COVERS_H, shape->B,
           ATTN_COVERS_B, ceil_div(shape->Sq, plan->tile_q), ATTN_COVERS_Q);
  set_block(pass, threads, threads, cluster_split_smem(*shape, s));
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_cluster_split = {
    .name = "cluster_split",
    .summary = "keys shared by groups of warps and by the blocks of a cluster, which merge in shared memory",
    .limits = "compute capability >= 8.0 (clusters and wgmma: 9.0)",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_WGMMA,
    .takes = ATTN_TAKES_LSE,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = "tensor cores have no fp32 inputs",
    .dims = {.one_of = {64, 128}},
    .tunables = attn::cluster_split_tunables,
    .supports = attn::cluster_split_supports,
    .plan = attn::cluster_split_plan,
    .bind = attn::cluster_split_bind,
    .run = nullptr,
};
