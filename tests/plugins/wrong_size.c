#define EXTRA_BYTES 8
#include "tests/plugins/plugin.h"
