/* wgmma: attention as Hopper wants it. The copy engine fetches, warpgroups have roles, and the tensor cores
 * multiply out of shared memory while the same warps do the softmax of another tile (kernels/tiles/wgmma_tile.cuh).
 *
 * Idea: a block of 1 to 4 warpgroups of 64 query rows each, one more that only fetches, one block per SM that walks
 *   over the q tiles. Scores, weights and output stay in registers; P is S, packed in pairs. In the order of their
 *   gain:
 *   - Softmax under the products: S of the next tile and O of the last are started together, and scores become
 *     weights while the second product runs (FlashAttention-3). It does not stop at the end of a q tile: the last
 *     product of one and the first of the next are a pair like all others, and O is written meanwhile.
 *   - No maximum: a reference that is not the maximum gives the same quotients, so the maximum of a tile matters only
 *     if a weight overflows. It is not looked for. The sum of the weights, which is needed anyway, shows when one has
 *     become larger than 2^15; then the warp multiplies its 16 rows once more, by mma.sync from the tile that is
 *     still there, and takes the slow way. The first tile of a q tile, the last and masked ones always take it.
 *   - Turns: warpgroups start their products one after the other, so that their softmaxes do not meet.
 *   - One ring of slots for K and V in the order of their use: as few as three slots suffice.
 *   - The fetching warps work out the next item and leave a note of it in shared memory. Divisions are products and
 *     shifts, or a launch with one item a block waits for them: 0.3 us and more of 5.
 *   - A warpgroup leaves out the tiles of keys that only the block's other rows attend, and gives away its turns for
 *     them.
 *   - Causal items in a closed-form order that needs no counter: sections of heads, long items first in one section
 *     and last in the next, blocks in reversed order every other round. Sections are as small as leaves the blocks
 *     evenly loaded, which a simulation of the order tells: the q tiles of a head then follow each other closely, and
 *     find its K and V in L2.
 *
 * Source: FlashAttention-3 (Shah et al. 2024) for roles, turns and overlap; the rest is written from the PTX manual.
 *
 * Can win: against every other variant here that has 64 queries or more. Clocks of an SM for 64 rows and 128 keys:
 *     tensor cores    4 * 64 * 128 * D / 4096        512 at D = 64, 1024 at 128, 2048 at 256
 *     ex2             64 * 128 / 16                  512
 *   so D = 64 is as much an ex2 kernel as a product kernel, and wants four warpgroups to keep both busy; at D = 256
 *   the tensor cores are 97 % busy. What is left then is power: 700 W are reached at 1.35 to 1.6 GHz.
 *
 * Cannot: run anywhere but on compute capability 9.0; fill a GPU with few q tiles (64 rows at least; `split_kv` and
 *   `one_query` are for that); multiply less than a tile of keys: at D = 128 half of the last one is masked for every
 *   other warpgroup. Two blocks of one warpgroup on an SM were slower.
 *
 * Budget, registers per thread: S keys / 2, P keys / 4, O D / 2, Q D / 4 when it is held, 30 more. Shared memory, of
 *   227 KB: Q rows * 2 D, twice where that fits; slots * keys * 2 D (D in steps of 64), 0.5 KB of barriers and notes.
 *   -   D  groups  registers                      of   shared memory
 *   -  64   4      32 + 16 + 32 = 80 + 30        112   32 + 12 * 8  = 128 KB
 *   -  64   3      64 + 32 + 32 = 128 + 30       160   24 +  8 * 16 = 152 KB
 *   -  64   1, 2   64 + 32 + 32 + 16 = 144       232   8 or 16 + 8 * 16
 *   -  96   3      48 + 24 + 48 = 120 + 30       160   48 +  6 * 24 = 192 KB
 *   - 128   1, 2   64 + 32 + 64 = 160            232   32 or 64 + 5 * 32 = 192 or 224 KB
 *   - 128   2      32 + 16 + 64 = 112            232   64 + 10 * 16 = 224 KB
 *   - 192   2      40 + 20 + 96 = 156            232   48 +  5 * 30 = 198 KB
 *   - 256   2      32 + 16 + 128 = 176           232   64 +  5 * 32 = 224 KB
 *
 * Rungs, D = 128, B = 4, H = 16, S = 4096, f16, on an H200: speed over cuDNN in the same run, full and causal. Times
 * alone hide it: the card is power-bound, and its clock falls as a rung does better.
 *   overlap=0,pingpong=0,lazy=0   0.90  0.97
 *   overlap=1                     1.08  1.15
 *   pingpong=1                    1.08  1.15
 *   lazy=1                        1.09  1.16
 *   lazy=2                        1.21  1.29
 *   cluster=2                     1.21  1.19   half the reads of L2, but blocks wait for each other
 *   persistent=0                  1.17  1.18   every q tile begins with an empty ring
 *   exp2_fma=2 at D = 64 takes up to 6 % longer where S is 1024 or more, and nothing less elsewhere.
 * Causal, 16384 tokens in all, speed over cuDNN at S = 512, 1024, 4096, when sections were 32 MB of K and V, and 2 to
 * 4 MB: at D = 64 1.40 and 1.43, -, 1.21 and 1.21; at D = 128 1.06 and 1.11, 1.12 and 1.18, 1.27 and 1.19; at D = 256
 * 1.02 and 1.20, 1.24 and 1.30, 1.33 and 1.29. Leaving out tiles of others made 1.24 into 1.40 at D = 64, S = 512.
 * Without turns: up to 5 % more at D = 64 under a causal mask, 2 % less at D = 128. Three warpgroups of 64 keys at
 * D = 128: no more anywhere. Two of 64 keys, time over that with 128, 128 heads, full and causal: S = 128 0.95 and
 * 0.88, 192 0.82 and 0.87, 320 0.90 and 0.92, 512 1.03 and 0.97, 2048 (16 heads) 1.05 and 1.03: taken where the keys
 * end in the first half of a tile, and for short causal ones. results/h200/prefill.journal has every shape of
 * `prefill` beside cuDNN. */
