/* The locale of a thread. */
#include "cli/base/units.h"

#include <locale.h>

__attribute__((constructor)) void decimal_start(void) { uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0)); }
