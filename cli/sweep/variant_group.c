/* The members of the groups of variants. */
#include "cli/sweep/variant_spec.h"

#include <string.h>

static const char *const names[VARIANT_GROUP_COUNT] = {
#define VARIANT_GROUP_NAME(name, help) #name,
    VARIANT_GROUP_MAP(VARIANT_GROUP_NAME)
#undef VARIANT_GROUP_NAME
};

/* The members of groups that do not follow from a property of a variant. */
static const struct {
  enum variant_group group;
  const char *variant;
} members[] = {
#define MEMBER(group, variant) {VARIANT_GROUP_##group, #variant},
#include "kernels/groups.def"
#undef MEMBER
};

const char *variant_group_name(size_t index) { return index < VARIANT_GROUP_COUNT ? names[index] : NULL; }

enum variant_group variant_group_find(const char *name) {
  enum variant_group group = 0;
  while (group < VARIANT_GROUP_COUNT && strcmp(names[group], name) != 0) ++group;
  return group;
}

static bool is_member(enum variant_group group, const char *name) {
  for (size_t i = 0; i < sizeof members / sizeof *members; ++i) {
    if (members[i].group == group && strcmp(members[i].variant, name) == 0) return true;
  }
  return false;
}

bool variant_group_has(enum variant_group group, size_t index) {
  const struct attn_variant *variant = variant_at(index);
  const bool is_built_in = index < variant_built_in_count();
  switch (group) {
    case VARIANT_GROUP_all: return variant->picks == NULL;
    case VARIANT_GROUP_ours: return is_built_in && variant->vendor == NULL && variant->picks == NULL;
    case VARIANT_GROUP_ladder:
    case VARIANT_GROUP_specimens: return is_built_in && is_member(group, variant->name);
    case VARIANT_GROUP_loaded: return !is_built_in;
    case VARIANT_GROUP_COUNT: break;
  }
  return false;
}
