/* Integer formulas over named values, as files write them: "ceil_div(Sq, BLOCK_M) * 2". 64-bit, every step checked.
 *
 *   a || b   a && b   a == b != < <= > >=   a + b - c   a * b / c % d   !a   -a   (a)
 *   min(a, b)   max(a, b)   ceil_div(a, b)
 *
 * as in C, but both sides of || and && are computed. Division rounds towards zero; ceil_div, of a >= 0 and b > 0,
 * rounds up. Comparisons are 0 or 1. A formula is bounded in length, steps and nesting, so that any text is read in
 * constant space. */
#ifndef ATTNBENCH_CLI_BASE_EXPRESSION_H
#define ATTNBENCH_CLI_BASE_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  EXPRESSION_BYTES_MAX = 256,
  EXPRESSION_STEPS_MAX = 64,
  EXPRESSION_DEPTH_MAX = 16,
  EXPRESSION_PROBLEM_MAX = 192
};

/* One step of a stack machine. */
struct expression_step {
  uint32_t op;   /* internal to expression.c */
  int64_t value; /* a number, or the index of a name */
};

struct expression {
  uint32_t count;
  struct expression_step step[EXPRESSION_STEPS_MAX];
};

/* Reads a formula over the NULL-ended `names`. False: problem says what is wrong with it and what to do. */
bool expression_read(const char *text, const char *const *names, struct expression *out,
                     char problem[EXPRESSION_PROBLEM_MAX]);
/* A number as a formula. */
struct expression expression_number(int64_t value);
/* Its value where the names have these. NULL, or why there is none: a static text such as "divides by zero". */
const char *expression_value(const struct expression *, const int64_t *values, int64_t *out);

#endif