#include "kernels/tiles/wgmma_tile.cuh"

namespace attn {

using wgmma_tile::Shape;

/* The kernels that are compiled. Of those that fit the tunables the cheapest is taken, by what two things cost one
 * block on an H200, in units of 10 ns: the turn from one q tile to the next, and a tile of keys.
 * X(turn, step, D, groups, keys, slots, overlap, pingpong, fma_exp, lazy, hold_q, cluster) */
#define WGMMA_FOR_BOTH(X)                       \
  X(215, 90, 64, 4, 64, 12, 1, 1, 0, 2, 0, 1)   \
  X(130, 140, 64, 3, 128, 8, 1, 1, 0, 2, 0, 1)  \
  X(130, 102, 64, 2, 128, 8, 1, 1, 0, 2, 1, 1)  \
  X(80, 84, 64, 1, 128, 8, 1, 1, 0, 2, 1, 1)    \
  X(170, 130, 96, 3, 96, 6, 1, 1, 0, 2, 0, 1)   \
  X(210, 147, 128, 2, 128, 5, 1, 1, 0, 2, 0, 1) \
  X(195, 78, 128, 2, 64, 10, 1, 1, 0, 2, 0, 1)  \
  X(150, 114, 128, 1, 128, 5, 1, 1, 0, 2, 0, 1) \
  X(270, 140, 192, 2, 80, 5, 1, 1, 0, 2, 0, 1)  \
  X(320, 160, 256, 2, 64, 5, 1, 1, 0, 2, 0, 1)

/* The rungs below, and what did not win: f16 alone, to measure what each adds. */
#define WGMMA_FOR_F16(X)                        \
  X(210, 147, 64, 3, 128, 8, 1, 1, 2, 1, 0, 1)  \
  X(210, 147, 128, 2, 128, 5, 0, 0, 0, 0, 0, 1) \
  X(210, 147, 128, 2, 128, 5, 1, 0, 0, 0, 0, 1) \
  X(210, 147, 128, 2, 128, 5, 1, 1, 0, 0, 0, 1) \
  X(210, 147, 128, 2, 128, 5, 1, 1, 0, 1, 0, 1) \
  X(210, 147, 128, 2, 128, 5, 1, 1, 0, 2, 0, 2)

struct WgmmaKernel {
  uint32_t turn, step;
  Shape shape;
  const void *f16, *bf16;
  bool has_bf16;
};

#ifdef __CUDACC__
#define WGMMA_HANDLE(T, ...) handle(wgmma_kernel<wgmma_tile::Config<T, Shape{__VA_ARGS__}>>)
#else
#define WGMMA_HANDLE(T, ...) nullptr
constexpr decltype(attn_variant::bind) wgmma_bind = nullptr;
#endif

#define WGMMA_BOTH(turn, step, ...) \
  {turn, step, {__VA_ARGS__}, WGMMA_HANDLE(__half, __VA_ARGS__), WGMMA_HANDLE(__nv_bfloat16, __VA_ARGS__), true},
#define WGMMA_F16(turn, step, ...) {turn, step, {__VA_ARGS__}, WGMMA_HANDLE(__half, __VA_ARGS__), nullptr, false},
static const WgmmaKernel wgmma_kernels[] = {WGMMA_FOR_BOTH(WGMMA_BOTH) WGMMA_FOR_F16(WGMMA_F16)};

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
    {"warpgroups", 0, 4, 0,
     "warpgroups of a block that multiply, 64 query rows each; 0: what is fastest for the shape"},
    {"kv_tile", 0, 192, 0, "keys of a tile; 0: what is fastest for the shape"},
    {"overlap", 0, 1, 1, "1: a warpgroup's softmax runs under its own products of other tiles, 0: in turns"},
    {"pingpong", 0, 1, 1, "1: warpgroups take turns to start their products, 0: each when it can"},
    {"exp2_fma", 0, 8, 0, "sixteenths of the exponentials that are polynomials on the FMA pipe"},
    {"lazy", 0, 2, 2,
     "0: rescale the output at every tile, 1: when the maximum has grown by 2^8, 2: look for the maximum only when a "
     "weight is too large"},
    {"cluster", 1, 2, 1, "blocks that fetch K and V for each other"},
    {"persistent", 0, 1, 1, "1: one block per SM loops over the q tiles, 0: one block per q tile"},
    {nullptr, 0, 0, 0, nullptr},
};

