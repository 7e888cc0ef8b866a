/* wgmma: attention as Hopper wants it. The copy engine fetches, warpgroups have roles, and the tensor cores
 * multiply out of shared memory while the same warps do the softmax of another tile (kernels/tiles/wgmma_tile.cuh).
 *
 * Idea: a block has 1 to 4 warpgroups of 64 query rows each, and one more that only fetches. One block per SM loops
 *   over the q tiles. Scores, weights and output stay in registers; P is S, packed in pairs. In the order of their
 *   gain:
 *   - Softmax under the products (FlashAttention-3): a warpgroup starts S of the next tile and O of the last one
 *     together, and computes the softmax while the second product runs. This goes on across the end of a q tile: the
 *     last product of one and the first of the next are such a pair, and O is written meanwhile.
 *   - No maximum: weights relative to any reference give the same quotients, so the maximum of a tile matters only
 *     when a weight overflows, and is not looked for. The sum of the weights, which is needed anyway, shows when one
 *     is larger than 2^15. Then the warp computes the scores of its 16 rows again, by mma.sync from the tile that is
 *     still in shared memory, and looks for the maximum. The first and the last tile of a q tile and masked tiles are
 *     always looked through.
 *   - Turns (ping-pong): warpgroups start their products one after the other, so that one computes its softmax while
 *     another uses the tensor cores.
 *   - K and V share one ring of slots in the order of their use: as few as three slots suffice.
 *   - The fetching warps work out the next item and write it to shared memory. Divisions are products and shifts,
 *     since a launch with one item per block waits for them: 0.3 us and more of 5.
 *   - A warpgroup leaves out the tiles of keys that only the block's other rows attend, and passes on its turns for
 *     them.
 *   - Causal items are taken in a closed-form order that needs no counter: sections of heads, long items first in one
 *     section and last in the next, blocks in reversed order every other round. A simulation of the order finds the
 *     smallest section that still loads the blocks evenly: in a small one the q tiles of a head follow each other
 *     closely and find its K and V in L2.
 *
 * Source: FlashAttention-3 (Shah et al. 2024) for roles, turns and overlap; the rest is written from the PTX manual.
 *
 * Can win: against every other variant here that has 64 queries or more. Clocks of an SM for 64 rows and 128 keys:
 *     tensor cores    4 * 64 * 128 * D / 4096        512 at D = 64, 1024 at 128, 2048 at 256
 *     ex2             64 * 128 / 16                  512
 *   so D = 64 is as much an ex2 kernel as a product kernel, and wants four warpgroups to keep both busy; at D = 256
 *   the tensor cores are 97 % busy. What is left then is power: 700 W are reached at 1.35 to 1.6 GHz.
 *
 * Cannot: run anywhere but on compute capability 9.0; fill a GPU with few q tiles of 64 rows or more (`split_kv` and
 *   `one_query` are for that); multiply less than a tile of keys, so that at D = 128 under a causal mask half of the
 *   last tile is masked for every other warpgroup. Two blocks of one warpgroup on an SM were slower.
 *
 * Budget, registers per thread: S keys / 2, P keys / 4, O D / 2, Q D / 4 when it is held, 30 more; `of` is the limit.
 *   Shared memory, of 227 KB: Q rows * 2 D, twice where that fits; slots * keys * 2 D (D in steps of 64); 0.5 KB of
 *   barriers and work infos.
 *
 *       D   groups  registers                     of    shared memory, KB
 *       64  4       32 + 16 + 32 = 80 + 30        112   32 + 12 * 8 = 128
 *       64  3       64 + 32 + 32 = 128 + 30       160   24 + 8 * 16 = 152
 *       64  1, 2    64 + 32 + 32 + 16 = 144       232   8 or 16 + 8 * 16
 *       96  3       48 + 24 + 48 = 120 + 30       160   48 + 6 * 24 = 192
 *      128  1       64 + 32 + 64 = 160            232   32 + 5 * 32 = 192
 *      128  2       64 + 32 + 64 + 32 = 192       232   32 + 6 * 32 = 224
 *      128  2       32 + 16 + 64 = 112            232   64 + 10 * 16 = 224
 *      192  2       40 + 20 + 96 = 156            232   48 + 5 * 30 = 198
 *      256  2       32 + 16 + 128 = 176           232   64 + 5 * 32 = 224
 *
 * Rungs, D = 128, B = 4, H = 16, S = 4096, f16, on an H200: speed over cuDNN in the same run, full and causal. The
 * ratio is given because times alone hide the gain: power limits the card, and its clock falls as a rung does better.
 *
 *   overlap=0,pingpong=0,lazy=0   0.90  0.97
 *   overlap=1                     1.08  1.15
 *   pingpong=1                    1.08  1.15
 *   lazy=1                        1.09  1.16
 *   lazy=2                        1.21  1.29   with Q in shared memory, as in the rungs above
 *   cluster=2                     1.21  1.19   half the reads of L2, but blocks wait for each other
 *   persistent=0                  1.17  1.18   every q tile begins with an empty ring
 *
 * exp2_fma=2 at D = 64 takes up to 6 % longer where S is 1024 or more, and is no faster elsewhere.
 *
 * Causal, 16384 tokens in all, speed over cuDNN with sections of 32 MB of K and V, and with sections of 2 to 4 MB:
 *
 *       D    S = 512          S = 1024         S = 4096
 *       64   1.40 and 1.43                     1.21 and 1.21
 *      128   1.06 and 1.11    1.12 and 1.18    1.27 and 1.19
 *      256   1.02 and 1.20    1.24 and 1.30    1.33 and 1.29
 *
 * At D = 64, S = 512 a warpgroup that leaves out the tiles of other rows raised 1.24 to 1.40. Without turns D = 64
 * gains up to 5 % under a causal mask and D = 128 loses 2 %. Three warpgroups of 64 keys at D = 128 gain nothing
 * anywhere.
 *
 * Two warpgroups with tiles of 128 keys at D = 128 have Q in registers. A tile of keys then reads a fifth less of
 * shared memory, and a sixth slot takes the place of Q's second buffer. At 16384 tokens, full, on two cards, this
 * takes 3 to 5 % less energy, and 0.6 to 2 % less time where the power limit sets the clock. Under a causal mask it
 * takes 0.2 % less time. The times of short launches change by -0.7 to +0.3 %. A part of Q in registers gains nothing
 * at D = 192 and 256, and Q in registers gains nothing in wgmma_general. With Q in shared memory, tiles of 144, 160
 * or 176 keys take more clocks than tiles of 128.
 *
 * Where the last tile is weighed as those before it, without looking for its maxima, the code is shorter by a copy of
 * the step. At D = 128, full, this takes 2 to 3 % less time up to 1024 keys and 0.6 % less at 4096; causal it takes 0
 * to 1 % less. At 16384 keys, and at D = 256, it takes the same time, and at D = 64 1 to 3 % more (H100).
 *
 * Two warpgroups of 64 keys at D = 128, time over that with 128 keys, 128 heads: they are taken where the keys end in
 * the first half of a tile, and for short causal problems.
 *
 *   S         128    192    320    512    2048 (16 heads)
 *   full      0.95   0.82   0.90   1.03   1.05
 *   causal    0.88   0.87   0.92   0.97   1.03
 *
 * results/h200/prefill.journal has every shape of `prefill` beside cuDNN. */
