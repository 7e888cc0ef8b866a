/* A signal is noted, and a failure that is not the signal's keeps its own exit code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>

#include "cli/base/signals.h"

static void nothing_is_interrupted_without_a_signal(void **state) {
  (void)state;
  const struct status status = signals_check();
  assert_int_equal(status.code, STATUS_OK);
  assert_int_equal(signals_received(), 0);
}

static void only_the_interruption_takes_the_exit_code_of_the_signal(void **state) {
  (void)state;
  static const struct {
    int signal;
    enum exit_code exit_code;
  } rows[] = {{SIGINT, EXIT_CODE_SIGINT}, {SIGTERM, EXIT_CODE_SIGTERM}};
  signals_watch();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    raise(rows[i].signal);
    assert_int_equal(signals_received(), rows[i].signal);
    const struct status interrupted = signals_check();
    assert_int_equal(interrupted.code, STATUS_INTERRUPTED);
    for (enum status_code code = 0; code < STATUS_COUNT; ++code) {
      const struct status status = {.code = code};
      assert_int_equal(signals_exit_code(&status),
                       code == STATUS_INTERRUPTED ? rows[i].exit_code : status_exit_code(code));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_interrupted_without_a_signal),
      cmocka_unit_test(only_the_interruption_takes_the_exit_code_of_the_signal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
