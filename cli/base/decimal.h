/* Doubles as the shortest decimal text that reads back to them, without the C library's detours over big numbers and
 * locales: reports hold hundreds of numbers a row. */
#ifndef ATTNBENCH_CLI_BASE_DECIMAL_H
#define ATTNBENCH_CLI_BASE_DECIMAL_H

#include <stdbool.h>

enum { DECIMAL_TEXT_MAX = 32 };

/* What printf's %.15g, %.16g or %.17g writes, whichever is the first to read back to the finite value. False, and
 * nothing is written, for what the arithmetic here does not hold: very large and very small values. */
bool decimal_format(double value, char out[DECIMAL_TEXT_MAX]);

#endif
