/* A manifest describes a kernel that was compiled by anything, in a cubin or as PTX, so that --load makes a variant
 * of it without code: where it is, what it takes as arguments, how it is launched, which shapes it is for. The format
 * is documented in kernels/example/README.md; every error names file:line:column, what is wrong and what to do.
 * Strict, as sweeps are: unknown and duplicate keys, values out of range and trailing text are errors. */
#ifndef ATTNBENCH_CLI_SWEEP_MANIFEST_H
#define ATTNBENCH_CLI_SWEEP_MANIFEST_H

#include "cli/base/expression.h"
#include "cli/base/json.h"
#include "kernels/device.h"
#include "kernels/plugin.h"

enum { MANIFEST_CONSTANTS_MAX = 32, MANIFEST_REQUIREMENTS_MAX = 16, MANIFEST_DIMS_MAX = 16, MANIFEST_NAME_MAX = 512 };

/* What formulas may name: the shape and the device, then the manifest's constants. */
#define MANIFEST_VALUE_MAP(X) X(B) X(Hq) X(Hkv) X(Sq) X(Skv) X(D) X(causal) X(lse) X(dtype_bytes) X(sms)
enum manifest_value {
#define MANIFEST_VALUE(name) MANIFEST_VALUE_##name,
  MANIFEST_VALUE_MAP(MANIFEST_VALUE)
#undef MANIFEST_VALUE
      MANIFEST_VALUE_COUNT,
  MANIFEST_VALUES_MAX = MANIFEST_VALUE_COUNT + MANIFEST_CONSTANTS_MAX
};

enum manifest_argument_kind {
  MANIFEST_Q,
  MANIFEST_K,
  MANIFEST_V,
  MANIFEST_O,
  MANIFEST_LSE,
  MANIFEST_WORKSPACE,
  MANIFEST_INTEGER,
  MANIFEST_NUMBER,
  MANIFEST_SCALE,      /* 1 / sqrt(D) */
  MANIFEST_SCALE_LOG2, /* the same times log2(e) */
  MANIFEST_ZEROS,
  MANIFEST_TENSOR_MAP
};

/* How the copy engine fetches a tensor: as [B * H * rows][D], [B * H][rows][D] or [B][H][rows][D], by the sides of
 * the box. */
struct manifest_map {
  enum manifest_argument_kind tensor;
  uint32_t dims, swizzle_bytes;
  struct expression box[DEVICE_TENSOR_MAP_DIMS_MAX];
};
enum { MANIFEST_MAPS_MAX = 8 };

struct manifest_argument {
  enum manifest_argument_kind kind;
  uint32_t bytes, offset; /* in attn_pass_args */
  uint32_t map;           /* of a tensor map: its index in the launch */
  struct expression integer;
  double number;
};

struct manifest_launch {
  char name[24], path[PATH_MAX], entry[MANIFEST_NAME_MAX];
  bool is_portable; /* PTX: for this compute capability and all later ones */
  struct expression grid[3], block[3], cluster[3], smem, row_threads, producer_threads;
  bool is_described; /* covers and row_threads are known */
  unsigned covers[3];
  struct manifest_argument argument[ATTN_IMAGE_ARGUMENTS_MAX];
  struct manifest_map map[MANIFEST_MAPS_MAX];
  uint32_t map_count;
  bool writes_lse;         /* an argument is "lse" */
  struct attn_image image; /* points into this struct */
};

struct manifest {
  char name[ATTN_PLUGIN_NAME_MAX + 1], about[ATTN_PLUGIN_TEXT_MAX + 1], limits[ATTN_PLUGIN_TEXT_MAX + 1];
  enum attn_math math;
  uint32_t cc_major, cc_minor;
  bool dtype[ATTN_DTYPE_COUNT], causal[2];
  bool writes_lse; /* some launch does */
  uint32_t dims[MANIFEST_DIMS_MAX], dim_count;
  const char *names[MANIFEST_VALUES_MAX + 1]; /* of formulas; NULL-ended */
  char constant_name[MANIFEST_CONSTANTS_MAX][ATTN_PLUGIN_NAME_MAX + 1];
  int64_t constant[MANIFEST_CONSTANTS_MAX];
  uint32_t constant_count, requirement_count, launch_count;
  struct {
    struct expression that;
    char because[ATTN_PLUGIN_TEXT_MAX + 1];
  } requirement[MANIFEST_REQUIREMENTS_MAX];
  struct expression workspace_bytes, tile_q, tile_kv, splits, stages;
  struct manifest_launch launch[ATTN_PASSES_MAX];
};

/* Is this the path of a manifest, and of no shared object? By its end, ".json". */
bool manifest_is(const char *path);
/* Reads and validates a file. *out must not move afterwards. STATUS_INPUT names the place. */
struct status manifest_load(const char *path, struct manifest *out);
/* The same from memory; the folder of `path` is where the kernels' files are. */
struct status manifest_parse(const char *path, const char *text, size_t length, struct manifest *out);

#endif
