/* Formulas: what they mean, what is refused, and that nothing overflows. */
#include <stdio.h>
#include <string.h>

#include "cli/base/expression.h"
#include "tests/unit.h"

static const char *const names[] = {"Sq", "Skv", "BLOCK_M", "max_rows", NULL};
static const int64_t values[] = {1000, 4096, 128, INT64_MAX};

static void assert_value(const char *text, int64_t expected) {
  struct expression expression;
  char problem[EXPRESSION_PROBLEM_MAX];
  int64_t value = -77;
  if (!expression_read(text, names, &expression, problem)) fail_msg("%s: %s", text, problem);
  const char *why = expression_value(&expression, values, &value);
  if (why != NULL) fail_msg("%s: %s", text, why);
  if (value != expected) fail_msg("%s is %lld", text, (long long)value);
}

TEST(formulas_are_those_of_c) {
  static const struct {
    const char *text;
    int64_t value;
  } rows[] = {{"7", 7},
              {" 1 + 2 * 3 ", 7},
              {"(1+2)*3", 9},
              {"20 - 5 - 5", 10},
              {"100 / 7 / 2", 7},
              {"-7 / 2", -3},
              {"-7 % 3", -1},
              {"2 - -3", 5},
              {"!0 + !5", 1},
              {"- - 3", 3},
              {"ceil_div(Sq, BLOCK_M)", 8},
              {"ceil_div(Sq,BLOCK_M)*BLOCK_M", 1024},
              {"ceil_div(0, 5)", 0},
              {"min(Sq, Skv) + max(1, 2)", 1002},
              {"min(max(1, 5), 3)", 3},
              {"max_rows", INT64_MAX},
              {"ceil_div(max_rows, 2)", INT64_MAX / 2 + 1},
              {"Sq % 8 == 0 && Skv > Sq", 1},
              {"Sq < 10 || Skv != 4096", 0},
              {"1 || 0 && 0", 1},
              {"1 == 2 < 3", 1},
              {"3 <= 3", 1},
              {"3 >= 4", 0},
              {"9223372036854775807", INT64_MAX}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) assert_value(rows[i].text, rows[i].value);
}

TEST(what_has_no_value_says_why) {
  static const struct {
    const char *text, *why;
  } rows[] = {{"1 / 0", "divides by zero"},          {"1 % (Sq - 1000)", "divides by zero"},
              {"ceil_div(4, 0)", "divides by zero"}, {"ceil_div(-4, 3)", "negative"},
              {"ceil_div(4, -3)", "negative"},       {"max_rows + 1", "64 bits"},
              {"-max_rows - 2", "64 bits"},          {"max_rows * 2", "64 bits"},
              {"(-max_rows - 1) / -1", "64 bits"},   {"(-max_rows - 1) % -1", "64 bits"},
              {"-(-max_rows - 1)", "64 bits"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    struct expression expression;
    char problem[EXPRESSION_PROBLEM_MAX];
    int64_t value;
    assert_true(expression_read(rows[i].text, names, &expression, problem));
    const char *why = expression_value(&expression, values, &value);
    if (why == NULL || strstr(why, rows[i].why) == NULL) fail_msg("%s: %s", rows[i].text, why);
  }
}

static void expect_bad(const char *text, const char *why) {
  struct expression expression;
  char problem[EXPRESSION_PROBLEM_MAX] = "";
  if (expression_read(text, names, &expression, problem)) fail_msg("%s was taken", text);
  if (strstr(problem, why) == NULL) fail_msg("%s: %s", text, problem);
}

TEST(hostile_texts_are_refused) {
  static const struct {
    const char *text, *why;
  } rows[] = {{"", "wants a number"},
              {"   ", "wants a number"},
              {"1 +", "wants a number"},
              {"(1", "closing parenthesis"},
              {"1)", "behind its end"},
              {"1 2", "behind its end"},
              {"Sq Skv", "behind its end"},
              {"sq", "\"sq\", which is no value"},
              {"Sqq", "\"Sqq\", which is no value"},
              {"min(1)", "comma"},
              {"min(1, 2, 3)", "closing parenthesis"},
              {"min 1", "(a, b)"},
              {"min", "(a, b)"},
              {"1 ? 2 : 3", "behind its end"},
              {"1 = 1", "behind its end"},
              {"1 << 3", "wants a number"},
              {"1 & 1", "behind its end"},
              {"0x10", "behind its end"},
              {"1.5", "behind its end"},
              {"1e3", "behind its end"},
              {"Sq;", "behind its end"},
              {"1\t+ 1", "behind its end"},
              {"$(id)", "wants a number"},
              {"\xff", "wants a number"},
              {"9223372036854775808", "64 bits"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) expect_bad(rows[i].text, rows[i].why);
}

/* `text` of `count` times `piece`, then `end`. */
static const char *repeated(char *text, size_t count, const char *piece, const char *end) {
  text[0] = '\0';
  for (size_t i = 0; i < count; ++i) strcat(text, piece);
  return strcat(text, end);
}

TEST(length_and_depth_are_bounded) {
  static char text[4096];
  expect_bad(repeated(text, 300, "1", ""), "more than 256 characters");
  expect_bad(repeated(text, 200, "(", "1"), "more than 16 deep");
  expect_bad(repeated(text, 200, "-", "1"), "more than 16 deep");
  expect_bad(repeated(text, 200, "!", "1"), "more than 16 deep");
  expect_bad(repeated(text, 50, "min(", "1"), "more than 16 deep");
  assert_value(repeated(text, 15, "(", "1)))))))))))))))"), 1);
  assert_value(repeated(text, 31, "1+", "1"), 32);
}
