#define NAME "crash_open"
#define HOOKS \
  __attribute__((constructor)) static void opened(void) { raise(SIGSEGV); }
#include "tests/plugins/plugin.h"