static uint32_t wgmma_padded(uint32_t D) {
  return D <= 64 ? 64 : D <= 96 ? 96 : D <= 128 ? 128 : D <= 192 ? 192 : 256;
}

static bool wgmma_fits(const Shape &s, uint32_t D, const attn_tuning &t) {
  const auto any_or = [&](int which, uint32_t value) {
    return t.value[which] == 0 || (uint32_t)t.value[which] == value;
  };
  const auto is = [&](int which, uint32_t value) { return (uint32_t)t.value[which] == value; };
  return s.D == wgmma_padded(D) && any_or(WGMMA_GROUPS, s.groups) && any_or(WGMMA_KEYS, s.keys) &&
         is(WGMMA_OVERLAP, s.overlap) && is(WGMMA_PINGPONG, s.pingpong) && is(WGMMA_FMA_EXP, s.fma_exp) &&
         is(WGMMA_LAZY, s.lazy) && is(WGMMA_CLUSTER, s.cluster);
}

/* A tile of keys takes at least what L2 needs to deliver its K and V to all blocks at work, in 10 ns: 6 TB/s for 132
 * SMs. That binds blocks of one warpgroup, which read as much for half the rows. */
static double wgmma_step(const WgmmaKernel &kernel, double rounds) {
  constexpr double kBytesPerSm = 455;
  return fmax(kernel.step, 4.0 * kernel.shape.keys * kernel.shape.D / kBytesPerSm * fmin(rounds, 1));
}

/* Under a causal mask more is multiplied and masked of a tile that has more keys than a warpgroup has rows. */
static double wgmma_turn(const WgmmaKernel &kernel, const attn_shape &shape) {
  const double masked = kernel.shape.D > 64 ? 30 : 60; /* per 64 keys more, in 10 ns */
  return kernel.turn + (shape.causal ? masked * (fmax(kernel.shape.keys, 64) / 64 - 1) : 0);
}