#include "kernels/tiles/wgmma_tile.cuh"

namespace attn {

using wgmma_tile::Shape;

/* What a block takes on an H200, in units of 10 ns. */
struct WgmmaCost {
  uint32_t turn; /* from one q tile to the next */
  uint32_t step; /* a tile of keys */
};

/* A kernel that is compiled. */
struct WgmmaKernel {
  Shape shape;
  WgmmaCost cost;
  unsigned dtypes = ATTN_DTYPES_16_BITS;
};

/* Of the kernels that fit the tunables the cheapest is taken. */
constexpr WgmmaKernel kWgmmaKernels[] = {
    {{.D = 64, .groups = 4, .keys = 64, .slots = 12}, {.turn = 215, .step = 90}},
    {{.D = 64, .groups = 3, .slots = 8}, {.turn = 130, .step = 140}},
    {{.D = 64, .slots = 8, .hold_q = 1}, {.turn = 130, .step = 102}},
    {{.D = 64, .groups = 1, .slots = 8, .hold_q = 1}, {.turn = 80, .step = 84}},
    {{.D = 96, .groups = 3, .keys = 96, .slots = 6}, {.turn = 170, .step = 130}},
    {{.D = 128, .slots = 6, .hold_q = 1}, {.turn = 210, .step = 147}},
    {{.D = 128, .keys = 64, .slots = 10}, {.turn = 195, .step = 78}},
    {{.D = 128, .groups = 1, .slots = 5}, {.turn = 150, .step = 114}},
    {{.D = 192, .keys = 80, .slots = 5}, {.turn = 270, .step = 140}},
    {{.D = 256, .keys = 64, .slots = 5}, {.turn = 320, .step = 160}},
    /* The rungs listed above, and what did not win: f16 alone, to measure what each adds. */
    {{.D = 64, .groups = 3, .slots = 8, .fma_exp = 2, .lazy = 1},
     {.turn = 210, .step = 147},
     ATTN_DTYPE_BIT(ATTN_F16)},
    {{.D = 128, .slots = 5, .overlap = 0, .pingpong = 0, .lazy = 0},
     {.turn = 210, .step = 147},
     ATTN_DTYPE_BIT(ATTN_F16)},
    {{.D = 128, .slots = 5, .pingpong = 0, .lazy = 0}, {.turn = 210, .step = 147}, ATTN_DTYPE_BIT(ATTN_F16)},
    {{.D = 128, .slots = 5, .lazy = 0}, {.turn = 210, .step = 147}, ATTN_DTYPE_BIT(ATTN_F16)},
    {{.D = 128, .slots = 5, .lazy = 1}, {.turn = 210, .step = 147}, ATTN_DTYPE_BIT(ATTN_F16)},
    {{.D = 128, .slots = 5, .cluster = 2}, {.turn = 210, .step = 147}, ATTN_DTYPE_BIT(ATTN_F16)},
};

#ifdef __CUDACC__
/* nullptr: the kernel is not compiled for this type. */
static const void *wgmma_handle(const WgmmaKernel &kernel, enum attn_dtype dtype) {
  return for_row<std::size(kWgmmaKernels)>(&kernel - kWgmmaKernels, [&](auto row) {
    return for_type<__half, __nv_bfloat16>(dtype, [](auto t) -> const void * {
      constexpr const WgmmaKernel &kKernel = kWgmmaKernels[decltype(row)::value];
      if constexpr ((kKernel.dtypes & ATTN_DTYPE_BIT(decltype(t)::dtype)) != 0)
        return handle(wgmma_kernel<wgmma_tile::Config<typename decltype(t)::type, kKernel.shape>>);
      else
        return nullptr;
    });
  });
}
#else
static const void *wgmma_handle(const WgmmaKernel &, enum attn_dtype) { return nullptr; }
constexpr decltype(attn_variant::bind) wgmma_bind = nullptr;
#endif

enum {
  WGMMA_GROUPS,
  WGMMA_KEYS,
  WGMMA_OVERLAP,
  WGMMA_PINGPONG,
  WGMMA_FMA_EXP,
  WGMMA_LAZY,
  WGMMA_CLUSTER,
  WGMMA_PERSISTENT
};

static const attn_tunable wgmma_tunables[] = {
    {.name = "warpgroups",
     .max = 4,
     .help = "warpgroups of a block that multiply, 64 query rows each; 0: what is fastest for the shape"},
    {.name = "kv_tile", .max = 192, .help = "keys of a tile; 0: what is fastest for the shape"},
    {.name = "overlap",
     .max = 1,
     .default_value = 1,
     .help = "1: a warpgroup's softmax runs under its own products of other tiles, 0: in turns"},
    {.name = "pingpong",
     .max = 1,
     .default_value = 1,
     .help = "1: warpgroups take turns to start their products, 0: each when it can"},
    {.name = "exp2_fma", .max = 8, .help = "sixteenths of the exponentials that are polynomials on the FMA pipe"},
    {.name = "lazy",
     .max = 2,
     .default_value = 2,
     .help = "0: rescale the output at every tile, 1: when the maximum has grown by 2^8, 2: look for the maximum "
             "only when a weight is too large"},
    {.name = "cluster", .min = 1, .max = 2, .default_value = 1, .help = "blocks that fetch K and V for each other"},
    {.name = "persistent",
     .max = 1,
     .default_value = 1,
     .help = "1: one block per SM loops over the q tiles, 0: one block per q tile"},
    {.name = nullptr},
};

static uint32_t wgmma_padded(uint32_t D) {
  return D <= 64 ? 64 : D <= 96 ? 96 : D <= 128 ? 128 : D <= 192 ? 192 : 256;
}

static bool wgmma_fits(const WgmmaKernel &kernel, const attn_problem &shape, const attn_tuning &t) {
  const Shape &s = kernel.shape;
  const auto any_or = [&](int which, uint32_t value) {
    return t.value[which] == 0 || (uint32_t)t.value[which] == value;
  };
  const auto is = [&](int which, uint32_t value) { return (uint32_t)t.value[which] == value; };
  return (kernel.dtypes & ATTN_DTYPE_BIT(shape.dtype)) != 0 && s.D == wgmma_padded(shape.D) &&
         any_or(WGMMA_GROUPS, s.groups) && any_or(WGMMA_KEYS, s.keys) && is(WGMMA_OVERLAP, s.overlap) &&
         is(WGMMA_PINGPONG, s.pingpong) && is(WGMMA_FMA_EXP, s.fma_exp) && is(WGMMA_LAZY, s.lazy) &&
         is(WGMMA_CLUSTER, s.cluster);
}

/* A tile of keys takes at least what L2 needs to deliver its K and V to all blocks at work, in 10 ns: 6 TB/s for 132
 * SMs. That binds blocks of one warpgroup, which read as much for half the rows. */
static double wgmma_step(const WgmmaKernel &kernel, double rounds) {
  constexpr double kBytesPerSm = 455;
  return fmax(kernel.cost.step, 4.0 * kernel.shape.keys * kernel.shape.D / kBytesPerSm * fmin(rounds, 1));
}

/* Under a causal mask more is multiplied and masked of a tile that has more keys than a warpgroup has rows. */
static double wgmma_turn(const WgmmaKernel &kernel, const attn_problem &shape) {
  const double masked = kernel.shape.D > 64 ? 30 : 60; /* per 64 keys more, in 10 ns */
  return kernel.cost.turn + (attn_is_causal(&shape) ? masked * (fmax(kernel.shape.keys, 64) / 64 - 1) : 0);
}

/* Whole rounds of the blocks over equal items. Causal items differ and fill the last round, but it cannot end before
 * the longest has. */
static double wgmma_cost(const WgmmaKernel &kernel, const attn_problem &shape, uint32_t sms) {
  const uint32_t q_tiles = ceil_div(shape.Sq, kernel.shape.groups * 64),
                 steps = ceil_div(shape.Skv, kernel.shape.keys);
  const double rounds = (double)shape.B * shape.Hq * q_tiles / sms, step = wgmma_step(kernel, rounds),
               turn = wgmma_turn(kernel, shape);
  if (!attn_is_causal(&shape)) return ceil(rounds) * (turn + steps * step);
  const double mean = 0.5 * (steps + ceil_div(steps, q_tiles));
  return fmax(rounds * (turn + mean * step), turn + steps * step);
}

static const WgmmaKernel *wgmma_choose(const attn_problem &shape, const attn_tuning &tuning, uint32_t sms) {
  const WgmmaKernel *best = nullptr;
  for (const WgmmaKernel &kernel : kWgmmaKernels) {
    if (!wgmma_fits(kernel, shape, tuning)) continue;
    if (best == nullptr || wgmma_cost(kernel, shape, sms) < wgmma_cost(*best, shape, sms)) best = &kernel;
  }
  return best;
}

#ifdef __CUDACC__
static struct status wgmma_bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                                attn_pass_args args[ATTN_PASSES_MAX]) {
  for (const WgmmaKernel &kernel : kWgmmaKernels) {
    if (plan->pass[0].kernel != wgmma_handle(kernel, shape->dtype)) continue;
    WgmmaParams params = {};
    TRY(wgmma_params(*shape, *buffers, kernel.shape, plan->pass[0].grid[0] / kernel.shape.cluster,
                     wgmma_turn(kernel, *shape) / kernel.cost.step, &params));
    put_args(args[0], params);
    return status_ok();
  }
  return status_make(STATUS_INTERNAL, "wgmma: the plan has another variant's kernel");
}
#endif

