#define NAME "hang_open"
#define HOOKS                                             \
  __attribute__((constructor)) static void opened(void) { \
    for (volatile int i = 0; i == 0;) continue;           \
  }
#include "tests/plugins/plugin.h"
