/* The table of the text report that shows how times scale with B*H. */
#pragma once

#include <stdio.h>

#include "cli/report/report.h"

/* Prints a heading, a table and a paragraph for each group of rows, and nothing without such groups. Fails only for
 * lack of memory. */
struct status scaling_text_print(FILE *, const struct report *);
