/* What a kernel variant is: data and three pure functions. The runner owns all memory, launches exactly what
 * plan() returned (one cudaLaunchKernelExC per pass) and reads its diagnostics from the same struct.
 *
 * To add a variant: one new file in kernels/variants/ that defines `const struct attn_variant attn_variant_NAME`
 * and one line VARIANT(NAME) in kernels/variants.def. kernels/variants/scalar.cu is the commented template.
 *
 * Tensors are dense and row-major: Q and O are [B][Hq][Sq][D], K and V are [B][Hkv][Skv][D].
 * Query head h reads KV head h / (Hq / Hkv). softmax scale = 1/sqrt(D).
 * Causal masks are aligned bottom-right: query i attends key j when j <= i + (Skv - Sq). A query row that
 * attends no key (Sq > Skv) has an output of zeros.
 * LSE, a second output where a shape asks for it, is [B][Hq][Sq] in fp32: the natural logarithm of the sum over the
 * keys that the row attends of exp(scale * q.k), minus infinity of a row that attends none. */
#ifndef ATTNBENCH_KERNELS_VARIANT_H
#define ATTNBENCH_KERNELS_VARIANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/host_device.h"
#include "kernels/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum attn_dtype { ATTN_F16, ATTN_BF16, ATTN_F32, ATTN_DTYPE_COUNT };

/* One attention problem. Limits on every field are in cli/sweep/sweep.h; here all are at least 1 and Hq % Hkv == 0.
 */
struct attn_shape {
  uint32_t B, Hq, Hkv, Sq, Skv, D;
  enum attn_dtype dtype; /* of Q, K, V and O */
  bool causal;
  bool lse; /* the log-sum-exp of each row is an output too */
};

const char *attn_dtype_name(enum attn_dtype dtype); /* "f16", "bf16", "f32" */
uint32_t attn_dtype_bytes(enum attn_dtype dtype);

enum device_kind { DEVICE_CPU, DEVICE_CUDA };

/* A device's limits and rates. Filled from the hardware (device.h) or from the table of known GPUs
 * (gpu_models.h). A rate that is not known is 0. */
struct device_info {
  enum device_kind kind;
  bool modelled;               /* true: from the table of known GPUs, no hardware behind it */
  char name[64];               /* "NVIDIA H200"; for a CPU its model name */
  char uuid[48];               /* "GPU-...", empty when there is none */
  uint32_t cc_major, cc_minor; /* compute capability */
  uint32_t sms;                /* streaming multiprocessors; for a CPU the threads used */
  uint32_t threads_per_sm, blocks_per_sm, regs_per_sm;
  uint32_t threads_per_block;
  uint32_t smem_per_sm_bytes;    /* shared memory of one SM */
  uint32_t smem_per_block_bytes; /* most that one block may ask for (opt-in) */
  uint32_t smem_reserved_bytes;  /* taken by the system from each block's share */
  uint64_t l2_bytes;
  uint64_t memory_bytes; /* all of it */
  double sm_clock_max_mhz;
  double dram_gb_per_s;          /* vendor's peak: bus width x memory clock */
  double tensor_flop_per_clk_sm; /* dense f16/bf16 with fp32 accumulation; one FMA = 2 FLOP */
  double fp32_flop_per_clk_sm;
  uint32_t driver_version, runtime_version; /* CUDA's own coding: 13000 = 13.0; 0 = none */
  char driver[32];                          /* "580.159.03", from NVML; empty when unknown */
  bool hides_launches;                      /* cold samples contain no host time: the blocking kernel works here */
};

/* ---- tunables ------------------------------------------------------------------------------------------------ */

enum { ATTN_TUNABLES_MAX = 8 };

/* One integer knob, written in a sweep as "name:key=value,key=value". */
struct attn_tunable {
  const char *name; /* NULL ends the array */
  int32_t min, max, default_value;
  const char *help; /* one line; what 0 means when 0 is allowed */
};

/* Values by index of the variant's tunables; defaults filled in. */
struct attn_tuning {
  int32_t value[ATTN_TUNABLES_MAX];
};

struct attn_variant;
struct pick_rule;
struct pick_table;

/* ---- plans --------------------------------------------------------------------------------------------------- */

/* What one grid axis walks over; a bit set, since an axis may fold several. */
enum attn_cover {
  ATTN_COVERS_NOTHING = 0,
  ATTN_COVERS_B = 1,
  ATTN_COVERS_H = 2,        /* query heads */
  ATTN_COVERS_Q = 4,        /* query tiles or rows */
  ATTN_COVERS_SPLIT = 8,    /* splits of the keys */
  ATTN_COVERS_D = 16,       /* chunks of the head dimension */
  ATTN_COVERS_UNKNOWN = 32, /* a library's kernel, or one from a file: nobody told */
  ATTN_COVERS_HKV = 64,     /* KV heads: the queries of all query heads of one are rows of the same q tiles */
};
/* How reports and manifests write the bits, by number: "B", "H", ...; NULL past the last. */
const char *attn_cover_name(uint32_t bit);

