/* A kernel variant: data, and functions (hooks). The runner owns all memory, launches exactly the passes that plan()
 * returned (one cudaLaunchKernelExC per pass), and reads its diagnostics from the same struct.
 *
 * To add a variant: one new file in kernels/variants/ that defines `const struct attn_variant attn_variant_NAME`
 * and one line VARIANT(NAME) in kernels/variants.def. kernels/variants/scalar.cu is the commented template.
 *
 * problem/attention.h defines what is computed, problem/tensor.h the layout of the tensors. */
#ifndef ATTNBENCH_KERNELS_VARIANT_H
#define ATTNBENCH_KERNELS_VARIANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/host_device.h"
#include "kernels/problem/tensor.h"
#include "kernels/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum device_kind { DEVICE_CPU, DEVICE_CUDA };

/* A device's limits and rates, from the hardware (device.h) or from the table of known GPUs (gpu_models.h). A rate
 * that is not known is 0. */
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
  uint64_t memory_bytes; /* total */
  double sm_clock_max_mhz;
  double dram_gb_per_s;          /* vendor's peak: bus width x memory clock */
  double tensor_flop_per_clk_sm; /* dense f16/bf16 with fp32 accumulation; one FMA = 2 FLOP */
  double fp32_flop_per_clk_sm;
  uint32_t driver_version, runtime_version; /* as CUDA encodes them: 13000 = 13.0; 0 = none */
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

/* The dimensions of the problem that one grid axis runs over; a set of bits, since an axis may combine several. */
enum attn_cover {
  ATTN_COVERS_NOTHING = 0,
  ATTN_COVERS_B = 1,
  ATTN_COVERS_H = 2,        /* query heads */
  ATTN_COVERS_Q = 4,        /* query tiles or rows */
  ATTN_COVERS_SPLIT = 8,    /* splits of the keys */
  ATTN_COVERS_D = 16,       /* chunks of the head dimension */
  ATTN_COVERS_UNKNOWN = 32, /* not known, for a library's kernel or one from a file */
  ATTN_COVERS_HKV = 64,     /* KV heads; a Q tile holds rows of all query heads that share one */
};
/* The name of a bit, by its number, in reports and manifests: "B", "H", ...; NULL past the last. */
const char *attn_cover_name(uint32_t bit);

/* A kernel in a cubin, a fat binary or PTX file, of any compiler. Unlike a kernel with a host handle it takes any
 * number of arguments, which are listed in their order. */
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
  uint32_t row_threads; /* threads of a block that work on query rows in the compute phase; 0: the pass only prepares
                         * memory */
  uint32_t producer_threads; /* threads of a block that load data for these meanwhile: producer warps of a
                              * warp-specialised block */
  bool early_start; /* may start while the pass before it in the plan still runs, on GPUs that can (compute capability
                     * 9.0); every block executes griddepcontrol.wait before it touches what earlier passes write,
                     * and before it ends. Has no effect in the first pass of a plan */
};

/* The most that a kernel may take as its argument: 32764 bytes since CUDA 12.1, 4096 where the object was built for
 * an older one. */
enum { ATTN_PASSES_MAX = 4, ATTN_PASS_ARGS_MAX = 32764 };

/* The work in one launch of a vendor's library that is not in pass[]. */
struct attn_launched {
  uint32_t more_kernels; /* kernels beyond ATTN_PASSES_MAX */
  uint32_t memsets;
  uint64_t memset_bytes; /* total over the memsets */
};

struct attn_plan {
  struct attn_pass pass[ATTN_PASSES_MAX];
  uint32_t pass_count;   /* 0 for host variants, and for a vendor's library until it is bound */
  uint32_t zeroed_bytes; /* The first bytes of the workspace. They are zero before the first launch, and every launch
                          * has to leave them zero. Blocks can count in them how many blocks have arrived. */
  uint64_t workspace_bytes;
  uint32_t tile_q, tile_kv;      /* rows of Q and of K/V per tile */
  uint32_t splits;               /* KV splits; 1 when keys are not split */
  uint32_t stages;               /* K/V tiles in flight; 1 when loads are not pipelined */
  struct attn_tuning tuning;     /* the tuning of the plan, for bind(); variant_plan() fills it in */
  struct attn_launched launched; /* of a vendor's library, once it is bound; else zero */
  /* The variant that was picked, and the rule that picked it, when the variant picks others (pick.h); else NULL. */
  const struct attn_variant *picked;
  const struct pick_rule *picked_by;
};

