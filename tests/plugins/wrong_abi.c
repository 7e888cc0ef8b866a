#define ABI 99
#include "tests/plugins/plugin.h"
