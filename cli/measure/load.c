/* Loads users' shared objects in a process of their own and registers what they describe. */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/fields.h"
#include "cli/measure/supervise.h"
#include "cli/sweep/callable_spec.h"

/* ---- descriptions -------------------------------------------------------------------------------------------- */

struct described_tunable {
  char name[ATTN_PLUGIN_NAME_MAX + 1], help[ATTN_PLUGIN_TEXT_MAX + 1];
  double min, max, default_value;
};

struct described_variant {
  char name[ATTN_PLUGIN_NAME_MAX + 1];
  char summary[ATTN_PLUGIN_TEXT_MAX + 1], limits[ATTN_LIMITS_MAX];
  uint32_t runs_on, math, takes;
  bool runs_anywhere;
  uint32_t tunable_count;
  struct described_tunable tunable[ATTN_TUNABLES_MAX];
};

struct description {
  char left[RECORD_LEFT_MAX]; /* what the object's constructors changed, or "" */
  uint32_t count;
  struct described_variant variant[ATTN_PLUGIN_VARIANTS_MAX];
};

static const struct field tunable_fields[] = {
    FIELD_TEXT_OF("name", struct described_tunable, name),
    FIELD("min", F64, struct described_tunable, min, .required = true),
    FIELD("max", F64, struct described_tunable, max, .required = true),
    FIELD("default", F64, struct described_tunable, default_value, .required = true),
    FIELD_TEXT_OF("help", struct described_tunable, help),
    {0},
};

static const struct field variant_fields[] = {
    FIELD_TEXT_OF("name", struct described_variant, name),
    FIELD_TEXT_OF("summary", struct described_variant, summary),
    FIELD_TEXT_OF("limits", struct described_variant, limits),
    FIELD("runs_on", U32, struct described_variant, runs_on, .max = DEVICE_CUDA),
    FIELD("math", U32, struct described_variant, math, .max = ATTN_MATH_FP32_OR_TENSOR),
    FIELD("runs_anywhere", BOOL, struct described_variant, runs_anywhere, .left_out = true),
    FIELD("takes", U32, struct described_variant, takes),
    FIELD_ARRAY_OF("tunables", struct described_variant, tunable, tunable_count, tunable_fields),
    {0},
};

static const struct field description_fields[] = {
    FIELD_LABEL_OF("left", struct description, left, .left_out = true),
    FIELD_ARRAY_OF("variants", struct description, variant, count, variant_fields),
    {0},
};

static void describe(const struct attn_variant *variant, struct described_variant *out) {
  snprintf(out->name, sizeof out->name, "%s", variant->name);
  snprintf(out->summary, sizeof out->summary, "%s", variant->summary);
  variant_limits(variant, out->limits);
  out->runs_on = variant->runs_on;
  out->runs_anywhere = variant->runs_anywhere;
  out->math = variant->math;
  out->takes = variant->takes;
  for (out->tunable_count = 0; out->tunable_count < variant_tunable_count(variant); ++out->tunable_count) {
    const struct attn_tunable *from = &variant->tunables[out->tunable_count];
    struct described_tunable *to = &out->tunable[out->tunable_count];
    *to = (struct described_tunable){.min = from->min, .max = from->max, .default_value = from->default_value};
    snprintf(to->name, sizeof to->name, "%s", from->name);
    snprintf(to->help, sizeof to->help, "%s", from->help);
  }
}

char *load_describe(size_t first, const char *left) {
  OWNED(owned_free) struct description *description = calloc(1, sizeof *description);
  if (description == NULL) return NULL;
  snprintf(description->left, sizeof description->left, "%s", left);
  for (size_t i = first; i < variant_count() && description->count < ATTN_PLUGIN_VARIANTS_MAX; ++i)
    describe(variant_at(i), &description->variant[description->count++]);
  return fields_to_line(description_fields, description);
}

/* ---- stand-ins ----------------------------------------------------------------------------------------------- */

/* A stand-in, and the texts that it points to. */
struct stand_in {
  struct attn_variant variant;
  struct attn_tunable tunables[ATTN_TUNABLES_MAX + 1];
  struct described_variant text;
};

/* The registry keeps pointers for the life of the process. */
static struct stand_in stand_ins[ATTN_PLUGIN_VARIANTS_MAX];
static size_t stand_in_count;

static void make_stand_in(const struct described_variant *from, struct stand_in *out) {
  out->text = *from;
  out->variant = (struct attn_variant){.name = out->text.name,
                                       .summary = out->text.summary,
                                       .limits = out->text.limits,
                                       .runs_on = (enum device_kind)from->runs_on,
                                       .runs_anywhere = from->runs_anywhere,
                                       .math = (enum attn_math)from->math,
                                       .takes = from->takes,
                                       .tunables = from->tunable_count > 0 ? out->tunables : NULL};
  for (uint32_t i = 0; i < from->tunable_count; ++i) {
    const struct described_tunable *tunable = &out->text.tunable[i];
    out->tunables[i] = (struct attn_tunable){.name = tunable->name,
                                             .min = (int32_t)tunable->min,
                                             .max = (int32_t)tunable->max,
                                             .default_value = (int32_t)tunable->default_value,
                                             .help = tunable->help};
  }
}

static struct status add_variant(const char *path, const struct described_variant *described, bool is_apart) {
  if (stand_in_count == ATTN_PLUGIN_VARIANTS_MAX)
    return status_make(STATUS_USAGE, "--load %s: more than %d variants would be loaded; load fewer objects", path,
                       ATTN_PLUGIN_VARIANTS_MAX);
  struct stand_in *stand_in = &stand_ins[stand_in_count];
  make_stand_in(described, stand_in);
  if (!variant_add(&stand_in->variant))
    return status_make(STATUS_USAGE,
                       "--load %s: there is a variant %s already, from another object; rename it in one", path,
                       described->name);
  ++stand_in_count;
  if (is_apart) supervise_keep_apart(&stand_in->variant);
  return status_ok();
}

static struct status take_description(const char *path, const char *line) {
  OWNED(owned_free) struct description *description = calloc(1, sizeof *description);
  if (description == NULL) return status_make(STATUS_MEMORY, "--load %s: no memory for its variants", path);
  const struct status status = fields_from_line(path, line, strlen(line), description_fields, description);
  if (status_failed(&status)) return status_make(STATUS_INTERNAL, "--load %s: its description cannot be read", path);
  for (uint32_t i = 0; i < description->count; ++i)
    TRY(add_variant(path, &description->variant[i], description->left[0] != '\0' || callable_spec_is(path)));
  return status_ok();
}

/* ---- objects ------------------------------------------------------------------------------------------------- */

static struct status load_object(const char *given) {
  OWNED(owned_free) char *line = NULL;
  char path[PATH_MAX]; /* whole: the dynamic linker looks for a name without a slash elsewhere */
  if (callable_spec_is(given)) {
    snprintf(path, sizeof path, "%s", given);
  } else if (realpath(given, path) == NULL) {
    return status_make(STATUS_USAGE,
                       "--load %s: %s; name the shared object that you built, a kernel's manifest, or a Python "
                       "function, FILE.py:FUNCTION",
                       given, strerror(errno));
  }
  TRY(supervise_load(path, &line));
  return take_description(path, line);
}

struct status load_stand_ins(const char *const *paths, size_t count) {
  for (size_t i = 0; i < count; ++i) TRY(load_object(paths[i]));
  return status_ok();
}