/* Device pointers for CUDA variants, host pointers for CPU variants. Owned by the runner. NULL: the problem has no
 * such tensor. */
struct attn_buffers {
  /* plan.workspace_bytes, 256-byte aligned. Behind the first plan.zeroed_bytes it holds garbage at every launch. */
  void *workspace;
  union {
    void *tensor[ATTN_ROLE_COUNT]; /* by enum attn_role */
    struct {                       /* the same by name: q, k, v, o, lse */
#define ATTN_BUFFER_MEMBER(role, member, type, ...) type *member;
      ATTN_TENSOR_MAP(ATTN_BUFFER_MEMBER)
#undef ATTN_BUFFER_MEMBER
    };
  };
};

/* The argument of a kernel, a struct that is passed by value; for a kernel from a file its arguments, each at its
 * offset. bind() writes it. It is aligned for tensor maps (kernels/tiles/tensor_map.cuh), which bind() makes once for
 * all launches. */
struct attn_pass_args {
  unsigned char bytes[ATTN_PASS_ARGS_MAX] __attribute__((aligned(64)));
};

/* A library that chooses and launches its own kernels, such as a vendor's. Its variant plans no passes; the device
 * observes what one enqueue() launches and reports it. `stream` is a cudaStream_t; on a CPU, where enqueue() returns
 * after the last write, it is NULL. All calls come from one thread of
 * the process that owns the device. A hook returns STATUS_UNSUPPORTED when the library does not take the shape. Where
 * missing() returns NULL, no other hook may be NULL. */
struct attn_vendor {
  /* Why the library cannot be used in this process, NULL when it can. Loads it at the first call. */
  const char *(*missing)(void);
  /* The library and its version, "cuDNN 9.14.0", for reports; static. Called only where missing() is NULL. */
  const char *(*library)(void);
  /* Chooses a kernel and builds everything that is not part of a launch. On success *state is the caller's, for
   * close(), and *workspace_bytes, which arrives as the plan has it, is what attach() wants to find in
   * buffers->workspace. */
  struct status (*open)(const struct attn_problem *, const struct attn_tuning *, const struct device_info *,
                        void *stream, void **state, uint64_t *workspace_bytes);
  /* Says where the tensors are; once, before the first enqueue(). */
  struct status (*attach)(void *state, const struct attn_buffers *);
  /* One launch on the stream. Asynchronous; can be captured into a CUDA graph. */
  struct status (*enqueue)(void *state);
  void (*close)(void *state);
  /* Brings the outputs of the last launch to the tensors of attach(), and makes where they were NaN; on the stream,
   * never timed. For a library whose outputs lie in memory of its own, such as a Python function that returns a new
   * tensor. On a GPU one enqueue() of it is captured, and that captured launch is launched from then on; where it
   * cannot be captured, each enqueue() is timed with its host time. NULL: enqueue() writes the tensors of attach().
   */
  struct status (*collect)(void *state);
  /* Which of the library's own plans attach() chose: its number from 1, in the order in which the library offers
   * them, and how many there were to choose from. NULL: it chose none itself. */
  void (*choice)(const void *state, uint32_t *number, uint32_t *count);
};

/* The units that compute the variant's matrix products. They determine the compute roof of its rows. */
enum attn_math {
  ATTN_MATH_FP32,
  ATTN_MATH_TENSOR,
  ATTN_MATH_FP64_HOST,
  ATTN_MATH_FP32_HOST,
  ATTN_MATH_WGMMA, /* tensor cores by wgmma; TENSOR is mma.sync or WMMA, 2/3 of that rate on compute capability 9.0 */
  ATTN_MATH_FP32_OR_TENSOR, /* fp32 for f32, tensor cores for 16-bit types; never in a record, see variant_math */
};

/* Head dimensions that a variant takes. Zero: any. */
struct attn_dims {
  uint32_t least, most;
  uint32_t multiple;  /* they are multiples of this */
  uint32_t one_of[4]; /* only these, ascending, zeros behind; instead of the three above */
  const char *why;    /* reason, appended to a refusal; NULL: none */
};

#define ATTN_DTYPES_16_BITS (ATTN_DTYPE_BIT(ATTN_F16) | ATTN_DTYPE_BIT(ATTN_BF16))
#define ATTN_DTYPES_FLOAT   (ATTN_DTYPES_16_BITS | ATTN_DTYPE_BIT(ATTN_F32))

