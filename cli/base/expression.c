/* Reads formulas into steps of a stack machine, and computes them without overflow. */
#include "cli/base/expression.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum op {
  OP_NUMBER,
  OP_NAME,
  OP_NEGATE,
  OP_NOT,
  OP_OR,
  OP_AND,
  OP_EQUAL,
  OP_UNEQUAL,
  OP_AT_MOST,
  OP_AT_LEAST,
  OP_LESS,
  OP_MORE,
  OP_ADD,
  OP_SUBTRACT,
  OP_MULTIPLY,
  OP_DIVIDE,
  OP_REMAINDER,
  OP_MIN,
  OP_MAX,
  OP_CEIL_DIV
};

/* Operators between two operands; the higher the level, the tighter they bind. Longer ones stand before those that
 * they begin with. */
static const struct {
  const char *text;
  enum op op;
  unsigned level;
} between[] = {{"||", OP_OR, 0},      {"&&", OP_AND, 1},      {"==", OP_EQUAL, 2},   {"!=", OP_UNEQUAL, 2},
               {"<=", OP_AT_MOST, 3}, {">=", OP_AT_LEAST, 3}, {"<", OP_LESS, 3},     {">", OP_MORE, 3},
               {"+", OP_ADD, 4},      {"-", OP_SUBTRACT, 4},  {"*", OP_MULTIPLY, 5}, {"/", OP_DIVIDE, 5},
               {"%", OP_REMAINDER, 5}};

static const struct {
  const char *name;
  enum op op;
} functions[] = {{"min", OP_MIN}, {"max", OP_MAX}, {"ceil_div", OP_CEIL_DIV}};

/* ---- reading ------------------------------------------------------------------------------------------------- */

struct reader {
  const char *text, *at;
  const char *const *names;
  struct expression *out;
  unsigned depth;
  char *problem;
};

static bool fail(struct reader *r, const char *what) {
  snprintf(r->problem, EXPRESSION_PROBLEM_MAX, "%s at \"%.24s\"", what, *r->at != '\0' ? r->at : "the end");
  return false;
}

static bool emit(struct reader *r, enum op op, int64_t value) {
  if (r->out->count == EXPRESSION_STEPS_MAX) {
    snprintf(r->problem, EXPRESSION_PROBLEM_MAX, "has more than %d operands and operators; make it shorter",
             EXPRESSION_STEPS_MAX);
    return false;
  }
  r->out->step[r->out->count++] = (struct expression_step){.op = op, .value = value};
  return true;
}

static void skip_spaces(struct reader *r) {
  while (*r->at == ' ') ++r->at;
}

static bool take(struct reader *r, char wanted) {
  skip_spaces(r);
  if (*r->at != wanted) return false;
  ++r->at;
  return true;
}

static bool read_level(struct reader *r, unsigned level);
static bool read_nested(struct reader *r, bool (*read)(struct reader *));

static bool read_number(struct reader *r) {
  int64_t value = 0;
  for (; isdigit((unsigned char)*r->at); ++r->at) {
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *r->at - '0', &value))
      return fail(r, "has a number of more than 64 bits");
  }
  return emit(r, OP_NUMBER, value);
}

static bool read_call(struct reader *r, enum op op) {
  if (!take(r, '(')) return fail(r, "wants \"(a, b)\" behind the function");
  if (!read_level(r, 0)) return false;
  if (!take(r, ',')) return fail(r, "wants a comma");
  if (!read_level(r, 0)) return false;
  return take(r, ')') ? emit(r, op, 0) : fail(r, "wants a closing parenthesis");
}

static bool is_word(const char *word, const char *text, size_t length) {
  return strlen(word) == length && memcmp(word, text, length) == 0;
}

static bool read_word(struct reader *r) {
  size_t length = 0;
  while (isalnum((unsigned char)r->at[length]) || r->at[length] == '_') ++length;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    if (!is_word(functions[i].name, r->at, length)) continue;
    r->at += length;
    return read_call(r, functions[i].op);
  }
  for (int64_t i = 0; r->names[i] != NULL; ++i) {
    if (!is_word(r->names[i], r->at, length)) continue;
    r->at += length;
    return emit(r, OP_NAME, i);
  }
  snprintf(r->problem, EXPRESSION_PROBLEM_MAX,
           "names \"%.*s\", which is no value here; the names are %s, %s, ..., and \"constants\" may define more",
           length > 24 ? 24 : (int)length, r->at, r->names[0], r->names[0] != NULL ? r->names[1] : "");
  return false;
}

/* Behind any number of signs. */
static bool read_operand(struct reader *r) {
  if (take(r, '-')) return read_nested(r, read_operand) && emit(r, OP_NEGATE, 0);
  if (take(r, '!')) return read_nested(r, read_operand) && emit(r, OP_NOT, 0);
  if (take(r, '(')) return read_level(r, 0) && (take(r, ')') || fail(r, "wants a closing parenthesis"));
  if (isdigit((unsigned char)*r->at)) return read_number(r);
  if (isalpha((unsigned char)*r->at) || *r->at == '_') return read_word(r);
  return fail(r, "wants a number, a name or a parenthesis");
}