static const char *wgmma_supports(const attn_problem *shape, const attn_tuning *tuning, const device_info *device) {
  if (const char *why = check_hopper(*device)) return why;
  const WgmmaKernel *kernel = wgmma_choose(*shape, *tuning, device->sms);
  if (kernel == nullptr)
    return "no kernel is compiled for these tunables at this D: kernels/variants/wgmma.cu lists them";
  if (shape->lse && kernel->shape.fma_exp > 0)
    return "exp2_fma must be 0 with lse: its exponentials are off by up to 75e-6, the log-sum-exp is fp32";
  if ((uint64_t)shape->B * shape->Hq * ceil_div(shape->Sq, 64) > INT32_MAX)
    return "B * Hq * ceil(Sq / 64) must be at most 2^31 - 1, the limit of grid.x";
  return check_device(*device, wgmma_tile::smem_bytes(kernel->shape));
}

static void wgmma_plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *device,
                       attn_plan *plan) {
  const WgmmaKernel &kernel = *wgmma_choose(*shape, *tuning, device->sms);
  const Shape &s = kernel.shape;
  const uint32_t rows = s.groups * 64;
  const uint32_t items = wgmma_tile::items(*shape, s),
                 blocks = tuning->value[WGMMA_PERSISTENT] ? device->sms / s.cluster : items;
  plan->pass_count = 1;
  plan->tile_q = rows, plan->tile_kv = s.keys;
  plan->splits = 1, plan->stages = s.slots / 2;
  attn_pass &pass = plan->pass[0];
  pass.name = "main";
  pass.kernel = wgmma_handle(kernel, shape->dtype);
  pass.cluster[0] = s.cluster;
  set_grid(pass, (blocks < items ? blocks : items) * s.cluster, ATTN_COVERS_B | ATTN_COVERS_H | ATTN_COVERS_Q, 1,
           ATTN_COVERS_NOTHING, 1, ATTN_COVERS_NOTHING);
  set_block(pass, wgmma_tile::threads(s), s.groups * 128, wgmma_tile::smem_bytes(s),
            wgmma_tile::threads(s) - s.groups * 128);
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_wgmma = {
    .name = "wgmma",
    .summary = "Hopper: wgmma fed by the copy engine, warpgroups with roles, softmax under the products",
    .limits = "compute capability 9.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_WGMMA,
    .takes = ATTN_TAKES_LSE,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = "wgmma has no fp32 inputs",
    .dims = {.most = 256,
             .multiple = 8,
             .why = "64 rows of output fill a warpgroup's registers, and the copy engine takes whole 16-byte units"},
    .tunables = attn::wgmma_tunables,
    .supports = attn::wgmma_supports,
    .plan = attn::wgmma_plan,
    .bind = attn::wgmma_bind,
    .run = nullptr,
};