struct attn_variant {
  const char *name;    /* [a-z0-9_]+; the key in sweeps, reports and baselines; never renamed */
  const char *summary; /* one line for `attnbench list` */
  const char *limits;  /* one line: what supports() asks for beyond dtypes and D; NULL: nothing */
  enum device_kind runs_on;
  enum attn_math math;
  /* What the variant takes, as data. Other problems are refused before supports() is called, so that a new dtype or
   * axis changes no variant that does not take it. */
  unsigned takes;         /* bits of enum attn_takes */
  unsigned dtypes;        /* bits ATTN_DTYPE_BIT of enum attn_dtype; 0: supports() decides */
  const char *dtypes_why; /* reason, appended to a refusal; NULL: none */
  struct attn_dims dims;
  const struct attn_tunable *tunables; /* ends with a NULL name; NULL when there are none */

  /* Pure. NULL: can run. Else a static sentence naming the field and the limit. */
  const char *(*supports)(const struct attn_problem *, const struct attn_tuning *, const struct device_info *);
  /* Pure; cannot fail once supports() said yes. *plan arrives zeroed. */
  void (*plan)(const struct attn_problem *, const struct attn_tuning *, const struct device_info *,
               struct attn_plan *plan);
  /* CUDA variants: writes each pass's kernel argument into args[pass]. It may call the driver, since the GPU is open.
   * A failure makes its text the reason why the cell has no result. NULL in a build without CUDA. */
  struct status (*bind)(const struct attn_problem *, const struct attn_plan *, const struct attn_buffers *,
                        struct attn_pass_args args[ATTN_PASSES_MAX]);
  /* CPU variants: computes O with `threads` threads; returns after the last write. NULL for CUDA variants. */
  void (*run)(const struct attn_problem *, const struct attn_plan *, const struct attn_buffers *, unsigned threads);
  /* Libraries that launch their own kernels, which have neither bind() nor run() and whose plan() leaves pass_count
   * zero; else NULL. */
  const struct attn_vendor *vendor;
  /* Of a variant without a kernel of its own: the table by which it picks another one (pick.h). Such a variant runs
   * on every device. Else NULL. */
  const struct pick_table *picks;
  bool runs_anywhere; /* on a CPU and on a GPU, whatever runs_on is */
};

/* ---- registry (registry.c, from variants.def, then what was added) ------------------------------------------- */

enum { ATTN_VARIANTS_ADDED_MAX = 16 };

/* Adds a variant, which must outlive every use of the registry; false when there is no room or the name is taken. Its
 * hooks are NULL in a process that must not run its code; such a variant is a stand-in. */
bool variant_add(const struct attn_variant *);
static inline bool variant_is_stand_in(const struct attn_variant *variant) { return variant->plan == NULL; }

static inline bool variant_runs_on(const struct attn_variant *variant, enum device_kind kind) {
  return variant->picks != NULL || variant->runs_anywhere || variant->runs_on == kind;
}

size_t variant_count(void);
/* The number of built-in variants; variants that were added have the indices after them. */
size_t variant_built_in_count(void);
/* Whether it was added (--load). */
bool variant_is_added(const struct attn_variant *);
const struct attn_variant *variant_at(size_t index);
const struct attn_variant *variant_find(const char *name); /* NULL when there is none */
size_t variant_tunable_count(const struct attn_variant *);
struct attn_tuning variant_default_tuning(const struct attn_variant *);
/* The units that the variant uses for this dtype. */
enum attn_math variant_math(const struct attn_variant *, enum attn_dtype);
/* NULL when the variant takes the problem; else why not. Checks what the variant declares, then calls
 * variant->supports. The text is valid until the next call. */
const char *variant_supports(const struct attn_variant *, const struct attn_problem *, const struct attn_tuning *,
                             const struct device_info *);
enum { ATTN_LIMITS_MAX = 320 };
/* One line for people: what the variant declares, and variant->limits. */
void variant_limits(const struct attn_variant *, char out[ATTN_LIMITS_MAX]);
/* Zeroes *plan, fills clusters with {1,1,1} and in the tuning, calls variant->plan. */
void variant_plan(const struct attn_variant *, const struct attn_problem *, const struct attn_tuning *,
                  const struct device_info *, struct attn_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
