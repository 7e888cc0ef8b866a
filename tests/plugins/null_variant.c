#define VARIANTS \
  { NULL }
#include "tests/plugins/plugin.h"