/* Every recursion comes through here or through a sign, and both are counted. */
static bool read_nested(struct reader *r, bool (*read)(struct reader *)) {
  if (++r->depth > EXPRESSION_DEPTH_MAX) {
    snprintf(r->problem, EXPRESSION_PROBLEM_MAX, "is nested more than %d deep; write it flatter",
             EXPRESSION_DEPTH_MAX);
    return false;
  }
  const bool ok = read(r);
  --r->depth;
  return ok;
}

/* The operator of this level that comes next; false: none does. */
static bool take_operator(struct reader *r, unsigned level, enum op *op) {
  skip_spaces(r);
  for (size_t i = 0; i < sizeof between / sizeof *between; ++i) {
    const size_t length = strlen(between[i].text);
    if (strncmp(r->at, between[i].text, length) != 0) continue;
    if (between[i].level != level) return false;
    r->at += length;
    *op = between[i].op;
    return true;
  }
  return false;
}

static bool read_level(struct reader *r, unsigned level) {
  enum { LEVELS = 6 };
  enum op op;
  if (level == LEVELS) return read_nested(r, read_operand);
  if (!read_level(r, level + 1)) return false;
  while (take_operator(r, level, &op)) {
    if (!read_level(r, level + 1) || !emit(r, op, 0)) return false;
  }
  return true;
}

bool expression_read(const char *text, const char *const *names, struct expression *out,
                     char problem[EXPRESSION_PROBLEM_MAX]) {
  struct reader reader = {.text = text, .at = text, .names = names, .out = out, .problem = problem};
  *out = (struct expression){.count = 0};
  if (strlen(text) > EXPRESSION_BYTES_MAX) {
    snprintf(problem, EXPRESSION_PROBLEM_MAX, "has more than %d characters; make it shorter", EXPRESSION_BYTES_MAX);
    return false;
  }
  if (!read_level(&reader, 0)) return false;
  skip_spaces(&reader);
  return *reader.at == '\0' || fail(&reader, "has something behind its end, or no operator,");
}

struct expression expression_number(int64_t value) {
  return (struct expression){.count = 1, .step = {{.op = OP_NUMBER, .value = value}}};
}

/* ---- computing ----------------------------------------------------------------------------------------------- */

static const char overflows[] = "does not fit in 64 bits";

static const char *divide(enum op op, int64_t a, int64_t b, int64_t *out) {
  if (b == 0) return "divides by zero";
  if (a == INT64_MIN && b == -1) return overflows;
  if (op == OP_CEIL_DIV && (a < 0 || b < 0)) return "has a ceil_div of a negative number";
  *out = op == OP_REMAINDER ? a % b : a / b;
  if (op == OP_CEIL_DIV && a % b != 0) ++*out;
  return NULL;
}

static const char *apply(enum op op, int64_t a, int64_t b, int64_t *out) {
  switch (op) {
    case OP_OR: *out = a != 0 || b != 0; break;
    case OP_AND: *out = a != 0 && b != 0; break;
    case OP_EQUAL: *out = a == b; break;
    case OP_UNEQUAL: *out = a != b; break;
    case OP_AT_MOST: *out = a <= b; break;
    case OP_AT_LEAST: *out = a >= b; break;
    case OP_LESS: *out = a < b; break;
    case OP_MORE: *out = a > b; break;
    case OP_MIN: *out = a < b ? a : b; break;
    case OP_MAX: *out = a > b ? a : b; break;
    case OP_ADD: return __builtin_add_overflow(a, b, out) ? overflows : NULL;
    case OP_SUBTRACT: return __builtin_sub_overflow(a, b, out) ? overflows : NULL;
    case OP_MULTIPLY: return __builtin_mul_overflow(a, b, out) ? overflows : NULL;
    default: return divide(op, a, b, out);
  }
  return NULL;
}

const char *expression_value(const struct expression *expression, const int64_t *values, int64_t *out) {
  int64_t stack[EXPRESSION_STEPS_MAX] = {0};
  size_t top = 0;
  for (uint32_t i = 0; i < expression->count; ++i) {
    const struct expression_step *step = &expression->step[i];
    const enum op op = (enum op)step->op;
    const char *problem = NULL;
    if (op == OP_NUMBER || op == OP_NAME) {
      stack[top++] = op == OP_NUMBER ? step->value : values[step->value];
    } else if (op == OP_NOT) {
      stack[top - 1] = stack[top - 1] == 0;
    } else if (op == OP_NEGATE) {
      problem = apply(OP_SUBTRACT, 0, stack[top - 1], &stack[top - 1]);
    } else {
      --top;
      problem = apply(op, stack[top - 1], stack[top], &stack[top - 1]);
    }
    if (problem != NULL) return problem;
  }
  *out = stack[0];
  return NULL;
}
