#define NAME "wild_pointer"
#define VARIANTS \
  { (const struct attn_variant *)8 }
#include "tests/plugins/plugin.h"
