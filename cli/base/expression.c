/* Reads formulas, and computes them without overflow while reading. */
#include "cli/base/expression.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum op {
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

/* Computes one operation. Returns NULL, or why there is no value. */
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
    case OP_DIVIDE:
    case OP_REMAINDER:
    case OP_CEIL_DIV: return divide(op, a, b, out);
  }
  return NULL;
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

struct reader {
  const char *at;
  const char *const *names;
  const int64_t *values; /* of the names; NULL: the text is only read, and nothing is computed */
  const char *why_not;   /* there is no value; NULL: there is one so far */
  unsigned depth;
  char *problem; /* with the text */
};

static bool fail(struct reader *r, const char *what) {
  snprintf(r->problem, EXPRESSION_PROBLEM_MAX, "%s at \"%.24s\"", what, *r->at != '\0' ? r->at : "the end");
  return false;
}

/* Replaces *a by the value of the operation. The reason of the first operation without a value is kept. */
static void compute(struct reader *r, enum op op, int64_t *a, int64_t b) {
  const int64_t left = *a;
  if (r->values != NULL && r->why_not == NULL) r->why_not = apply(op, left, b, a);
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

/* Each of these reads a part of the text; *out is its value where one is computed. */
static bool read_level(struct reader *r, unsigned level, int64_t *out);
static bool read_operand(struct reader *r, int64_t *out);

static bool read_number(struct reader *r, int64_t *out) {
  *out = 0;
  for (; isdigit((unsigned char)*r->at); ++r->at) {
    if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *r->at - '0', out))
      return fail(r, "has a number of more than 64 bits");
  }
  return true;
}

static bool read_call(struct reader *r, enum op op, int64_t *out) {
  int64_t second = 0;
  if (!take(r, '(')) return fail(r, "wants \"(a, b)\" behind the function");
  if (!read_level(r, 0, out)) return false;
  if (!take(r, ',')) return fail(r, "wants a comma");
  if (!read_level(r, 0, &second)) return false;
  if (!take(r, ')')) return fail(r, "wants a closing parenthesis");
  compute(r, op, out, second);
  return true;
}

static bool is_word(const char *word, const char *text, size_t length) {
  return strlen(word) == length && memcmp(word, text, length) == 0;
}

static bool read_word(struct reader *r, int64_t *out) {
  size_t length = 0;
  while (isalnum((unsigned char)r->at[length]) || r->at[length] == '_') ++length;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    if (!is_word(functions[i].name, r->at, length)) continue;
    r->at += length;
    return read_call(r, functions[i].op, out);
  }
  for (size_t i = 0; r->names[i] != NULL; ++i) {
    if (!is_word(r->names[i], r->at, length)) continue;
    r->at += length;
    *out = r->values != NULL ? r->values[i] : 0;
    return true;
  }
  snprintf(r->problem, EXPRESSION_PROBLEM_MAX,
           "names \"%.*s\", which is no value here; the names are %s, %s, ..., and \"constants\" may define more",
           length > 24 ? 24 : (int)length, r->at, r->names[0], r->names[0] != NULL ? r->names[1] : "");
  return false;
}

/* Every recursion comes through here or through a sign, and both are counted. */
static bool read_nested(struct reader *r, int64_t *out) {
  if (++r->depth > EXPRESSION_DEPTH_MAX) {
    snprintf(r->problem, EXPRESSION_PROBLEM_MAX, "is nested more than %d deep; write it flatter",
             EXPRESSION_DEPTH_MAX);
    return false;
  }
  const bool ok = read_operand(r, out);
  --r->depth;
  return ok;
}

/* Reads an operand after any number of signs. */
static bool read_operand(struct reader *r, int64_t *out) {
  const bool is_minus = take(r, '-');
  if (is_minus || take(r, '!')) {
    int64_t operand = 0;
    *out = 0;
    if (!read_nested(r, &operand)) return false;
    compute(r, is_minus ? OP_SUBTRACT : OP_EQUAL, out, operand);
    return true;
  }
  if (take(r, '(')) return read_level(r, 0, out) && (take(r, ')') || fail(r, "wants a closing parenthesis"));
  if (isdigit((unsigned char)*r->at)) return read_number(r, out);
  if (isalpha((unsigned char)*r->at) || *r->at == '_') return read_word(r, out);
  return fail(r, "wants a number, a name or a parenthesis");
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

static bool read_level(struct reader *r, unsigned level, int64_t *out) {
  enum { LEVELS = 6 };
  enum op op;
  if (level == LEVELS) return read_nested(r, out);
  if (!read_level(r, level + 1, out)) return false;
  while (take_operator(r, level, &op)) {
    int64_t right = 0;
    if (!read_level(r, level + 1, &right)) return false;
    compute(r, op, out, right);
  }
  return true;
}

bool expression_read(const char *text, const char *const *names, struct expression *out,
                     char problem[EXPRESSION_PROBLEM_MAX]) {
  struct reader reader = {.at = text, .names = names, .problem = problem};
  int64_t unused;
  *out = (struct expression){.names = names};
  if (strlen(text) > EXPRESSION_BYTES_MAX) {
    snprintf(problem, EXPRESSION_PROBLEM_MAX, "has more than %d characters; make it shorter", EXPRESSION_BYTES_MAX);
    return false;
  }
  if (!read_level(&reader, 0, &unused)) return false;
  skip_spaces(&reader);
  if (*reader.at != '\0') return fail(&reader, "has something behind its end, or no operator,");
  memcpy(out->text, text, strlen(text) + 1);
  return true;
}

struct expression expression_number(int64_t value) {
  static const char *const no_names[] = {NULL};
  struct expression out = {.names = no_names};
  snprintf(out.text, sizeof out.text, "%" PRId64, value);
  return out;
}

const char *expression_value(const struct expression *expression, const int64_t *values, int64_t *out) {
  char problem[EXPRESSION_PROBLEM_MAX];
  struct reader reader = {.at = expression->text, .names = expression->names, .values = values, .problem = problem};
  int64_t value = 0;
  if (expression->text[0] != '\0') read_level(&reader, 0, &value);
  if (reader.why_not == NULL) *out = value;
  return reader.why_not;
}
