#define NAME "Bad-Name"
#include "tests/plugins/plugin.h"
