/* Loads users' shared objects in a process of their own and registers what they describe. */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/fields.h"
#include "cli/measure/supervise.h"
#include "cli/sweep/callable_spec.h"

/* ---- descriptions -------------------------------------------------------------------------------------------- */

/* A variant and what it points to. */
struct described_variant {
  struct attn_variant variant;
  char limits[ATTN_LIMITS_MAX];
  uint32_t tunable_count;
  struct attn_tunable tunable[ATTN_TUNABLES_MAX + 1];
};

struct description {
  struct description *next;
  const char *given;          /* as --load has it */
  struct json_doc doc;        /* that it was read from, and whose texts it points to */
  char left[RECORD_LEFT_MAX]; /* what the object's constructors changed, or "" */
  uint32_t count;
  struct described_variant variant[ATTN_PLUGIN_VARIANTS_MAX];
};

static const struct field variant_fields[] = {
    FIELD("name", NAME, struct described_variant, variant.name, .capacity = ATTN_PLUGIN_NAME_MAX + 1,
          .required = true),
    FIELD("summary", NAME, struct described_variant, variant.summary, .capacity = ATTN_PLUGIN_TEXT_MAX + 1,
          .required = true),
    FIELD("limits", NAME, struct described_variant, variant.limits, .capacity = ATTN_LIMITS_MAX, .required = true),
    FIELD("runs_on", U32, struct described_variant, variant.runs_on, .max = DEVICE_CUDA),
    FIELD("math", U32, struct described_variant, variant.math, .max = ATTN_MATH_FP32_OR_TENSOR),
    FIELD("runs_anywhere", BOOL, struct described_variant, variant.runs_anywhere, .left_out = true),
    FIELD("takes", U32, struct described_variant, variant.takes),
    FIELD("tunables", ARRAY, struct described_variant, tunable, .fields = variant_tunable_fields,
          .count_offset = offsetof(struct described_variant, tunable_count), .capacity = ATTN_TUNABLES_MAX,
          .stride = sizeof(struct attn_tunable)),
    {0},
};

static const struct field description_fields[] = {
    FIELD_LABEL_OF("left", struct description, left, .left_out = true),
    FIELD_ARRAY_OF("variants", struct description, variant, count, variant_fields),
    {0},
};

static void describe(const struct attn_variant *variant, struct described_variant *out) {
  out->variant = *variant;
  out->variant.limits = out->limits;
  variant_limits(variant, out->limits);
  out->tunable_count = (uint32_t)variant_tunable_count(variant);
  for (uint32_t i = 0; i < out->tunable_count; ++i) out->tunable[i] = variant->tunables[i];
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

/* The registry keeps pointers into them for the life of the process. */
static struct description *descriptions;

static struct status add_variant(const char *path, struct described_variant *described, bool is_apart) {
  struct attn_variant *variant = &described->variant;
  if (variant_count() - variant_built_in_count() == ATTN_PLUGIN_VARIANTS_MAX)
    return status_make(STATUS_USAGE, "--load %s: more than %d variants would be loaded; load fewer objects", path,
                       ATTN_PLUGIN_VARIANTS_MAX);
  if (described->tunable_count > 0) variant->tunables = described->tunable;
  if (!variant_add(variant))
    return status_make(STATUS_USAGE,
                       "--load %s: there is a variant %s already, from another object; rename it in one", path,
                       variant->name);
  if (is_apart) supervise_keep_apart(variant);
  return status_ok();
}

static struct status take_description(const char *given, const char *path, const char *line) {
  struct description *description = calloc(1, sizeof *description);
  if (description == NULL) return status_make(STATUS_MEMORY, "--load %s: no memory for its variants", path);
  description->given = given;
  description->next = descriptions;
  descriptions = description;
  struct status status = json_parse(path, line, strlen(line), &description->doc);
  if (!status_failed(&status))
    status = fields_read(&description->doc, description->doc.root, description_fields, description);
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
  return take_description(given, path, line);
}

struct status load_stand_ins(const char *const *paths, size_t count) {
  for (size_t i = 0; i < count; ++i) TRY(load_object(paths[i]));
  return status_ok();
}

const char *load_origin(const struct attn_variant *variant) {
  for (const struct description *description = descriptions; description != NULL; description = description->next) {
    for (uint32_t i = 0; i < description->count; ++i) {
      if (&description->variant[i].variant == variant) return description->given;
    }
  }
  return NULL;
}