/* Whole rounds of the blocks over equal items. Causal items differ and fill the last round, but it cannot end before
 * the longest has. */
static double wgmma_cost(const WgmmaKernel &kernel, const attn_shape &shape, uint32_t sms) {
  const uint32_t q_tiles = ceil_div(shape.Sq, kernel.shape.groups * 64),
                 steps = ceil_div(shape.Skv, kernel.shape.keys);
  const double rounds = (double)shape.B * shape.Hq * q_tiles / sms, step = wgmma_step(kernel, rounds),
               turn = wgmma_turn(kernel, shape);
  if (!shape.causal) return ceil(rounds) * (turn + steps * step);
  const double mean = 0.5 * (steps + ceil_div(steps, q_tiles));
  return fmax(rounds * (turn + mean * step), turn + steps * step);
}

static const WgmmaKernel *wgmma_choose(const attn_shape &shape, const attn_tuning &tuning, uint32_t sms) {
  const WgmmaKernel *best = nullptr;
  for (const WgmmaKernel &kernel : wgmma_kernels) {
    if (!wgmma_fits(kernel.shape, shape.D, tuning) || (shape.dtype == ATTN_BF16 && !kernel.has_bf16)) continue;
    if (best == nullptr || wgmma_cost(kernel, shape, sms) < wgmma_cost(*best, shape, sms)) best = &kernel;
  }
  return best;
}

#ifdef __CUDACC__
static struct status wgmma_bind(const attn_shape *shape, const attn_plan *plan, const attn_buffers *buffers,
                                attn_pass_args args[ATTN_PASSES_MAX]) {
  WgmmaParams params = {};
  struct status status = status_make(STATUS_INTERNAL, "wgmma: the plan has another variant's kernel");
  for (const WgmmaKernel &kernel : wgmma_kernels)
    if (plan->pass[0].kernel == kernel.f16 || plan->pass[0].kernel == kernel.bf16)
      status = wgmma_params(*shape, *buffers, kernel.shape, plan->pass[0].grid[0] / kernel.shape.cluster,
                            wgmma_turn(kernel, *shape) / kernel.step, &params);
  put_args(args[0], params);
  return status;
}
#endif

static const char *wgmma_supports(const attn_shape *shape, const attn_tuning *tuning, const device_info *device) {
  if (shape->dtype == ATTN_F32) return "dtype must be f16 or bf16: wgmma has no fp32 inputs";
  if (shape->D > 256) return "D must be at most 256: the output of 64 rows no longer fits a warpgroup's registers";
  if (shape->D % 8 != 0) return "D must be a multiple of 8: the copy engine takes rows of whole 16-byte units";
  if (device->kind != DEVICE_CUDA) return "the device must be a CUDA GPU";
  if (device->cc_major != 9 || device->cc_minor != 0)
    return "the compute capability must be 9.0: wgmma exists on Hopper alone";
  const WgmmaKernel *kernel = wgmma_choose(*shape, *tuning, device->sms);
  if (kernel == nullptr)
    return "no kernel is compiled for these tunables at this D: kernels/variants/wgmma.cu lists them";
  if (shape->lse && kernel->shape.fma_exp > 0)
    return "exp2_fma must be 0 with lse: its exponentials are off by up to 75e-6, the log-sum-exp is fp32";
  if ((uint64_t)shape->B * shape->Hq * ceil_div(shape->Sq, 64) > INT32_MAX)
    return "B * Hq * ceil(Sq / 64) must be at most 2^31 - 1, the limit of grid.x";
  return check_device(*device, wgmma_tile::smem_bytes(kernel->shape));
}

static void wgmma_plan(const attn_shape *shape, const attn_tuning *tuning, const device_info *device,
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
  pass.kernel = shape->dtype == ATTN_F16 ? kernel.f16 : kernel.bf16;
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
    .limits = "f16, bf16; D a multiple of 8 up to 256; compute capability 9.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_WGMMA,
    .writes_lse = true,
    .tunables = attn::wgmma_tunables,
    .supports = attn::wgmma_supports,
    .plan = attn::wgmma_plan,
    .bind = attn::wgmma_bind,
    .run = nullptr,
};
