/* wgmma_general: the kernel of `wgmma` for what that one does not take: windows, soft caps, sinks, V narrower than K,
 * tensors with any strides, ragged batches, and lists of blocks (kernels/tiles/wgmma_general_tile.cuh).
 *
 * Idea: as wgmma. An item's tiles of keys have a beginning as well as an end, and each warpgroup has its own part of
 *   them: warpgroups whose rows come earlier run ahead of the others in the ring of tiles. So a warpgroup multiplies
 *   what its 64 rows attend, and the block's rows may be as many as keep the tensor cores busy. Strides are in the
 *   tensor maps and cost nothing. What else there is:
 *   - A soft cap is a polynomial of three terms, valid where a warp's scores are below a quarter of the cap, as is
 *     usual in trained models. The same loop checks that. Where it fails, the warp computes the scores again, and
 *     uses tanh until its scores are below that bound again.
 *   - Under a window items are short, so the time between two items matters: there is a buffer for the next item's Q,
 *     the work infos are written before it is free, and the ring holds more tiles than warpgroups are apart.
 *   - Before a ragged batch, a kernel of one block reads the lengths and sorts the q tiles of all sequences, longest
 *     first. Blocks take these in sections of heads that share K and V, every other section in reverse order. The K
 *     and V in use then fit in L2, which those of all heads would not.
 *   - Lists of blocks are read by the thread that fetches, one block ahead of its use; the warpgroups know how many
 *     tiles come, and which of them have a bound of the mask. A pass before sorts the items of each section of heads
 *     by the length of their lists.
 *   - Soft caps and lists of blocks have kernels of their own. Without them a kernel has half of the code, so more of
 *     it stays in the instruction cache from one item to the next.
 *   - Under a short window at D = 64, three thread blocks of one warpgroup share an SM: while one is between two
 *     items, the others multiply.
 *
 * Source: FlashAttention-3 for windows by ranges of tiles; the rest is written from the PTX manual.
 *
 * Can win: against kernels that give all rows of a block the same range of tiles. What a warpgroup multiplies at a
 *   window of 1024 keys, by the number of keys in a tile:
 *
 *       keys  tiles that 64 rows see  share of products that count
 *         64  17                      1024 / 1088 = 94 %
 *        128   9                      1024 / 1152 = 89 %
 *
 * Measured on an H200, us; `one kernel` also took soft caps and lists of blocks, and ran one thread block on an SM:
 *
 *       problem                                        one kernel   now   cuDNN
 *       1,32,16384,64, window of 128 keys              152          105   133
 *       1,32,16384,64, window of 1024 keys             301          286   381
 *       1,16,16384,128, window of 128 keys              94           79    91
 *       1,16,16384,128, window of 1024 keys            221          215   273
 *       1,16,16384,128, a tenth of all blocks of 128   331          321     -
 *       1,128,1024,192 causal, Dv = 128                 96           92     -
 *
 * Cannot: run anywhere but on compute capability 9.0; use clusters; read pages; take lists of blocks that are no
 *   multiple of its tiles, nor lists in a ragged batch.
 *
 * Budget, registers per thread: as wgmma, and O Dv / 2. Shared memory, of 227 KB: Q rows * 2 D, twice where that
 * fits; 48 bytes more for each work info.
 *
 *       D    Dv   groups  registers                     of    shared memory, KB
 *       64   64   4       32 + 16 + 32 = 80             112   64 + 20 * 8 = 224
 *       64   64   2       64 + 32 + 32 = 128            232   32 + 12 * 16 = 224
 *       64   64   1       32 + 16 + 32 = 80             120   16 +  7 * 8 = 72, three times
 *      128  128   3       32 + 16 + 64 = 112            152   48 + 11 * 16 = 224
 *      128  128   2       32 + 16 + 64 = 112            232   64 + 10 * 16 = 224
 *      128  128   2       64 + 32 + 64 = 160            232   64 + 5 * 32 = 224
 *      192  128   2       56 + 28 + 64 = 148            232   48 + 4 * 42 = 216
 *      256  256   2       32 + 16 + 128 = 176           232   64 + 5 * 32 = 224 */
#include "kernels/tiles/wgmma_general_tile.cuh"