/* A kernel in a file that was compiled by anything: a cubin, a fat binary or PTX. Unlike a kernel with a host handle
 * it takes any number of arguments, in this order. */
enum { ATTN_IMAGE_ARGUMENTS_MAX = 96 };
struct attn_image_argument {
  uint32_t offset, bytes; /* in attn_pass_args.bytes */
};
struct attn_image {
  const char *path, *entry; /* the file, and the kernel's symbol in it */
  uint32_t argument_count;
  struct attn_image_argument argument[ATTN_IMAGE_ARGUMENTS_MAX];
};

/* One kernel launch, exactly as it will be launched. */
struct attn_pass {
  const char *name;               /* [a-z_]+, unique in the plan: "main", "split", "combine" */
  const void *kernel;             /* host handle; NULL in a build without CUDA */
  const struct attn_image *image; /* instead of the host handle; else NULL */
  uint32_t grid[3], block[3];
  uint32_t cluster[3]; /* {1,1,1}: no cluster attribute; divides the grid on every axis */
  uint32_t dynamic_smem_bytes;
  unsigned covers[3];   /* enum attn_cover bits per grid axis */
  uint32_t row_threads; /* threads of a block that work on a query row in the compute phase; 0: none, the pass only
                         * prepares memory */
  uint32_t producer_threads; /* of the others, those that fetch for them meanwhile: the warps of a specialised block
                              * that hold no row and are not idle */
  bool early_start; /* may start while the pass before it in the plan still runs, on GPUs that can (compute capability
                     * 9.0); every block executes griddepcontrol.wait before it touches what earlier passes write,
                     * and before it ends. Of no meaning in the first pass, which starts after all that came before */
};

/* The most that a kernel may take as its argument: 32764 bytes since CUDA 12.1, 4096 where the object was built for
 * an older one. */
enum { ATTN_PASSES_MAX = 4, ATTN_PASS_ARGS_MAX = 32764 };

/* What one launch of a vendor's library holds beside the kernels of pass[]. */
struct attn_launched {
  uint32_t more_kernels; /* beyond ATTN_PASSES_MAX */
  uint32_t memsets;
  uint64_t memset_bytes; /* that they set in all */
};

struct attn_plan {
  struct attn_pass pass[ATTN_PASSES_MAX];
  uint32_t pass_count; /* 0 for host variants, and for a vendor's library until it is bound */
  uint64_t workspace_bytes;
  uint32_t tile_q, tile_kv;      /* rows of Q and of K/V per tile */
  uint32_t splits;               /* KV splits; 1 when keys are not split */
  uint32_t stages;               /* K/V tiles in flight; 1 when loads are not pipelined */
  struct attn_tuning tuning;     /* that the plan was made from, for bind(); variant_plan() fills it in */
  struct attn_launched launched; /* of a vendor's library, once it is bound; else zero */
  /* Of a variant that picks others: whose plan this is, and by which rule; else NULL. */
  const struct attn_variant *picked;
  const struct pick_rule *picked_by;
};

/* Device pointers for CUDA variants, host pointers for CPU variants. Owned by the runner. */
struct attn_buffers {
  const void *q, *k, *v;
  void *o;
  float *lse;      /* NULL: the shape does not ask for it */
  void *workspace; /* plan.workspace_bytes, 256-byte aligned; holds garbage at every launch */
};

/* A kernel takes one struct by value (one in a file: its arguments, each at its offset); bind() writes it here,
 * aligned for the tensor maps of compute capability 9.0 (kernels/tiles/tensor_map.cuh), which are made there, once,
 * and not at every launch. */
struct attn_pass_args {
  unsigned char bytes[ATTN_PASS_ARGS_MAX] __attribute__((aligned(64)));
};

/* A library behind a variant, a vendor's or one's own: it chooses and launches its own kernels, so its variant plans
 * no passes; the device reads what one enqueue() launched and reports that. `stream` is a cudaStream_t. Every call
 * happens in the process that owns the device, on one thread. STATUS_UNSUPPORTED: the library does not take this
 * shape, and says so. None of the hooks is NULL where missing() is. */
struct attn_vendor {
  /* Why the library cannot be used in this process, NULL when it can. Loads it at the first call. */
  const char *(*missing)(void);
  /* The library and its version, "cuDNN 9.14.0", for reports; static. Called only where missing() is NULL. */
  const char *(*library)(void);
  /* Chooses a kernel and builds everything that is not part of a launch. On success *state is the caller's, for
   * close(), and *workspace_bytes, which arrives as the plan has it, is what attach() wants to find in
   * buffers->workspace. */
  struct status (*open)(const struct attn_shape *, const struct attn_tuning *, const struct device_info *,
                        void *stream, void **state, uint64_t *workspace_bytes);
  /* Says where the tensors are; once, before the first enqueue(). */
  struct status (*attach)(void *state, const struct attn_buffers *);
  /* One launch on the stream. Asynchronous; can be captured into a CUDA graph. */
  struct status (*enqueue)(void *state);
  void (*close)(void *state);
};

