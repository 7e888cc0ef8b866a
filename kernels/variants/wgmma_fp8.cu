/* wgmma_fp8: attention of e4m3 tensors with fp32 scales on Hopper's tensor cores, with all features that
 * wgmma_general takes, except lists of blocks (kernels/tiles/wgmma_fp8_tile.cuh).
 *
 * Idea: as wgmma_general, at twice its rate of products and half of its bytes. V is transposed by two warps that have
 *   nothing else to do or, where many queries read it, by a pass before the kernel. Weights are packed from
 *   accumulators to an operand in registers. Accumulators of e4m3 products keep about 14 bits, so P V of at most 512
 *   keys is added to fp32 sums (promotion). The work between two products bounds the time, so it is kept short. Most
 *   tiles are weighed without a look at their maxima: weights that do not fit e4m3 are seen in the packed bytes, and
 *   are few. The sum of weights is a product with a block of ones. Soft caps, sinks, windows, scales for blocks of
 *   keys and LSE (extras) have kernels of their own: without them a kernel has a fifth less code. Where q tiles are
 *   few, several blocks share the keys of each, and another pass merges their sums
 *   (kernels/tiles/wgmma_split_tile.cuh). Kernels for that take all extras.
 *
 * Source: FlashAttention-3 for the transposing of V beside the products; DeepSeek-V3's report for adding the sums of
 *   tensor cores to fp32 ones; FlashDecoding for keys that blocks share; the rest is written from the PTX manual.
 *
 * Can win: where products bound the time. Clocks of an SM for one query against one key, by what bounds them:
 *
 *        D   tensor cores   exponentials   issued instructions   shared memory
 *        64  1/32           1/16           6 / 128               4 / 128
 *       128  1/16           1/16           5 / 128               9 / 128; 8 where a pass transposes V
 *       256  1/8            1/16           12 / 128              20 / 128; 19 where a pass transposes V
 *
 *   Shared memory is read by products (Q and K for each warpgroup, transposed V), written by the copy engine, and
 *   read and written to transpose V or to add to the fp32 sums in it. So at D = 64 it cannot be faster than half of
 *   the tensor cores' peak.
 *
 *   The kernel does not reach these bounds. This and the next paragraph were measured where the kernel transposes
 *   V. A tile of 128 x 128 at D = 128 takes 2000 clocks of an H200, of which tensor cores and exponentials are busy
 *   for 1024 each. Measured alone, with two warpgroups, products take 1025 clocks, exponentials 1025, and
 *   exponentials with their scaling and packing 1230. Accumulators go through the register file in each step of a
 *   product. So while tensor cores are busy, a warp's exponential occupies its scheduler for 10.4 clocks instead of
 *   8, and other instructions take up to 1.5 times as long. A look at the maxima costs 550 clocks a tile, with the
 *   waits that its branch makes. fp32 sums of the weights cost 120 to 380 clocks. Adding P V to fp32 sums after
 *   each tile costs 100. Each part of the work was left out alone. The time then fell by these percentages:
 *
 *       left out                                           D = 64   128   256
 *       exponentials and the look at packed weights            27    23     7
 *       the look at packed weights                              7     5     5
 *       transposing V                                           1     3     5
 *       adding to fp32                                          1     3     6
 *       the product with ones                                   0     2     1
 *
 *   A q tile costs 5200 clocks at D = 128, beside the time of its tiles of keys: a turn, the start of the last and
 *   the next product, the last sums, the output, and a look at the maxima of the first tiles. Misses of the
 *   instruction cache are a part of all of it. Kernels with extras take 6900 clocks and spill 12 registers. Without
 *   extras 16,16,1024,128 takes 183 us instead of 201, and causal 131 instead of 148; 1 % is won by not scaling sums
 *   that are still zero. FlashAttention-3 takes 182 and 129 us.
 *
 *   With all sums in registers and two warpgroups, the maxima of a round's last tile are not looked for. This saves
 *   2 % of the time at 1024 keys. Otherwise they are. With sums in shared memory, leaving them out made 8192 keys 3 %
 *   slower, because the compiler ordered the loop differently. With three warpgroups there are too few registers.
 *
 *   None of these is used, since none was faster overall. In the first ten the kernel transposes V.
 *
 *        a warpgroup takes one or two tiles more while the other is between two q tiles: 5 to 9 % slower at 1024
 *          keys
 *        after a masked first tile, looking at the maxima of one tile instead of three: 8 % slower at 1024 keys
 *        after an unmasked first tile, looking at one more tile's maxima: 1 % slower
 *        starting the products of one half of the keys while the other half's weights are made
 *        letting one warpgroup at a time make exponentials
 *        starting products without turns
 *        two warpgroups of 128 keys instead of three of 96 at D = 64
 *        a quarter of the exponentials as polynomials: 1 % slower, 5 % at D = 256
 *        packing weights before P V is waited for: 4 % slower
 *        the products and then the softmax of two tiles at a time: 0.5 % faster at D = 256, 15 % slower at D = 128
 *        three warpgroups of 64 keys at D = 128 with all sums in shared memory: 10 % slower
 *        exponentials interleaved evenly with the scaling of scores, which the compiler does first: 1 to 2 % slower
 *        testing the barriers of the next tile early: 1 % slower, as the time saved is spent waiting for the turn
 *        two sets of scores, so that a tile's products start before the softmax of the tile before it: 3 % faster
 *          with two warpgroups at D = 64, which is 12 % slower than three; 4 to 12 % slower at D = 128
 *
 *   Where the kernel transposes V, (1,16,8192,256) takes 2.01 million clocks: 1.87 without the four chunks of P V,
 *   each of which is waited for and added alone, 1.89 without transposing, and 1.26 without both. So where a pass
 *   transposes V, P V has no chunks, and the sums of 208 columns are in shared memory. The clocks then fell to 1.86
 *   million. They fell to 1.69 when part was added to the sums before the warpgroup's turn, and to 1.55 when
 *   weights were packed during P V of the tile before. The sums still take about 0.2 million. At D = 128 the same
 *   took the clocks from 1.07 million to 0.99 million.
 *
 *   Splits are chosen by estimated times. Their constants (SplitCosts) come from other kernels; the times are 0.8 to
 *   1.1 of those measured on an H100. A block leaves 4 Dv + 16 bytes for each row of a part, 66 KB for 128 rows at
 *   Dv = 128. The pass that merges reads the same.
 *
 * Cannot: run on another compute capability than 9.0; write O in fp32; take K and V of another type than Q; read
 *   pages or lists of blocks; split keys where a pass transposes V.
 *
 * Budget, registers per thread: scores keys / 2, weights keys / 8 (twice where they are packed early), part
 * Dv / chunks / 2, fp32 sums of the columns that have none in shared memory / 2, 4 for the sums of weights. Shared
 * memory, KB: Q (two buffers where they fit), slots, work infos and barriers 1, block of ones 1, and V that waits to
 * be transposed or fp32 sums.
 *
 *        D   groups  keys  V transposed  registers                        of    shared memory
 *        64  3       96    here          48 + 12 + 32 + 32 + 4 = 128      152   24 + 8 * 12 + 2 + 24 = 146
 *        64  2       128   here          64 + 16 + 32 + 32 + 4 = 148      216   32 + 8 * 16 + 2 + 32 = 194
 *       128  2       128   here          64 + 16 + 64 + 64 + 4 = 212      232   32 + 8 * 16 + 2 + 32 = 194
 *       128  2       128   before        64 + 32 + 64 + 32 + 4 = 196      232   32 + 8 * 16 + 2 + 32 = 194
 *       256  2       64    here          32 + 8 + 32 + 128 + 4 = 204      232   32 + 5 * 32 + 2 + 32 = 226
 *       256  2       64    before        32 + 16 + 128 + 24 + 4 = 204     232   32 + 5 * 16 + 2 + 104 = 218
 *
 * Kernels that split keys have the budgets of those whose V is transposed here. */
