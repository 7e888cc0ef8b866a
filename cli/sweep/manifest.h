/* A manifest is a JSON file that describes a compiled kernel, a cubin or PTX, so that --load makes a variant of it
 * without C code: the kernel's file, its arguments, its launch and the shapes that it takes. The format is documented
 * in kernels/example/README.md. Every error names file:line:column, what is wrong and what to do. Unknown and
 * duplicate keys, values out of range and trailing text are errors. */
#pragma once

#include "cli/base/expression.h"
#include "cli/base/json.h"
#include "kernels/device.h"
#include "kernels/plugin.h"
#include "kernels/problem/axes.h"

enum { MANIFEST_CONSTANTS_MAX = 32, MANIFEST_REQUIREMENTS_MAX = 16, MANIFEST_DIMS_MAX = 16, MANIFEST_NAME_MAX = 512 };

/* The values that formulas may name: the numbers of the problem (axes.h), "dtype_bytes", "sms", then the manifest's
 * constants. */
enum { MANIFEST_VALUES_MAX = AXIS_NUMBERS_MAX + 2 + MANIFEST_CONSTANTS_MAX };

enum manifest_argument_kind {
  MANIFEST_POINTER,
  MANIFEST_INTEGER,
  MANIFEST_NUMBER,
  MANIFEST_SCALE,      /* 1 / sqrt(D) */
  MANIFEST_SCALE_LOG2, /* the same times log2(e) */
  MANIFEST_AXIS,       /* a real number of the problem */
  MANIFEST_ZEROS,
  MANIFEST_TENSOR_MAP
};

/* A tensor map, which tells the tensor memory accelerator (TMA) how to copy a tensor. The number of sides of the box,
 * 2, 3 or 4, says whether the tensor is [B * H * rows][D], [B * H][rows][D] or [B][H][rows][D]. */
struct manifest_map {
  enum attn_role tensor;
  uint32_t dims, swizzle_bytes;
  struct expression box[DEVICE_TENSOR_MAP_DIMS_MAX];
};
enum { MANIFEST_MAPS_MAX = 8 };

struct manifest_argument {
  enum manifest_argument_kind kind;
  uint32_t bytes, offset; /* in attn_pass_args */
  uint32_t role;          /* of a pointer: enum attn_role, or ATTN_ROLE_COUNT for the workspace */
  uint32_t map;           /* of a tensor map: its index in the launch */
  struct expression integer;
  double number;
  const struct attn_axis *axis; /* of MANIFEST_AXIS */
};

struct manifest_launch {
  char name[24], path[PATH_MAX], entry[MANIFEST_NAME_MAX];
  bool is_portable; /* PTX, which runs on cc_major.cc_minor and all later ones */
  struct expression grid[3], block[3], cluster[3], smem, row_threads, producer_threads;
  bool is_described; /* covers and row_threads are given */
  unsigned covers[3];
  struct manifest_argument argument[ATTN_IMAGE_ARGUMENTS_MAX];
  struct manifest_map map[MANIFEST_MAPS_MAX];
  uint32_t map_count;
  struct attn_image image; /* points into this struct */
};

struct manifest {
  char name[ATTN_PLUGIN_NAME_MAX + 1], about[ATTN_PLUGIN_TEXT_MAX + 1], limits[ATTN_PLUGIN_TEXT_MAX + 1];
  enum attn_math math;
  uint32_t cc_major, cc_minor;
  bool causal[2];
  unsigned dtypes; /* bits ATTN_DTYPE_BIT */
  unsigned takes;  /* bits of enum attn_takes: those of "takes", and those that the arguments imply */
  uint32_t dims[MANIFEST_DIMS_MAX], dim_count;
  const char *names[MANIFEST_VALUES_MAX + 1]; /* the names that formulas may use; NULL-ended */
  char constant_name[MANIFEST_CONSTANTS_MAX][ATTN_PLUGIN_NAME_MAX + 1];
  int64_t constant[MANIFEST_CONSTANTS_MAX];
  uint32_t value_count; /* values in `names` before the constants */
  uint32_t constant_count, requirement_count, launch_count;
  struct {
    struct expression that;
    char because[ATTN_PLUGIN_TEXT_MAX + 1];
  } requirement[MANIFEST_REQUIREMENTS_MAX];
  struct expression workspace_bytes, tile_q, tile_kv, splits, stages;
  struct manifest_launch launch[ATTN_PASSES_MAX];
};

/* Does the path end in ".json", so that it names a manifest and not a shared object? */
bool manifest_is(const char *path);
/* Reads and validates a file. *out points into itself, so it must not be copied or moved. STATUS_INPUT names the
 * place. */
struct status manifest_load(const char *path, struct manifest *out);
/* The same for a text in memory; the kernels' files are looked for in the folder of `path`. */
struct status manifest_parse(const char *path, const char *text, size_t length, struct manifest *out);

/* Makes a variant of a manifest's kernel. Planning needs no GPU; the device opens the kernel's file. */

/* Reads the manifest and adds its variant to the registry until the process ends. STATUS_INPUT names the place of an
 * error in the file. STATUS_USAGE: the variant's name is taken, or there are too many variants. */
struct status manifest_variant_add(const char *path);
