/* What every unit test needs: cmocka, and TEST, which defines a test and enters it in the list that is run. Include
 * it in unit_*.c alone: it holds their `main`, to which the build gives the name of the file (tests/units.c). */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { UNIT_TESTS_MAX = 80 };

static struct CMUnitTest unit_tests[UNIT_TESTS_MAX]; /* in the order of the file */
static size_t unit_test_count;
static CMFixtureFunction unit_setup, unit_teardown; /* around all tests of the file */

/* TEST(name) { ... } */
#define TEST(name) TEST_WITH(name, NULL, NULL)
/* With functions that run before and after the test; it finds what they made in *state. */
#define TEST_WITH(name, setup, teardown) TEST_AT(name, setup, teardown, __COUNTER__)
#define TEST_AT(name, setup, teardown, at)                                                      \
  static void name(void **state);                                                               \
  __attribute__((constructor)) static void enter_##name(void) {                                 \
    _Static_assert((at) < UNIT_TESTS_MAX, "a file has no more tests");                          \
    unit_tests[at] = (struct CMUnitTest)cmocka_unit_test_setup_teardown(name, setup, teardown); \
    ++unit_test_count;                                                                          \
  }                                                                                             \
  static void name(__attribute__((unused)) void **state)

/* Functions that run before the first and after the last test of the file. */
#define UNIT_FIXTURE(setup, teardown)                        \
  __attribute__((constructor)) static void enter_all(void) { \
    unit_setup = (setup);                                    \
    unit_teardown = (teardown);                              \
  }

int main(void) {
  unsetenv("COLUMNS"); /* the width of texts that tests look at */
  return _cmocka_run_group_tests("tests", unit_tests, unit_test_count, unit_setup, unit_teardown);
}
