#define VARIANTS \
  { &variant, &variant }
#include "tests/plugins/plugin.h"