namespace attn {

using wgmma_general::kBlockLists;
using wgmma_general::kSoftcap;
using wgmma_general::Shape;

/* A kernel that is compiled. */
struct GeneralKernel {
  Shape shape;
  uint32_t turn, step; /* what a block takes on an H200 from one q tile to the next, and for a tile of keys; 10 ns */
};

/* Of the kernels that fit the problem and the tunables, those of the smallest D and of the first `extras` in the
 * table that cover the problem are compared, and the cheapest is taken. Measured with windows of 128 to 4096 keys. */
constexpr GeneralKernel kGeneralKernels[] = {
    {{{.D = 64, .groups = 4, .keys = 64, .slots = 20}, 64}, 650, 66},
    {{{.D = 64, .slots = 12}, 64}, 250, 102},
    {{{.D = 64, .groups = 1, .keys = 64, .slots = 7}, 64, 0, 3}, 280, 76},
    {{{.D = 64, .groups = 4, .keys = 64, .slots = 20}, 64, kBlockLists}, 730, 70},
    {{{.D = 64, .slots = 12}, 64, kBlockLists}, 250, 105},
    {{{.D = 64, .groups = 4, .keys = 64, .slots = 20}, 64, kSoftcap | kBlockLists}, 730, 70},
    {{{.D = 64, .slots = 12}, 64, kSoftcap | kBlockLists}, 160, 114},
    {{{.D = 128, .groups = 3, .keys = 64, .slots = 11}, 128}, 490, 88},
    {{{.D = 128, .keys = 64, .slots = 10}, 128}, 300, 69},
    {{{.D = 128, .slots = 5}, 128}, 290, 135},
    {{{.D = 128, .keys = 64, .slots = 10}, 128, kBlockLists}, 340, 71},
    {{{.D = 128, .slots = 5}, 128, kBlockLists}, 220, 138},
    {{{.D = 128, .groups = 3, .keys = 64, .slots = 11}, 128, kSoftcap | kBlockLists}, 390, 98},
    {{{.D = 128, .slots = 5}, 128, kSoftcap | kBlockLists}, 220, 138},
    {{{.D = 192, .keys = 112, .slots = 4}, 128}, 250, 160},
    {{{.D = 192, .keys = 112, .slots = 4}, 128, kSoftcap | kBlockLists}, 250, 160},
    {{{.D = 256, .keys = 64, .slots = 5, .pingpong = 0}, 256}, 300, 140},
    {{{.D = 256, .keys = 64, .slots = 5, .pingpong = 0}, 256, kSoftcap | kBlockLists}, 300, 140},
};

#ifdef __CUDACC__
static const void *general_handle(const GeneralKernel &kernel, enum attn_dtype dtype) {
  return for_row<std::size(kGeneralKernels)>(&kernel - kGeneralKernels, [&](auto row) {
    return for_type<__half, __nv_bfloat16>(dtype, [](auto t) {
      constexpr Shape kShape = kGeneralKernels[decltype(row)::value].shape;
      return handle(wgmma_general_kernel<wgmma_general::Config<typename decltype(t)::type, kShape>>);
    });
  });
}
/* Of ragged batches, or of lists of blocks. */
static const void *order_handle(const GeneralKernel &kernel, bool sparse) {
  return for_row<std::size(kGeneralKernels)>(&kernel - kGeneralKernels, [&](auto row) {
    constexpr Shape kShape = wgmma_general::without_extras(kGeneralKernels[decltype(row)::value].shape);
    using C = wgmma_general::Config<__nv_bfloat16, kShape>;
    return sparse ? handle(wgmma_general_sort<C>) : handle(wgmma_general_order<C>);
  });
}
#else
static const void *general_handle(const GeneralKernel &, enum attn_dtype) { return nullptr; }
static const void *order_handle(const GeneralKernel &, bool) { return nullptr; }
constexpr decltype(attn_variant::bind) general_bind = nullptr;
#endif

enum { GENERAL_GROUPS, GENERAL_KEYS, GENERAL_PERSISTENT };

static const attn_tunable general_tunables[] = {
    {.name = "warpgroups",
     .max = 4,
     .help = "warpgroups of a block that multiply, 64 query rows each; 0: what is fastest for the shape"},
    {.name = "kv_tile", .max = 192, .help = "keys of a tile; 0: what is fastest for the shape"},
    {.name = "persistent",
     .max = 1,
     .default_value = 1,
     .help = "1: one block per SM loops over the q tiles, 0: one block per q tile"},
    {.name = nullptr},
};

static bool general_fits(const GeneralKernel &kernel, const attn_problem &shape, const attn_tuning &t) {
  const auto any_or = [&](int which, uint32_t value) {
    return t.value[which] == 0 || (uint32_t)t.value[which] == value;
  };
  const wgmma_tile::Shape &s = kernel.shape.dense;
  const uint32_t block = shape.sparse.block; /* of a list, of which a q tile and a tile of keys are a part */
  const uint32_t needed = (shape.softcap > 0 ? kSoftcap : 0) | (attn_is_sparse(&shape) ? kBlockLists : 0);
  return shape.D <= s.D && shape.Dv <= kernel.shape.Dv && (needed & ~kernel.shape.extras) == 0 &&
         block % rows(kernel.shape) == 0 && block % s.keys == 0 && any_or(GENERAL_GROUPS, s.groups) &&
         any_or(GENERAL_KEYS, s.keys);
}

static const GeneralKernel *general_choose(const attn_problem &shape, const attn_tuning &tuning, uint32_t sms) {
  const GeneralKernel *best = nullptr;
  double least = 0;
  for (const GeneralKernel &kernel : kGeneralKernels) {
    if (!general_fits(kernel, shape, tuning)) continue;
    const wgmma_tile::Shape &s = kernel.shape.dense;
    /* A kernel of a larger D multiplies zeros; one with more extras is slower. */
    if (best != nullptr && (s.D > best->shape.dense.D || kernel.shape.extras != best->shape.extras)) break;
    const double cost =
        wgmma_general::cost(shape, rows(kernel.shape), s.keys, kernel.turn, kernel.step, sms * kernel.shape.blocks);
    if (best == nullptr || cost < least) best = &kernel, least = cost;
  }
  return best;
}

#ifdef __CUDACC__
static struct status general_bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                                  attn_pass_args args[ATTN_PASSES_MAX]) {
  for (const GeneralKernel &kernel : kGeneralKernels) {
    const uint32_t main = plan->pass_count - 1;
    if (plan->pass[main].kernel != general_handle(kernel, shape->dtype)) continue;
    WgmmaGeneralParams params = {};
    TRY(wgmma_general::params_make(*shape, *buffers, kernel.shape, plan->pass[main].grid[0],
                                   (double)kernel.turn / kernel.step, &params));
    put_args(args[main], params);
    if (attn_is_sparse(shape))
      put_args(args[0], wgmma_general::sort_params(*buffers, rows(kernel.shape), params));
    else if (main > 0)
      put_args(args[0], wgmma_general::order_params(*shape, *buffers, rows(kernel.shape)));
    return status_ok();
  }
  return status_make(STATUS_INTERNAL, "wgmma_general: the plan has another variant's kernel");
}
#endif

