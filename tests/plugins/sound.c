#include "tests/plugins/plugin.h"
