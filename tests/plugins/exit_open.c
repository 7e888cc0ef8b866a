#define NAME "exit_open"
#define HOOKS \
  __attribute__((constructor)) static void opened(void) { exit(0); }
#include "tests/plugins/plugin.h"
