/* A sweep file becomes a list of cases and variants. The format is documented in shapes/README.md; every error names
 * file:line:column, what is wrong and what to do. Strict: unknown and duplicate keys, fractions, values out of range
 * and trailing text are errors. */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "cli/base/hash.h"
#include "cli/sweep/variant_spec.h"

enum {
  SWEEP_NAME_MAX = 64,
  SWEEP_ABOUT_MAX = 512,
  SWEEP_CASES_MAX = 10000,
  SWEEP_GATE_CASES_MAX = 32,
  SWEEP_ONLY_MAX = 64,
};
#define SWEEP_GATE_PERCENT_MIN 0.5
#define SWEEP_GATE_PERCENT_MAX 50.0

/* One point of a sweep. */
struct attn_case {
  struct attn_problem shape;
  char key[AXIS_KEY_MAX];       /* "B1.H8.Hkv8.Sq512.Skv512.D64.f16.full"; unique in a sweep */
  char tuned[VARIANT_SPEC_MAX]; /* the sweep's "tuned" entry, "split_kv:splits=4": when `auto` picks this variant, it
                                   uses these tunables; "": those of auto's rule */
};

/* The case of a scaling group that time ratios are relative to (scaling.h); 0: the axis may have any value. */
struct sweep_baseline {
  uint32_t B, Hq;
};

/* How much slower the sweep's cases may get before a gate fails. Thresholds of the command line take precedence. */
struct sweep_gate {
  bool known;               /* the file has a "gate" */
  double threshold_percent; /* of every case; 0: not given */
  uint32_t case_count;
  struct sweep_gate_case {
    char glob[CELL_GLOB_MAX]; /* of "KEY/VARIANT"; the last matching glob holds */
    double threshold_percent;
  } cases[SWEEP_GATE_CASES_MAX];
};

struct sweep {
  char path[PATH_MAX]; /* of the file; SHAPE_SPEC_PATH when the shapes came with --shape */
  char name[SWEEP_NAME_MAX + 1];
  char about[SWEEP_ABOUT_MAX + 1];
  char hash[HASH_TEXT_MAX]; /* of the file's bytes; without a file, of the cases */
  struct attn_case *cases;
  size_t case_count;
  struct variant_spec *variants;
  size_t variant_count; /* 0: the file names none, and every variant that runs on the device is taken */
  uint32_t only_count;  /* 0: every variant on every case */
  char only[SWEEP_ONLY_MAX][CELL_GLOB_MAX]; /* else the cells whose "KEY/VARIANT" matches one of these globs */
  bool has_baseline;
  struct sweep_baseline baseline;
  struct sweep_gate gate;
};

/* Reads and validates a file. On success the caller frees with sweep_free; on failure *out needs no freeing. */
struct status sweep_load(const char *path, struct sweep *out);
/* The same from memory; `path` is used in messages only. text need not end with NUL. */
struct status sweep_parse(const char *path, const char *text, size_t length, struct sweep *out);
/* Whether the sweep's "only" leaves the cell in. */
bool sweep_has_cell(const struct sweep *, const char *key, const char *variant);
/* Fills .hash from the cases, for a sweep without a file. */
void sweep_hash_cases(struct sweep *);
void sweep_free(struct sweep *);

/* Shapes as the command line writes them, without a sweep file:
 *
 *   B=1,H=8,S=512,D=64                       one case; f16 and full unless a dtype or a mask is named
 *   B=1,8,H=32/8,S=1x4096,D=128,bf16,causal  lists; query heads / KV heads; query rows x keys
 *   B=1,H=8,S=512:4096:*2,D=64,full,causal   ranges with a factor (*2) or a step (+512): 512, 1024, 2048, 4096
 *   B1.H8.Hkv8.Sq512.Skv512.D64.f16.full     a case's key, as reports write it */

/* The path of a sweep that comes from --shape (sweep.path). */
#define SHAPE_SPEC_PATH "--shape"

/* Makes a sweep of the cases of all specs, without repeats, in the order of the specs. Within a spec, the last of B,
 * H, S, D, dtype and mask varies fastest. The hash is that of the cases, so it does not depend on how they are
 * written. STATUS_USAGE names the spec and what is wrong. On success the caller frees with sweep_free. */
struct status shape_spec_sweep(const char *const *specs, size_t count, struct sweep *out);

/* The key, dtype or mask that a misspelt word of --shape or --filter meant; NULL: none is near. */
const char *shape_spec_nearest(const char *text);

/* What attnbench calls something that has this name elsewhere, in any case of letters: "window" for "sliding_window",
 * "e4m3" for "fp8". NULL: it has no other word for it. */
const char *synonym_of(const char *name);

/* Sweeps that attnbench comes with, by name: "v3" is shapes/v3.json of the source tree that the program was built in,
 * or share/attnbench/shapes/v3.json beside the bin folder that it was installed in. */

/* Writes the path of the shipped sweep `name`. False when `name` is a path, an existing file, or of no shipped sweep.
 */
bool shipped_find(const char *name, char out[PATH_MAX]);

/* Writes the folder in which the pages of an installation lie, and the examples that they name, by the paths that
 * they have in the sources. False for a program that is not installed. */
bool shipped_pages(char out[PATH_MAX]);

/* The names of the shipped sweeps; NULL past the last. Not for several threads. */
const char *shipped_name(size_t index);

/* STATUS_INPUT, with the nearest name and all names, when `name` could only have been that of a shipped sweep; also
 * for a file that is not there and has the name of one. */
struct status shipped_check(const char *name);
