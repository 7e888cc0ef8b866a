#define NAME "prints"
#define HOOKS                                             \
  __attribute__((constructor)) static void opened(void) { \
    puts("noise");                                        \
    fflush(stdout);                                       \
  }
#include "tests/plugins/plugin.h"
