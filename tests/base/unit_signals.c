/* A signal is noted, and a failure that is not the signal's keeps its own exit code. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/signals.h"
#include "tests/unit.h"

TEST(nothing_is_interrupted_without_a_signal) {
  const struct status status = signals_check();
  assert_int_equal(status.code, STATUS_OK);
  assert_int_equal(signals_received(), 0);
}

/* The exit status of a process of its own that runs `body`. Signals have their default action there, whatever this
 * process was started with (nohup ignores SIGHUP). */
static int status_of(void (*body)(int), int signal_number) {
  int wait_status = 0;
  const pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    signal(signal_number, SIG_DFL);
    signals_watch();
    body(signal_number);
    _exit(0);
  }
  assert_int_equal(waitpid(pid, &wait_status, 0), pid);
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

/* Every failure has its own exit code but the interruption, which has the signal's. */
static void end_as_told(int signal_number) {
  raise(signal_number);
  const struct status interrupted = signals_check();
  bool is_right = signals_received() == signal_number && interrupted.code == STATUS_INTERRUPTED;
  for (enum status_code code = 0; code < STATUS_COUNT; ++code) {
    const struct status status = {.code = code};
    is_right = is_right && (code == STATUS_INTERRUPTED || signals_exit_code(&status) == status_exit_code(code));
  }
  if (is_right) _exit(signals_exit_code(&interrupted));
}

TEST(only_the_interruption_takes_the_exit_code_of_the_signal) {
  assert_int_equal(status_of(end_as_told, SIGHUP), 129);
  assert_int_equal(status_of(end_as_told, SIGINT), 130);
  assert_int_equal(status_of(end_as_told, SIGTERM), 143);
}

static void raise_twice(int signal_number) {
  raise(signal_number);
  raise(signal_number);
}

static void raise_again_later(int signal_number) {
  raise(signal_number);
  usleep(350000);
  raise(signal_number);
}

TEST(a_second_signal_ends_the_process_unless_it_is_the_first_once_more) {
  assert_int_equal(status_of(raise_twice, SIGTERM), 0);
  assert_int_equal(status_of(raise_again_later, SIGTERM), 143);
  assert_int_equal(status_of(raise_again_later, SIGHUP), 129);
}

static void write_too_much(int signal_number) {
  (void)signal_number;
  const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
  FILE *file = tmpfile();
  setrlimit(RLIMIT_FSIZE, &none);
  if (file != NULL && fputc('x', file) == 'x' && fflush(file) == EOF && errno == EFBIG) _exit(8);
}

TEST(a_file_size_limit_fails_the_write_and_not_the_process) { assert_int_equal(status_of(write_too_much, 0), 8); }
