/* wgmma_paged: batches as servers form them, on Hopper: K and V in pages, prefills and decodes in one launch
 * (kernels/tiles/wgmma_paged_tile.cuh).
 *
 * Idea: as wgmma_general. The query heads that share K and V are packed into a q tile, where their number divides 64:
 *   with four heads for a KV head, 128 rows are 32 queries of these four. A prefill then multiplies as many tiles
 *   as before. A sequence that is decoded is one item for a KV head instead of four, and its keys are read once. One
 *   of its two warpgroups has no row then, and multiplies nothing. A warp fetches tiles of keys, each lane a page of
 *   it, and reads the page table two tiles ahead. Items are taken longest first, a section of KV heads at a time.
 *
 * Source: FlashAttention-3 for heads packed into a tile; mla (this repository) for pages by the copy engine.
 *
 * Can win: where prefills and decodes share a launch, against kernels of mma.sync, and against two launches, one for
 *   prefills and one for decodes, each of which leaves SMs idle at its end.
 *
 * Cannot: share the keys of one sequence among SMs, so that a long decode alone takes as long as one SM needs for
 *   its keys; use decode_general for that. Take pages of fewer than 8 tokens, or e4m3. Run anywhere but on compute
 *   capability 9.0.
 *
 * Floor and prediction, H200 at 1.75 GHz. A tile of 128 keys and D = 128 takes 2048 clocks of tensor cores for 128
 *   rows, 1024 for the rows of one warpgroup, and 64 KB of memory, which is 1800 clocks of an SM's share.
 *   wgmma_general takes 1.38 us a tile and 2.2 us more an item.
 *
 *       batch, 32/8 heads   tiles: prefill, decode   floor: tensor, memory   predicted
 *       2q2k_32q1s1k        8704, 2048               86, 33 us               130 to 145
 *       q8k_64q1s8k         66560, 32768             730, 460 us             850 to 950
 *
 *       batch, 32/8 heads   measured, pages of 16, 64   FlashAttention-3   decode_general
 *       2q2k_32q1s1k        166, 158 us                 180, 180 us        739
 *       q8k_64q1s8k         1257, 1131 us               1361, 1349 us      5519
 *       q512s16k_32q1s4k    354, - us                   343, - us          792
 *
 *   Why it takes longer than predicted: the copy engine takes about 85 clocks for a box of 16 rows and 250 for one of
 *   64. So the 32 boxes of a tile in pages of 16 take as long as its products (q8k alone: 849 us in pages of 16, 768
 *   in pages of 64, 756 without pages). A decode of 8192 keys has as many tiles as the longest item of a prefill, and
 *   the longest items are taken first. So all decodes run at the beginning of the launch, which is limited by memory
 *   at first and by the tensor cores afterwards. Doing both at once would save less than the sum of their idle times,
 *   since one power limit covers both.
 *   A section has as many heads as leave the keys that they share in L2. Keys of decodes are not counted there, since
 *   one q tile reads them. When they were counted, a section had one head, and some blocks got two of the 128 long
 *   items of q512s16k_32q1s4k (477 us).
 *   What did not win:
 *   - Two lists, of items that fill both warpgroups and of items that fill one, which each block mixes: 334 us for
 *     q512s16k_32q1s4k, but prefills alone take 4 % longer, 2q2k_32q1s1k 4 to 7 %, and small batches 15 %.
 *   - The same lists, from which blocks take the next item by atomic counters: a block learns its next item 10 us
 *     later than with a fixed order. Prefills alone take 6 to 8 % longer, and small batches 25 %.
 *   - Every other block takes its longest items last: 2q2k_32q1s1k takes 2 to 3 % longer, q8k_64q1s8k 1.5 % less.
 *
 * Budget, registers and shared memory: as wgmma_general with two warpgroups, and 16 bytes. */
#include "kernels/tiles/wgmma_paged_tile.cuh"

