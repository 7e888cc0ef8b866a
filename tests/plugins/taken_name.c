#define NAME "cpu_flash"
#include "tests/plugins/plugin.h"
