#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "cli/measure/measure.h"

static void a_range_has_no_letter_that_filters_of_tools_read(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"wmma", "wmma"},
      {"B1.f16.full.split_kv:splits=4,tile=32", "B1.f16.full.split_kv.splits=4.tile=32"},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char name[64];
    snprintf(name, sizeof name, "%s", cases[i][0]);
    measure_range_name(name);
    assert_string_equal(name, cases[i][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_range_has_no_letter_that_filters_of_tools_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
