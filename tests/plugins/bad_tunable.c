#define NAME     "bad_tunable"
#define TUNABLES tunables
#define HOOKS    static const struct attn_tunable tunables[] = {{"n", 1, 4, 9, "out of range"}, {.name = NULL}};
#include "tests/plugins/plugin.h"
