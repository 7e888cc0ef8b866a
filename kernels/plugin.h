/* A kernel of your own in a shared object: what `attnbench --load ./mine.so` expects to find in it.
 *
 * The object exports one symbol, `attn_plugin`, that describes it and lists its variants (variant.h). Write it with
 * the macro below; kernels/example/ is a complete object to copy.
 *
 *   static const struct attn_variant *const variants[] = {&attn_variant_mine};
 *   ATTN_PLUGIN(variants, ATTN_PLUGIN_LAUNCH_HANDLE);
 *
 * What attnbench promises: the object is opened in worker processes only, after a first one has shown that it can be
 * opened, so that whatever it does wrong costs its own cells. What the object promises: its hooks obey variant.h, and
 * names of variants are its own. Its standard output is attnbench's standard error. It is never unloaded.
 *
 * Compatibility: attnbench and the object agree on ATTN_PLUGIN_ABI and on the size of every struct that crosses. A
 * new field changes a size; the number changes when the meaning of a field does. Either way the object is refused
 * with a sentence, and compiling it again against this header is the cure.
 *
 * Symbols: link with -Wl,-Bsymbolic. Without it a kernel that has the name of one in attnbench is replaced by that
 * one, which attnbench notices and refuses. */
#ifndef ATTNBENCH_KERNELS_PLUGIN_H
#define ATTNBENCH_KERNELS_PLUGIN_H

#include "kernels/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ATTN_PLUGIN_ABI    5u
#define ATTN_PLUGIN_SYMBOL "attn_plugin"

/* Most objects of one command line, variants of all of them together, and bytes of a text. */
enum {
  ATTN_PLUGINS_MAX = 8,
  ATTN_PLUGIN_VARIANTS_MAX = ATTN_VARIANTS_ADDED_MAX,
  ATTN_PLUGIN_NAME_MAX = 32,
  ATTN_PLUGIN_TEXT_MAX = 240,
};

/* Every struct whose layout both sides must share; attn_plugin.bytes[] has their sizes in this order. */
#define ATTN_PLUGIN_STRUCTS(X) \
  X(attn_variant)              \
  X(attn_vendor)               \
  X(attn_tunable)              \
  X(attn_tuning)               \
  X(attn_shape)                \
  X(device_info)               \
  X(attn_image_argument)       \
  X(attn_image)                \
  X(attn_pass)                 \
  X(attn_launched)             \
  X(attn_plan)                 \
  X(attn_buffers)              \
  X(attn_pass_args)            \
  X(status)

enum {
#define ATTN_PLUGIN_COUNT(name) ATTN_PLUGIN_STRUCT_##name,
  ATTN_PLUGIN_STRUCTS(ATTN_PLUGIN_COUNT)
#undef ATTN_PLUGIN_COUNT
      ATTN_PLUGIN_STRUCT_COUNT
};

struct attn_plugin {
  uint32_t abi;                             /* ATTN_PLUGIN_ABI; first for ever, so that any version can be told */
  uint32_t bytes[ATTN_PLUGIN_STRUCT_COUNT]; /* sizes of ATTN_PLUGIN_STRUCTS */
  uint32_t variant_count;                   /* 1 .. ATTN_PLUGIN_VARIANTS_MAX */
  const struct attn_variant *const *variants;
  /* Turns a plan's host handle into one that any CUDA runtime of the process can launch. An object carries a CUDA
   * runtime of its own, and only that one knows the object's kernels by their host handles. Called in a worker with
   * its GPU open. NULL when the kernel cannot be had, and the hook itself is NULL in an object without GPU kernels,
   * or one that launches them itself (struct attn_vendor).
   */
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

#define ATTN_PLUGIN_SIZE(name) (uint32_t)sizeof(struct name),

/* Defines it. `array` is an array of `const struct attn_variant *`, `handle` the hook or NULL. */
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
