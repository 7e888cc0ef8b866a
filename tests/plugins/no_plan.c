#define NAME "no_plan"
#define PLAN NULL
#include "tests/plugins/plugin.h"