namespace attn::wgmma_paged {

/* A kernel that is compiled; turn and step as in wgmma_general, whose measurements they are. */
struct Kernel {
  Shape shape;
  uint32_t turn, step;
};

constexpr Kernel kKernels[] = {
    {{{.D = 64, .slots = 12, .pingpong = 0}, 64}, 160, 114},
    {{{.D = 64, .slots = 12, .pingpong = 0}, 64, wgmma_general::kSoftcap}, 160, 114},
    {{{.D = 128, .slots = 5, .pingpong = 0}, 128}, 220, 138},
    {{{.D = 128, .slots = 5, .pingpong = 0}, 128, wgmma_general::kSoftcap}, 220, 138},
    {{{.D = 256, .keys = 64, .slots = 5, .pingpong = 0}, 256}, 300, 140},
    {{{.D = 256, .keys = 64, .slots = 5, .pingpong = 0}, 256, wgmma_general::kSoftcap}, 300, 140},
};

#ifdef __CUDACC__
static const void *main_handle(const Kernel &kernel, enum attn_dtype dtype) {
  return for_row<std::size(kKernels)>(&kernel - kKernels, [&](auto row) {
    return for_type<__half, __nv_bfloat16>(dtype, [](auto t) -> const void * {
      return handle(wgmma_paged_kernel<Config<typename decltype(t)::type, kKernels[decltype(row)::value].shape>>);
    });
  });
}
static const void *order_handle(const Kernel &kernel) {
  return for_row<std::size(kKernels)>(&kernel - kKernels, [](auto row) {
    constexpr Shape kShape = wgmma_general::without_extras(kKernels[decltype(row)::value].shape);
    return handle(wgmma_general_order<Config<__nv_bfloat16, kShape>>);
  });
}
#else
static const void *main_handle(const Kernel &, enum attn_dtype) { return nullptr; }
static const void *order_handle(const Kernel &) { return nullptr; }
constexpr decltype(attn_variant::bind) bind = nullptr;
#endif

enum { PACKED, PERSISTENT };

static const attn_tunable tunables[] = {
    {.name = "packed",
     .max = 1,
     .default_value = 1,
     .help = "1: a q tile has the query heads that share K and V, where they are 2, 4, 8, 16, 32 or 64; 0: it has "
             "one head"},
    {.name = "persistent",
     .max = 1,
     .default_value = 1,
     .help = "1: one block per SM loops over the q tiles, 0: one block per q tile"},
    {.name = nullptr},
};

/* The one of the smallest D that is large enough: columns beyond the tensors' are multiplied as zeros. */
static const Kernel *choose(const attn_problem &shape) {
  for (const Kernel &kernel : kKernels)
    if (shape.D <= kernel.shape.dense.D && shape.Dv <= kernel.shape.Dv && (shape.softcap == 0 || kernel.shape.extras))
      return &kernel;
  return nullptr;
}
static uint32_t pack_for(const attn_problem &shape, const attn_tuning &tuning) {
  return tuning.value[PACKED] ? pack_of(shape) : 0;
}

#ifdef __CUDACC__
static struct status bind(const attn_problem *shape, const attn_plan *plan, const attn_buffers *buffers,
                          attn_pass_args args[ATTN_PASSES_MAX]) {
  const Kernel &kernel = *choose(*shape);
  const uint32_t main = plan->pass_count - 1, pack = pack_for(*shape, plan->tuning);
  WgmmaPagedParams params = {};
  TRY(params_make(*shape, *buffers, kernel.shape, pack, plan->pass[main].grid[0], (double)kernel.turn / kernel.step,
                  &params));
  put_args(args[main], params);
  if (main > 0) put_args(args[0], wgmma_general::order_params(*shape, *buffers, rows(kernel.shape) >> pack));
  return status_ok();
}
#endif

static const char *supports(const attn_problem *shape, const attn_tuning *, const device_info *device) {
  if (const char *why = check_hopper(*device)) return why;
  if (shape->Dv % 8 != 0) return "Dv must be a multiple of 8, as the copy engine takes whole 16-byte units";
  const Kernel *kernel = choose(*shape);
  if (kernel == nullptr) return "Dv must be at most 256";
  const char *why = refusal(*shape);
  return why != nullptr ? why : check_device(*device, block_smem_bytes(kernel->shape));
}

static void plan(const attn_problem *shape, const attn_tuning *tuning, const device_info *device, attn_plan *plan) {
  const Kernel &kernel = *choose(*shape);
  const wgmma_tile::Shape &s = kernel.shape.dense;
  const uint32_t pack = pack_for(*shape, *tuning);
  plan->stages = s.slots / 2;
  wgmma_general::plan_passes(*shape, rows(kernel.shape) >> pack, s.keys, s.groups,
                             tuning->value[PERSISTENT] ? device->sms : 0, block_smem_bytes(kernel.shape),
                             order_handle(kernel), main_handle(kernel, shape->dtype), plan, 1u << pack);
}

}  // namespace attn::wgmma_paged

extern "C" const struct attn_variant attn_variant_wgmma_paged = {
    .name = "wgmma_paged",
    .summary = "Hopper: wgmma over pages, heads that share K and V in one tile; prefills and decodes in one launch",
    .limits = "pages of 8 tokens or more, a power of two; compute capability 9.0",
    .runs_on = DEVICE_CUDA,
    .math = ATTN_MATH_WGMMA,
    .takes = ATTN_TAKES_LSE | ATTN_TAKES_WINDOW | ATTN_TAKES_DV | ATTN_TAKES_SOFTCAP | ATTN_TAKES_SINK |
             ATTN_TAKES_LAYOUT | ATTN_TAKES_BATCH | ATTN_TAKES_PAGE,
    .dtypes = ATTN_DTYPES_16_BITS,
    .dtypes_why = "wgmma has no fp32 inputs",
    .dims = {.most = 256,
             .multiple = 8,
             .why = "64 rows of output fill a warpgroup's registers, and the copy engine takes whole 16-byte units"},
    .tunables = attn::wgmma_paged::tunables,
    .supports = attn::wgmma_paged::supports,
    .plan = attn::wgmma_paged::plan,
    .bind = attn::wgmma_paged::bind,
    .run = nullptr,
};