#include "kernels/tiles/wgmma_fp8_tile.cuh"

namespace attn {

namespace wgmma_fp8 {

/* A kernel that is compiled. */
struct Kernel {
  Shape shape;
  uint32_t turn, step; /* what a block takes on an H200 from one q tile to the next, and for a tile of keys; 10 ns */
};

/* Rows of a q tile whose keys blocks share: one kernel merges the parts of all. */
constexpr uint32_t kSplitRows = 128;

/* Of the kernels that fit the problem and the tunables, those of the smallest D are compared, and the one with the
 * least estimated time is taken. */
constexpr Kernel kKernels[] = {
    {{.D = 64, .Dv = 64, .groups = 3, .keys = 96, .slots = 8}, 340, 86},
    {{.D = 64, .Dv = 64, .groups = 2, .keys = 128, .slots = 8}, 250, 112},
    {{.D = 64, .Dv = 64, .groups = 3, .keys = 96, .slots = 8, .extras = 1}, 220, 100},
    {{.D = 64, .Dv = 64, .groups = 2, .keys = 128, .slots = 8, .extras = 1}, 220, 122},
    {{.D = 64, .Dv = 64, .groups = 2, .keys = 128, .slots = 8, .extras = 1, .splits = 2}, 220, 122},
    {{.D = 128, .Dv = 128, .groups = 2, .keys = 128, .slots = 8}, 300, 106},
    {{.D = 128, .Dv = 128, .groups = 2, .keys = 128, .slots = 8, .sums = 64, .transposed = 1}, 340, 102},
    {{.D = 128, .Dv = 128, .groups = 2, .keys = 128, .slots = 8, .extras = 1}, 470, 118},
    {{.D = 128, .Dv = 128, .groups = 2, .keys = 128, .slots = 8, .sums = 64, .transposed = 1, .extras = 1}, 470, 109},
    {{.D = 128, .Dv = 128, .groups = 2, .keys = 128, .slots = 8, .extras = 1, .splits = 2}, 470, 118},
    {{.D = 256, .Dv = 256, .groups = 2, .keys = 64, .slots = 5, .chunks = 4}, 320, 115},
    {{.D = 256, .Dv = 256, .groups = 2, .keys = 64, .slots = 5, .sums = 208, .transposed = 1}, 320, 93},
    {{.D = 256, .Dv = 256, .groups = 2, .keys = 64, .slots = 5, .chunks = 4, .extras = 1}, 320, 121},
    {{.D = 256, .Dv = 256, .groups = 2, .keys = 64, .slots = 5, .sums = 208, .transposed = 1, .extras = 1}, 320, 94},
    {{.D = 256, .Dv = 256, .groups = 2, .keys = 64, .slots = 5, .chunks = 4, .extras = 1, .splits = 2}, 320, 121},
};
static_assert([] {
  for (const Kernel &kernel : kKernels)
    if (is_split(kernel.shape) && rows(kernel.shape) != kSplitRows) return false;
  return true;
}());

#ifdef __CUDACC__
static const void *main_handle(const Kernel &kernel, enum attn_dtype out) {
  return for_row<std::size(kKernels)>(&kernel - kKernels, [&](auto row) {
    return for_type<__half, __nv_bfloat16>(out, [](auto t) -> const void * {
      constexpr const Kernel &kKernel = kKernels[decltype(row)::value];
      return handle(wgmma_fp8_kernel<Config<typename decltype(t)::type, kKernel.shape>>);
    });
  });
}
static const void *order_handle(const Kernel &kernel) {
  return for_row<std::size(kKernels)>(&kernel - kKernels, [](auto row) -> const void * {
    constexpr Shape kShape = wgmma_general::without_extras(kKernels[decltype(row)::value].shape);
    if constexpr (is_split(kShape))
      return handle(wgmma_split_order<rows(kShape), kShape.keys>);
    else
      return handle(wgmma_general_order<Config<__nv_bfloat16, kShape>>);
  });
}
static const void *transpose_handle(const Kernel &kernel) {
  return for_row<std::size(kKernels)>(&kernel - kKernels, [](auto row) -> const void * {
    constexpr Shape kShape = wgmma_general::without_extras(kKernels[decltype(row)::value].shape);
    if constexpr (kShape.transposed) return handle(wgmma_fp8_transpose<Config<__nv_bfloat16, kShape>>);
    return nullptr;
  });
}
static const void *merge_handle(enum attn_dtype out) {
  return for_type<__half, __nv_bfloat16>(
      out, [](auto t) { return handle(wgmma_split_merge<typename decltype(t)::type, kSplitRows>); });
}
#else
static const void *merge_handle(enum attn_dtype) { return nullptr; }
static const void *transpose_handle(const Kernel &) { return nullptr; }
static const void *main_handle(const Kernel &, enum attn_dtype) { return nullptr; }
static const void *order_handle(const Kernel &) { return nullptr; }
constexpr decltype(attn_variant::bind) bind = nullptr;
#endif

enum { GROUPS, KEYS, PERSISTENT, TRANSPOSE_PASS, SPLITS };
enum { FASTEST = 2 }; /* a value of TRANSPOSE_PASS */

static const attn_tunable tunables[] = {
    {.name = "warpgroups",
     .max = 3,
     .help = "warpgroups of a block that multiply, 64 query rows each; 0: what is fastest for the shape"},
    {.name = "kv_tile", .max = 128, .help = "keys of a tile; 0: what is fastest for the shape"},
    {.name = "persistent",
     .max = 1,
     .default_value = 1,
     .help = "1: one block per SM loops over the q tiles, 0: one block per q tile"},
    {.name = "transpose_pass",
     .max = FASTEST,
     .default_value = FASTEST,
     .help = "1: a pass before the kernel transposes V (sequences of one length), 0: the kernel does, 2: what is "
             "fastest"},
    {.name = "splits",
     .max = (int32_t)wgmma_split::kSplitsMax,
     .help =
         "at most so many blocks share the keys of a q tile, and another pass merges their results; 1: no splits; "
         "0: what is fastest for the shape"},
    {.name = nullptr},
};

static bool fits(const Kernel &kernel, const attn_problem &shape, const attn_tuning &t) {
  const auto any_or = [&](int which, uint32_t value) {
    return t.value[which] == 0 || (uint32_t)t.value[which] == value;
  };
  /* A tile of keys must not reach into two blocks of keys with scales of their own. */
  const bool has_scales = shape.scales != ATTN_SCALES_BLOCK || ATTN_SCALE_KEYS % kernel.shape.keys == 0;
  const bool is_asked =
      t.value[TRANSPOSE_PASS] == FASTEST || (uint32_t)t.value[TRANSPOSE_PASS] == kernel.shape.transposed;
  /* The pass that transposes takes sequences of one length, and numbers the tiles of V by 31 bits. */
  const bool can_pass = !attn_is_ragged(&shape) && transposed_tiles(shape, kernel.shape) <= INT32_MAX;
  const bool may_split = is_split(kernel.shape) ? t.value[SPLITS] != 1 : t.value[SPLITS] <= 1;
  const bool needs_extras =
      shape.softcap > 0 || shape.sink || shape.lse || shape.left >= 0 || shape.scales == ATTN_SCALES_BLOCK;
  return shape.D <= kernel.shape.D && shape.Dv <= kernel.shape.Dv &&
         (is_split(kernel.shape) || (kernel.shape.extras != 0) == needs_extras) && has_scales && is_asked &&
         may_split && (can_pass || !kernel.shape.transposed) && any_or(GROUPS, kernel.shape.groups) &&
         any_or(KEYS, kernel.shape.keys);
}

/* The estimated time of a pass that transposes V, in units of 10 ns: 3 us for its launch, and one read and one write
 * of V at 3.5 TB/s. */
static double transpose_cost(const attn_problem &shape, const Kernel &kernel) {
  if (!kernel.shape.transposed) return 0;
  return 300 + 2.0 * (double)transposed_tiles(shape, kernel.shape) * v_rows(kernel.shape) * 128 / 35e3;
}

/* A kernel for a problem, and how the keys of its q tiles are cut; splits = 1: they are not. */
struct Choice {
  const Kernel *kernel;
  wgmma_split::Cut cut;
};

/* The estimated time of a kernel, and its cut. False: its q tiles cannot be cut as it is asked for. */
static bool estimate(const Kernel &kernel, const attn_problem &shape, const attn_tuning &tuning, uint32_t sms,
                     double *time, wgmma_split::Cut *cut) {
  const Shape &s = kernel.shape;
  *cut = {0, 1, 0};
  if (!is_split(s)) {
    *time =
        wgmma_general::cost(shape, rows(s), s.keys, kernel.turn, kernel.step, sms) + transpose_cost(shape, kernel);
    return true;
  }
  /* Before the lengths are listed, which takes long where they are millions. */
  if (wgmma_general::items(shape, rows(s)) > wgmma_split::parts_allowed(tuning.value[SPLITS] == 0, sms)) return false;
  const std::vector<wgmma_split::Length> lengths = wgmma_split::lengths_of(shape, rows(s), s.keys);
  if (lengths.empty()) return false;
  if (tuning.value[SPLITS] == 0) {
    *cut = wgmma_split::cheapest_cut(shape, lengths, rows(s), kernel.turn, kernel.step, sms, time);
    *time /= wgmma_split::kSplitCosts.worthwhile; /* so that splits must also beat other kernels by this factor */
    return cut->splits > 1;
  }
  *cut = wgmma_split::cut_of(lengths, (uint32_t)tuning.value[SPLITS]);
  *time = wgmma_split::cost(shape, lengths, *cut, rows(s), kernel.turn, kernel.step, sms);
  return wgmma_split::has_list(shape, *cut);
}

/* Of the kernels of the smallest D the one that is estimated to be the fastest; nullptr: none fits. */
static Choice choose(const attn_problem &shape, const attn_tuning &tuning, uint32_t sms) {
  Choice best = {nullptr, {}};
  double least = 0;
  for (const Kernel &kernel : kKernels) {
    if (!fits(kernel, shape, tuning)) continue;
    /* A kernel of a larger D multiplies zeros. */
    if (best.kernel != nullptr && kernel.shape.D > best.kernel->shape.D) break;
    double time = 0;
    wgmma_split::Cut cut;
    if (!estimate(kernel, shape, tuning, sms, &time, &cut)) continue;
    if (best.kernel == nullptr || time < least) best = {&kernel, cut}, least = time;
  }
  return best;
}

#ifdef __CUDACC__
/* The arguments where keys are split. */
static void bind_parts(const attn_problem &shape, const attn_plan &plan, const attn_buffers &buffers,
                       const Kernel &kernel, SplitParams *params, attn_pass_args args[ATTN_PASSES_MAX]) {
  const std::vector<wgmma_split::Length> lengths =
      wgmma_split::lengths_of(shape, rows(kernel.shape), kernel.shape.keys);
  const wgmma_split::Cut cut = wgmma_split::cut_of(lengths, plan.splits);
  const wgmma_split::Partials partials = wgmma_split::partials_of(shape, buffers, lengths, cut, rows(kernel.shape));
  const uint32_t main = plan.pass_count - 2;
  params->parts = wgmma_split::parts_of(shape, buffers, lengths, cut, partials);
  params->items = wgmma_split::heads_of(shape) * cut.count;
  params->ragged = nullptr; /* a list of q tiles, which there is none of */
  if (main > 0) put_args(args[0], wgmma_split::order_params(shape, buffers, cut));
  put_args(args[main], *params);
  put_args(args[main + 1], wgmma_split::merge_params(shape, buffers, lengths, cut, partials));
}

static struct status bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                          attn_pass_args args[ATTN_PASSES_MAX]) {
  for (const Kernel &kernel : kKernels) {
    const uint32_t last = plan->pass_count - 1, main = is_split(kernel.shape) && last > 0 ? last - 1 : last;
    if (plan->pass[main].kernel != main_handle(kernel, attn_out_dtype(shape))) continue;
    SplitParams params = {};
    TRY(params_make(*shape, *buffers, kernel.shape, plan->pass[main].grid[0], (double)kernel.turn / kernel.step,
                    &params));
    if (is_split(kernel.shape)) {
      bind_parts(*shape, *plan, *buffers, kernel, &params, args);
      return status_ok();
    }
    put_args(args[main], static_cast<const Params &>(params));
    if (kernel.shape.transposed)
      put_args(args[0], transpose_params(*shape, *buffers, kernel.shape));
    else if (main > 0)
      put_args(args[0], wgmma_general::order_params(*shape, *buffers, rows(kernel.shape)));
    return status_ok();
  }
  return status_make(STATUS_INTERNAL, "wgmma_fp8: the plan has another variant's kernel");
}
#endif

static const char *supports(const attn_problem *shape, const attn_tuning *tuning, const device_info *device) {
  if (const char *why = check_hopper(*device)) return why;
  if (attn_out_dtype(shape) == ATTN_F32) return "out_dtype must be f16 or bf16: it writes O in 16 bits";
  if (shape->Dv % 16 != 0) return "Dv must be a multiple of 16, as the copy engine takes whole 16-byte units";
  const Kernel *kernel = choose(*shape, *tuning, device->sms).kernel;
  if (kernel == nullptr && tuning->value[SPLITS] > 1)
    return "no kernel that splits keys is compiled for these tunables at this D and Dv, or q tiles have too many "
           "parts (more than 16777215 in all or, if the batch is not ragged, more than 512 parts for a head): lower "
           "splits "
           "or set it to 0 or 1";
  if (kernel == nullptr)
    return "no kernel is compiled for these tunables at this D, Dv and batch: kernels/variants/wgmma_fp8.cu lists "
           "them";
  const char *refusal = wgmma_general::refusal(*shape);
  return refusal != nullptr ? refusal : check_device(*device, smem_bytes(kernel->shape));
}

/* Puts the pass that transposes V before the main pass, which is the only one of the plan. */
static void add_transpose(const attn_problem &shape, const Kernel &kernel, attn_plan *plan) {
  const Shape &s = kernel.shape;
  const uint64_t tiles = transposed_tiles(shape, s);
  plan->pass[1] = plan->pass[0];
  plan->pass_count = 2;
  plan->workspace_bytes = tiles * v_rows(s) * 128;
  attn_pass &pass = plan->pass[0];
  pass.name = "transpose";
  pass.kernel = transpose_handle(kernel);
  set_grid(pass, (uint32_t)tiles, ATTN_COVERS_B | ATTN_COVERS_HKV | ATTN_COVERS_SPLIT, 1, ATTN_COVERS_NOTHING, 1,
           ATTN_COVERS_NOTHING);
  set_block(pass, s.Dv / 4 * (s.keys / 16), 0, 0);
}

static void plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *device, attn_plan *plan) {
  const Choice choice = choose(*shape, *tuning, device->sms);
  const Kernel &kernel = *choice.kernel;
  const Shape &s = kernel.shape;
  const uint32_t blocks = tuning->value[PERSISTENT] ? device->sms : 0;
  const enum attn_dtype out = attn_out_dtype(shape);
  plan->stages = s.slots / 2;
  if (is_split(s))
    return wgmma_split::plan_passes(*shape, wgmma_split::lengths_of(*shape, rows(s), s.keys), choice.cut, rows(s),
                                    s.keys, s.groups, blocks, smem_bytes(s),
                                    {order_handle(kernel), main_handle(kernel, out), merge_handle(out)}, plan);
  wgmma_general::plan_passes(*shape, rows(s), s.keys, s.groups, blocks, smem_bytes(s), order_handle(kernel),
                             main_handle(kernel, out), plan);
  if (s.transposed) add_transpose(*shape, kernel, plan);
}

}  // namespace wgmma_fp8

}  // namespace attn

extern "C" const struct attn_variant attn_variant_wgmma_fp8 = {
    .name = "wgmma_fp8",
    .summary =
        "Hopper: wgmma of e4m3 with scales, V transposed by the kernel or before it, sums in fp32; windows, ragged "
        "batches",
    .limits = "compute capability 9.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_WGMMA,
    .takes = ATTN_TAKES_LSE | ATTN_TAKES_WINDOW | ATTN_TAKES_DV | ATTN_TAKES_SOFTCAP | ATTN_TAKES_SINK |
             ATTN_TAKES_LAYOUT | ATTN_TAKES_BATCH | ATTN_TAKES_OUT_DTYPE | ATTN_TAKES_SCALES,
    .dtypes = ATTN_DTYPE_BIT(ATTN_E4M3),
    .dtypes_why = "its products are of 8-bit operands",
    .dims = {.most = 256,
             .multiple = 16,
             .why = "64 rows of output fill a warpgroup's registers, and the copy engine takes whole 16-byte units"},
    .tunables = attn::wgmma_fp8::tunables,
    .supports = attn::wgmma_fp8::supports,
    .plan = attn::wgmma_fp8::plan,
    .bind = attn::wgmma_fp8::bind,
    .run = nullptr,
};