/* The pipe the variant's matrix products run on; names the compute roof a row is held against. */
enum attn_math {
  ATTN_MATH_FP32,
  ATTN_MATH_TENSOR,
  ATTN_MATH_FP64_HOST,
  ATTN_MATH_FP32_HOST,
  ATTN_MATH_WGMMA, /* tensor cores by wgmma; TENSOR is mma.sync or WMMA, 2/3 of that rate on compute capability 9.0 */
  ATTN_MATH_FP32_OR_TENSOR, /* fp32 for f32, tensor cores for 16-bit types; never in a record, see variant_math */
};

struct attn_variant {
  const char *name;    /* [a-z0-9_]+; the key in sweeps, reports and baselines; never renamed */
  const char *summary; /* one line for `attnbench list` */
  const char *limits;  /* one line: dtypes, head dimensions, compute capability */
  enum device_kind runs_on;
  enum attn_math math;
  bool writes_lse;                     /* shapes with lse are its, too: others are refused before supports() */
  const struct attn_tunable *tunables; /* ends with a NULL name; NULL when there are none */

  /* Pure. NULL: can run. Else a static sentence naming the field and the limit. */
  const char *(*supports)(const struct attn_shape *, const struct attn_tuning *, const struct device_info *);
  /* Pure; cannot fail once supports() said yes. *plan arrives zeroed. */
  void (*plan)(const struct attn_shape *, const struct attn_tuning *, const struct device_info *,
               struct attn_plan *plan);
  /* CUDA variants: writes each pass's kernel argument into args[pass]; with the GPU open, so it may ask the driver.
   * A failure costs the cell, with its text as the reason. NULL in a build without CUDA. */
  struct status (*bind)(const struct attn_shape *, const struct attn_plan *, const struct attn_buffers *,
                        struct attn_pass_args args[ATTN_PASSES_MAX]);
  /* CPU variants: computes O with `threads` threads; returns after the last write. NULL for CUDA variants. */
  void (*run)(const struct attn_shape *, const struct attn_plan *, const struct attn_buffers *, unsigned threads);
  /* Libraries that launch their own kernels, which have neither bind() nor run() and whose plan() leaves pass_count
   * zero; else NULL. */
  const struct attn_vendor *vendor;
  /* Of a variant without a kernel of its own: the table by which it picks another one (pick.h). Such a variant runs
   * on every device. Else NULL. */
  const struct pick_table *picks;
};

/* ---- registry (registry.c, from variants.def, then what was added) ------------------------------------------- */

enum { ATTN_VARIANTS_ADDED_MAX = 16 };

/* Adds a variant that outlives every use of the registry; false when there is no room or the name is taken. Its hooks
 * are NULL in a process that knows the variant but must not run its code: a stand-in. */
bool variant_add(const struct attn_variant *);
static inline bool variant_is_stand_in(const struct attn_variant *variant) { return variant->plan == NULL; }

static inline bool variant_runs_on(const struct attn_variant *variant, enum device_kind kind) {
  return variant->picks != NULL || variant->runs_on == kind;
}

size_t variant_count(void);
/* How many of them came with the program: those that were added follow. */
size_t variant_built_in_count(void);
/* Was it added, by --load? */
bool variant_is_added(const struct attn_variant *);
const struct attn_variant *variant_at(size_t index);
const struct attn_variant *variant_find(const char *name); /* NULL when there is none */
size_t variant_tunable_count(const struct attn_variant *);
struct attn_tuning variant_default_tuning(const struct attn_variant *);
/* The pipe that the variant uses for this type. */
enum attn_math variant_math(const struct attn_variant *, enum attn_dtype);
/* Whether the variant takes the shape: NULL, or why not; static, from variant->supports but for what every variant
 * would have to say. */
const char *variant_supports(const struct attn_variant *, const struct attn_shape *, const struct attn_tuning *,
                             const struct device_info *);
/* Zeroes *plan, fills clusters with {1,1,1} and in the tuning, calls variant->plan. */
void variant_plan(const struct attn_variant *, const struct attn_shape *, const struct attn_tuning *,
                  const struct device_info *, struct attn_plan *plan);

/* Number of keys that query row i attends (bottom-right causal). */
static inline ATTN_HD uint32_t attn_keys_under_mask(bool causal, uint32_t Sq, uint32_t Skv, uint32_t row) {
  if (!causal) return Skv;
  const int64_t keys = (int64_t)row + 1 + (int64_t)Skv - (int64_t)Sq;
  return keys <= 0 ? 0 : keys >= (int64_t)Skv ? Skv : (uint32_t)keys;
}
static inline ATTN_HD uint32_t attn_keys_of_row(const struct attn_shape *s, uint32_t row) {
  return attn_keys_under_mask(s->causal, s->Sq, s->Skv, row);
}

#ifdef __cplusplus
}
#endif
#endif
