/* The interface of shared objects with your own kernels, for `attnbench --load ./mine.so`.
 *
 * The object exports one symbol, `attn_plugin`, that describes it and lists its variants (variant.h). Write it with
 * the macro below; kernels/example/ is a complete object to copy.
 *
 *   static const struct attn_variant *const variants[] = {&attn_variant_mine};
 *   ATTN_PLUGIN(variants, ATTN_PLUGIN_LAUNCH_HANDLE);
 *
 * What attnbench promises: the object is opened in worker processes only, after a first one has shown that it can be
 * opened, so that a crash costs its own cells only. What the object promises: its hooks obey variant.h, and no
 * other variant has the names of its variants. Its standard output is attnbench's standard error. It is never
 * unloaded.
 *
 * Compatibility: attnbench and the object agree on ATTN_PLUGIN_ABI and on the structs that they exchange. Structs
 * grow at their end only: an object that was built when one was shorter is loaded, and is never asked for a problem
 * that needs the rest, since it does not declare that it takes it. The number changes when the meaning of a field
 * does. An object of another number, or with a struct that is longer here or differs, is refused with a sentence, and
 * compiling it again against this header is the cure. Objects of number 5 are loaded too, for the problems of that
 * time: dense ones, full or causal, with or without lse.
 *
 * Symbols: link with -Wl,-Bsymbolic. Without it, a kernel of the object with the same name as one in attnbench
 * resolves to the latter; attnbench detects this and refuses the object. */
#ifndef ATTNBENCH_KERNELS_PLUGIN_H
#define ATTNBENCH_KERNELS_PLUGIN_H

#include "kernels/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ATTN_PLUGIN_ABI    6u
#define ATTN_PLUGIN_SYMBOL "attn_plugin"

/* The most objects of a command line, the most variants of all of them together, and the sizes of texts in bytes. */
enum {
  ATTN_PLUGINS_MAX = 8,
  ATTN_PLUGIN_VARIANTS_MAX = ATTN_VARIANTS_ADDED_MAX,
  ATTN_PLUGIN_NAME_MAX = 32,
  ATTN_PLUGIN_TEXT_MAX = 240,
  ATTN_PLUGIN_WHY_MAX = 120,
};

/* Every struct whose layout both sides must share, and whether it may be shorter in the object; attn_plugin.bytes[]
 * has their sizes in this order. */
#define ATTN_PLUGIN_STRUCTS(X)  \
  X(attn_variant, true)         \
  X(attn_vendor, true)          \
  X(attn_tunable, false)        \
  X(attn_tuning, false)         \
  X(attn_problem, true)         \
  X(device_info, true)          \
  X(attn_image_argument, false) \
  X(attn_image, false)          \
  X(attn_pass, false)           \
  X(attn_launched, false)       \
  X(attn_plan, false)           \
  X(attn_buffers, true)         \
  X(attn_pass_args, false)      \
  X(status, false)

enum {
#define ATTN_PLUGIN_COUNT(name, grows) ATTN_PLUGIN_STRUCT_##name,
  ATTN_PLUGIN_STRUCTS(ATTN_PLUGIN_COUNT)
#undef ATTN_PLUGIN_COUNT
      ATTN_PLUGIN_STRUCT_COUNT
};

struct attn_plugin {
  uint32_t abi;                             /* ATTN_PLUGIN_ABI; the first member in all versions */
  uint32_t bytes[ATTN_PLUGIN_STRUCT_COUNT]; /* sizes of ATTN_PLUGIN_STRUCTS */
  uint32_t variant_count;                   /* 1 .. ATTN_PLUGIN_VARIANTS_MAX */
  const struct attn_variant *const *variants;
  /* Turns a plan's host handle into one that any CUDA runtime of the process can launch. An object carries a CUDA
   * runtime of its own, and only that one knows the object's kernels by their host handles. Called in a worker with
   * its GPU open. Returns NULL when there is no handle for the kernel. The hook itself is NULL in an object without
   * GPU kernels, or one that launches them itself (struct attn_vendor). */
  const void *(*launch_handle)(const void *kernel);
};

#ifdef __CUDACC__
/* A cudaKernel_t belongs to the driver, not to a runtime; the launch, attribute and occupancy functions of every
 * runtime since CUDA 12.1 take it where they take a host handle. */
static inline const void *attn_plugin_launch_handle(const void *kernel) {
  cudaKernel_t handle = NULL;
  return cudaGetKernel(&handle, kernel) == cudaSuccess ? (const void *)handle : NULL;
}
#define ATTN_PLUGIN_LAUNCH_HANDLE attn_plugin_launch_handle
#else
#define ATTN_PLUGIN_LAUNCH_HANDLE NULL
#endif

/* Defined by the object; attnbench itself has none. */
extern const struct attn_plugin attn_plugin __attribute__((visibility("default")));

#define ATTN_PLUGIN_SIZE(name, grows) (uint32_t)sizeof(struct name),

/* Defines attn_plugin. `array` is an array of `const struct attn_variant *`, `handle` the hook or NULL. */
#define ATTN_PLUGIN(array, handle)                                                    \
  const struct attn_plugin attn_plugin = {ATTN_PLUGIN_ABI,                            \
                                          {ATTN_PLUGIN_STRUCTS(ATTN_PLUGIN_SIZE)},    \
                                          (uint32_t)(sizeof(array) / sizeof(*array)), \
                                          array,                                      \
                                          handle}

#ifdef __cplusplus
}
#endif
#endif