static const char *general_supports(const attn_problem *shape, const attn_tuning *tuning, const device_info *device) {
  if (const char *why = check_hopper(*device)) return why;
  if (shape->Dv % 8 != 0) return "Dv must be a multiple of 8, as the copy engine takes whole 16-byte units";
  const GeneralKernel *kernel = general_choose(*shape, *tuning, device->sms);
  if (kernel == nullptr && attn_is_sparse(shape))
    return "no kernel is compiled for these tunables at this D and Dv whose tiles divide the blocks: 128 rows and 64 "
           "or 128 keys, or 192 or 256 rows and 64 keys";
  if (kernel == nullptr)
    return shape->softcap > 0 ? "no kernel that takes a soft cap is compiled for these tunables at this D and Dv: "
                                "kernels/variants/wgmma_general.cu lists them"
                              : "no kernel is compiled for these tunables at this D and Dv: "
                                "kernels/variants/wgmma_general.cu lists them";
  const char *refusal = wgmma_general::refusal(*shape);
  return refusal != nullptr ? refusal : check_device(*device, wgmma_general::smem_bytes(kernel->shape));
}

static void general_plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *device,
                         attn_plan *plan) {
  const GeneralKernel &kernel = *general_choose(*shape, *tuning, device->sms);
  const wgmma_tile::Shape &s = kernel.shape.dense;
  plan->stages = s.slots / 2;
  wgmma_general::plan_passes(*shape, rows(kernel.shape), s.keys, s.groups,
                             tuning->value[GENERAL_PERSISTENT] ? device->sms * kernel.shape.blocks : 0,
                             wgmma_general::smem_bytes(kernel.shape), order_handle(kernel, attn_is_sparse(shape)),
                             general_handle(kernel, shape->dtype), plan);
  if (!attn_is_sparse(shape)) return;
  const double turn = (double)kernel.turn / kernel.step; /* as general_bind */
  plan->pass[0].grid[0] =
      wgmma_general::item_order(*shape, rows(kernel.shape), s.keys, plan->pass[1].grid[0], turn).sections;
}

}  // namespace attn

extern "C" const struct attn_variant attn_variant_wgmma_general = {
    .name = "wgmma_general",
    .summary = "Hopper: wgmma for windows, soft caps, sinks, narrower V, other layouts, ragged batches",
    .limits = "compute capability 9.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_WGMMA,
    .takes = ATTN_TAKES_LSE | ATTN_TAKES_WINDOW | ATTN_TAKES_DV | ATTN_TAKES_SOFTCAP | ATTN_TAKES_SINK |
             ATTN_TAKES_LAYOUT | ATTN_TAKES_BATCH | ATTN_TAKES_SPARSE,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = "wgmma has no fp32 inputs",
    .dims = {.most = 256,
             .multiple = 8,
             .why = "64 rows of output fill a warpgroup's registers, and the copy engine takes whole 16-byte units"},
    .tunables = attn::general_tunables,
    .supports = attn::general_supports,
    .plan = attn::general_plan,
    .bind = attn::general_bind,
    .run = nullptr,
};
