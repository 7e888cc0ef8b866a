/* The list of variants: those of variants.def, then those that were loaded. */
#include <string.h>

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

static const struct {
  const char *name;
  uint32_t bytes;
} dtypes[ATTN_DTYPE_COUNT] = {
    [ATTN_F16] = {"f16", 2},
    [ATTN_BF16] = {"bf16", 2},
    [ATTN_F32] = {"f32", 4},
};

const char *attn_dtype_name(enum attn_dtype dtype) { return dtypes[dtype].name; }

const char *attn_cover_name(uint32_t bit) {
  static const char *const names[] = {"B", "H", "Q", "split", "D", "?", "Hkv"};
  return bit < sizeof names / sizeof *names ? names[bit] : NULL;
}

uint32_t attn_dtype_bytes(enum attn_dtype dtype) { return dtypes[dtype].bytes; }

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
  return dtype == ATTN_F32 ? ATTN_MATH_FP32 : ATTN_MATH_TENSOR;
}

const char *variant_supports(const struct attn_variant *variant, const struct attn_shape *shape,
                             const struct attn_tuning *tuning, const struct device_info *device) {
  if (shape->lse && !variant->writes_lse) return "lse must be false: it does not write the log-sum-exp of its rows";
  return variant->supports(shape, tuning, device);
}

void variant_plan(const struct attn_variant *variant, const struct attn_shape *shape,
                  const struct attn_tuning *tuning, const struct device_info *device, struct attn_plan *plan) {
  memset(plan, 0, sizeof *plan);
  for (size_t pass = 0; pass < ATTN_PASSES_MAX; ++pass) {
    for (size_t axis = 0; axis < 3; ++axis) plan->pass[pass].cluster[axis] = 1;
  }
  plan->tuning = *tuning;
  variant->plan(shape, tuning, device, plan);
}
