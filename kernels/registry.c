/* The list of variants: those of variants.def, then those that were loaded. */
#include <stdio.h>
#include <string.h>

#include "kernels/problem/axes.h"
#include "kernels/variant.h"

#define VARIANT(name) extern const struct attn_variant attn_variant_##name;
#include "kernels/variants.def"
#ifdef ATTN_EXTRA_VARIANTS
#include ATTN_EXTRA_VARIANTS
#endif
#undef VARIANT

static const struct attn_variant *const registry[] = {
#define VARIANT(name) &attn_variant_##name,
#include "kernels/variants.def"
#ifdef ATTN_EXTRA_VARIANTS
#include ATTN_EXTRA_VARIANTS
#endif
#undef VARIANT
};

enum { REGISTRY_COUNT = sizeof registry / sizeof registry[0] };

static const struct attn_variant *added[ATTN_VARIANTS_ADDED_MAX];
static size_t added_count;

const char *attn_cover_name(uint32_t bit) {
  static const char *const names[] = {"B", "H", "Q", "split", "D", "?", "Hkv"};
  return bit < sizeof names / sizeof *names ? names[bit] : NULL;
}

bool variant_add(const struct attn_variant *variant) {
  if (added_count == ATTN_VARIANTS_ADDED_MAX || variant_find(variant->name) != NULL) return false;
  added[added_count++] = variant;
  return true;
}

size_t variant_built_in_count(void) { return REGISTRY_COUNT; }
size_t variant_count(void) { return REGISTRY_COUNT + added_count; }

bool variant_is_added(const struct attn_variant *variant) {
  for (size_t i = 0; i < added_count; ++i) {
    if (added[i] == variant) return true;
  }
  return false;
}

const struct attn_variant *variant_at(size_t index) {
  if (index < REGISTRY_COUNT) return registry[index];
  return index < variant_count() ? added[index - REGISTRY_COUNT] : NULL;
}

const struct attn_variant *variant_find(const char *name) {
  for (size_t i = 0; i < variant_count(); ++i) {
    const struct attn_variant *variant = variant_at(i);
    if (strcmp(variant->name, name) == 0) return variant;
  }
  return NULL;
}

size_t variant_tunable_count(const struct attn_variant *variant) {
  size_t count = 0;
  if (!variant->tunables) return 0;
  while (count < ATTN_TUNABLES_MAX && variant->tunables[count].name) ++count;
  return count;
}

struct attn_tuning variant_default_tuning(const struct attn_variant *variant) {
  struct attn_tuning tuning = {{0}};
  const size_t count = variant_tunable_count(variant);
  for (size_t i = 0; i < count; ++i) tuning.value[i] = variant->tunables[i].default_value;
  return tuning;
}

enum attn_math variant_math(const struct attn_variant *variant, enum attn_dtype dtype) {
  if (variant->math != ATTN_MATH_FP32_OR_TENSOR) return variant->math;
  switch (dtype) {
    case ATTN_F32: return ATTN_MATH_FP32;
    case ATTN_F16:
    case ATTN_BF16:
    case ATTN_E4M3: break;
  }
  return ATTN_MATH_TENSOR;
}

/* ---- what variants take -------------------------------------------------------------------------------------- */

/* "64, 128 or 256", "256 to 8192 and a multiple of 8", "at least 256", "at most 128"; "" for any. */
static void write_dims(const struct attn_dims *dims, char *out, size_t size) {
  const bool has_least = dims->least > 1, has_most = dims->most > 0;
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < sizeof dims->one_of / sizeof *dims->one_of && dims->one_of[i] != 0 && used < size; ++i) {
    const bool is_last = i + 1 == sizeof dims->one_of / sizeof *dims->one_of || dims->one_of[i + 1] == 0;
    used += (size_t)snprintf(out + used, size - used, "%s%u", i == 0 ? "" : is_last ? " or " : ", ", dims->one_of[i]);
  }
  if (has_least) used += (size_t)snprintf(out + used, size - used, "%s%u", has_most ? "" : "at least ", dims->least);
  if (has_most)
    used += (size_t)snprintf(out + used, size - used, "%s%u", has_least ? " to " : "at most ", dims->most);
  if (dims->multiple > 1)
    snprintf(out + used, size - used, "%sa multiple of %u", used > 0 ? " and " : "", dims->multiple);
}

static bool takes_dim(const struct attn_dims *dims, uint32_t D) {
  for (size_t i = 0; i < sizeof dims->one_of / sizeof *dims->one_of; ++i) {
    if (dims->one_of[i] == D) return true;
  }
  return dims->one_of[0] == 0 && D >= dims->least && (dims->most == 0 || D <= dims->most) &&
         (dims->multiple == 0 || D % dims->multiple == 0);
}

static const char *refusal(const char *what, const char *wanted, const char *why) {
  static char text[256];
  snprintf(text, sizeof text, "%s must be %s%s%s", what, wanted, why != NULL ? ": " : "", why != NULL ? why : "");
  return text;
}

const char *variant_supports(const struct attn_variant *variant, const struct attn_problem *problem,
                             const struct attn_tuning *tuning, const struct device_info *device) {
  char wanted[ATTN_DTYPE_LIST_MAX];
  const char *why = axes_refusal(problem, variant->takes);
  if (why != NULL) return why;
  /* What declares no types was written for those that come without scales; what picks another declares none. */
  const unsigned undeclared = variant->picks != NULL ? ATTN_DTYPES_ALL : ATTN_DTYPES_FLOAT;
  const unsigned dtypes = variant->dtypes != 0 ? variant->dtypes : undeclared;
  if ((dtypes & ATTN_DTYPE_BIT(problem->dtype)) == 0) {
    attn_dtype_list(dtypes, "", " or ", wanted);
    return refusal("dtype", wanted, variant->dtypes_why);
  }
  for (unsigned role = ATTN_K; role <= ATTN_V; ++role) {
    if (takes_dim(&variant->dims, attn_columns(problem, (enum attn_role)role))) continue;
    write_dims(&variant->dims, wanted, sizeof wanted);
    return refusal(role == ATTN_K ? "D" : "Dv", wanted, variant->dims.why);
  }
  return variant->supports(problem, tuning, device);
}

void variant_limits(const struct attn_variant *variant, char out[ATTN_LIMITS_MAX]) {
  char dtypes[ATTN_DTYPE_LIST_MAX], dims[96];
  attn_dtype_list(variant->dtypes, "", ", ", dtypes);
  write_dims(&variant->dims, dims, sizeof dims);
  const bool has_dtypes = dtypes[0] != '\0', has_dims = dims[0] != '\0', has_more = variant->limits != NULL;
  snprintf(out, ATTN_LIMITS_MAX, "%s%s%s%s%s%s", dtypes, has_dtypes && (has_dims || has_more) ? "; " : "",
           has_dims ? "D " : "", dims, has_dims && has_more ? "; " : "", has_more ? variant->limits : "");
}

void variant_plan(const struct attn_variant *variant, const struct attn_problem *shape,
                  const struct attn_tuning *tuning, const struct device_info *device, struct attn_plan *plan) {
  memset(plan, 0, sizeof *plan);
  for (size_t pass = 0; pass < ATTN_PASSES_MAX; ++pass) {
    for (size_t axis = 0; axis < 3; ++axis) plan->pass[pass].cluster[axis] = 1;
  }
  plan->tuning = *tuning;
  variant->plan(shape, tuning, device, plan);
}
