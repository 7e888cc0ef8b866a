/* Integer formulas over named values, as files write them: "ceil_div(Sq, BLOCK_M) * 2". 64-bit, every step checked.
 *
 *   a || b   a && b   a == b != < <= > >=   a + b - c   a * b / c % d   !a   -a   (a)
 *   min(a, b)   max(a, b)   ceil_div(a, b)
 *
 * as in C, but both sides of || and && are computed. Division rounds towards zero; ceil_div, of a >= 0 and b > 0,
 * rounds up. Comparisons are 0 or 1. A formula is bounded in length and nesting, so that any text is read in constant
 * space. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { EXPRESSION_BYTES_MAX = 256, EXPRESSION_DEPTH_MAX = 16, EXPRESSION_PROBLEM_MAX = 192 };

/* A formula whose syntax was checked. An empty text has the value 0. */
struct expression {
  char text[EXPRESSION_BYTES_MAX + 1];
  const char *const *names; /* NULL-ended, the caller's */
};

/* Reads a formula over the NULL-ended `names`, which must outlive it. False: problem says what is wrong with it and
 * what to do. */
bool expression_read(const char *text, const char *const *names, struct expression *out,
                     char problem[EXPRESSION_PROBLEM_MAX]);
/* A formula that is this number. */
struct expression expression_number(int64_t value);
/* Computes the formula; values[i] is the value of names[i]. Returns NULL, or why there is no value: a static text
 * such as "divides by zero". */
const char *expression_value(const struct expression *, const int64_t *values, int64_t *out);
