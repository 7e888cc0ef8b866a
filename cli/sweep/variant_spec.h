/* A variant with its tunables, as a user writes it: "split_kv:splits=4". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/base/fields.h"
#include "kernels/problem/axes.h"
#include "kernels/variant.h"

enum { VARIANT_SPEC_MAX = 96, SWEEP_VARIANTS_MAX = 64 };

/* A variant with its tunables resolved. */
struct variant_spec {
  const struct attn_variant *variant;
  struct attn_tuning tuning;
  char text[VARIANT_SPEC_MAX]; /* canonical: name, then only the tunables that were given, in table order */
};

/* Reads "name" or "name:key=value,key=value". The error message begins with `where` ("--variants" or
 * "file:line:column: variants[2]") and names the nearest known variant or tunable; its code is `code`, STATUS_USAGE
 * or STATUS_INPUT. */
struct status variant_spec_parse(const char *text, const char *where, enum status_code code,
                                 struct variant_spec *out);

/* Does the spec's text set this tunable? */
bool variant_spec_gives(const struct variant_spec *, size_t tunable);
/* The spec of the same variant with other tunables. Its text has the tunables that `base` sets and those that differ
 * from their defaults. False when the text does not fit. */
bool variant_spec_with(const struct variant_spec *base, const struct attn_tuning *, struct variant_spec *out);

/* The longest message that variant_spec_read writes. */
enum { VARIANT_SPEC_PROBLEM_MAX = 400 };

/* As variant_spec_parse, but on failure returns false and writes the message without the leading `where`. */
bool variant_spec_read(const char *text, struct variant_spec *out, char problem[VARIANT_SPEC_PROBLEM_MAX]);

/* The length of the first spec of a list with commas between them; commas separate tunables too. */
size_t variant_spec_length(const char *list);

/* The name of a cell, which is a variant on a case, as the command line and messages write it: "KEY/VARIANT". */

enum { CELL_NAME_MAX = AXIS_KEY_MAX + VARIANT_SPEC_MAX, CELL_GLOB_MAX = CELL_NAME_MAX };

/* Writes the cell's name into out. */
void cell_name(const char *key, const char *variant, char out[CELL_NAME_MAX]);
/* Does the cell's name match the glob? As in fnmatch without flags, * also matches "/" and ".". */
bool cell_name_matches(const char *glob, const char *key, const char *variant);
/* Writes the short name of a case, for tables: "1,32/8,1x4096,128 f16 full", which is B,H,S,D and the rest of the
 * key. Of a key without all of these sizes, as of a ragged batch, it is the key. */
void cell_name_short_case(const char *key, char *out, size_t size);

/* Names that --variants takes for several variants at once. */

/* GROUP(name, who is in it) */
#define VARIANT_GROUP_MAP(X)                                                         \
  X(all, "every variant with a kernel of its own, so not auto")                      \
  X(ours, "the variants that are built in, without vendors' libraries and auto")     \
  X(ladder, "the kernels of which each adds one idea to the one before it")          \
  X(specimens, "kernels that are slow for one known reason, to compare others with") \
  X(loaded, "the variants of the files that --load names")

enum variant_group {
#define VARIANT_GROUP_ENUM(name, help) VARIANT_GROUP_##name,
  VARIANT_GROUP_MAP(VARIANT_GROUP_ENUM)
#undef VARIANT_GROUP_ENUM
      VARIANT_GROUP_COUNT
};

const char *variant_group_name(size_t index); /* NULL past the last */
/* The group of this name; VARIANT_GROUP_COUNT when there is none. */
enum variant_group variant_group_find(const char *name);
/* Is the variant at this index of the registry in the group? */
bool variant_group_has(enum variant_group, size_t index);

/* The tunings of a variant that `attnbench tune` tries: every combination of values of its tunables that the variant
 * takes for a shape, or an even sample of the combinations when there are more than TUNINGS_MAX. */

enum { TUNINGS_MAX = 512 };

/* Does the variant take this shape with these values? */
struct tunings_filter {
  bool (*takes)(const void *context, const struct attn_tuning *);
  const void *context;
};

struct tunings {
  struct variant_spec *items; /* the first is `base` */
  size_t count;
  size_t left_out; /* combinations that the variant takes, or may take, and that items lacks */
};

/* Tunables that `base` sets keep their values. With `takes` NULL every combination counts as one that the variant may
 * take. The list depends on the arguments alone. On success the caller frees items. */
struct status tunings_of(const struct variant_spec *base, const struct tunings_filter *, struct tunings *out);

/* Descriptions of variants as JSON. */

/* A variant, and whether it can run on this machine. */
struct variant_here {
  const struct attn_variant *variant;
  const char *why_not; /* why it cannot run; NULL: it can */
};

extern const struct field variant_tunable_fields[]; /* struct attn_tunable */

/* Adds "variants": [...] of `attnbench list --json`. */
void variant_json_add(cJSON *object, const struct variant_here *, size_t count);
