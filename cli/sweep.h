/* A sweep file becomes a list of cases and variants. The format is documented in shapes/README.md; every error names
 * file:line:column, what is wrong and what to do. Strict: unknown and duplicate keys, fractions, values out of range
 * and trailing text are errors. */
#ifndef ATTNBENCH_CLI_SWEEP_H
#define ATTNBENCH_CLI_SWEEP_H

#include "kernels/status.h"
#include "kernels/variant.h"

enum {
  SWEEP_NAME_MAX = 64,
  SWEEP_ABOUT_MAX = 512,
  SWEEP_CASES_MAX = 10000,
  SWEEP_VARIANTS_MAX = 64,
  SWEEP_B_MAX = 65536,
  SWEEP_H_MAX = 1024,
  SWEEP_S_MAX = 1048576,
  SWEEP_D_MAX = 8192,
  CASE_KEY_MAX = 96,
  VARIANT_SPEC_MAX = 96,
  SWEEP_GATE_CASES_MAX = 32,
  CELL_NAME_MAX = CASE_KEY_MAX + VARIANT_SPEC_MAX,
  CELL_GLOB_MAX = CELL_NAME_MAX,
};
#define SWEEP_GATE_PERCENT_MIN    0.5
#define SWEEP_GATE_PERCENT_MAX    50.0
#define SWEEP_TENSOR_ELEMENTS_MAX (UINT64_C(1) << 40) /* of any one of Q, K, V */

/* One point of a sweep. */
struct attn_case {
  struct attn_shape shape;
  char key[CASE_KEY_MAX]; /* "B1.H8.Hkv8.Sq512.Skv512.D64.f16.full"; unique in a sweep */
};

/* A variant with its tunables resolved. */
struct variant_spec {
  const struct attn_variant *variant;
  struct attn_tuning tuning;
  char text[VARIANT_SPEC_MAX]; /* canonical: name, then only the tunables that were given, in table order */
};

/* Which case of a group scaling ratios are relative to; 0 = the field may be anything. */
struct sweep_baseline {
  uint32_t B, Hq;
};

/* How much slower the sweep's cases may get before a gate fails; the command line wins. */
struct sweep_gate {
  bool known;               /* the file says something */
  double threshold_percent; /* of every case; 0: not given */
  uint32_t case_count;
  struct sweep_gate_case {
    char glob[CELL_GLOB_MAX]; /* of "KEY/VARIANT"; the last match wins */
    double threshold_percent;
  } cases[SWEEP_GATE_CASES_MAX];
};

struct sweep {
  char path[256];
  char name[SWEEP_NAME_MAX + 1];
  char about[SWEEP_ABOUT_MAX + 1];
  char hash[17]; /* FNV-1a 64 of the file's bytes, hexadecimal */
  struct attn_case *cases;
  size_t case_count;
  struct variant_spec *variants;
  size_t variant_count; /* 0: the file names none, so every variant that runs on the device */
  bool has_baseline;
  struct sweep_baseline baseline;
  struct sweep_gate gate;
};

/* Reads and validates a file. On success the caller frees with sweep_free; on failure *out needs no freeing. */
struct status sweep_load(const char *path, struct sweep *out);
/* The same from memory; `path` is used in messages only. text need not end with NUL. */
struct status sweep_parse(const char *path, const char *text, size_t length, struct sweep *out);
void sweep_free(struct sweep *);

/* Writes the case key into out. */
void case_key(const struct attn_shape *, char out[CASE_KEY_MAX]);

/* A cell, which is a variant on a case, as the command line and messages name it: "KEY/VARIANT". */
void case_variant_name(const char *key, const char *variant, char out[CELL_NAME_MAX]);
/* Does its name match the glob? As fnmatch does, * also matches / and the dots of the key. */
bool case_variant_matches(const char *glob, const char *key, const char *variant);

/* "name" or "name:key=value,key=value" -> spec. The message names the nearest known variant or tunable. `where` leads
 * the message ("--variants" or "file:line:column: variants[2]"); code is STATUS_USAGE or STATUS_INPUT. */
struct status variant_spec_parse(const char *text, const char *where, enum status_code code,
                                 struct variant_spec *out);

#endif
