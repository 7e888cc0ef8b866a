/* Names that --variants takes for several variants at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* GROUP(name, who is in it) */
#define VARIANT_GROUP_MAP(X)                                                 \
  X(all, "every variant with a kernel of its own, so not auto")              \
  X(ours, "what came with attnbench and is no vendor's library")             \
  X(ladder, "the kernels that add one idea after the other")                 \
  X(specimens, "kernels that are slow for one known reason, to be compared") \
  X(loaded, "what --load brought")

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
