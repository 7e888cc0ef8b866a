/* Notes SIGINT and SIGTERM instead of dying of them. */
#include "cli/base/signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t received;

static void on_signal(int signal_number) { received = signal_number; }

int signals_received(void) { return received; }

struct status signals_check(void) {
  return received == 0 ? status_ok() : status_make(STATUS_INTERRUPTED, "interrupted");
}

enum exit_code signals_exit_code(const struct status *failure) {
  const bool is_term = failure->code == STATUS_INTERRUPTED && received == SIGTERM;
  return is_term ? EXIT_CODE_SIGTERM : status_exit_code(failure->code);
}

void signals_watch(void) {
  struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: poll must wake up */
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_DFL); /* ignored, as some runners leave it, a child's end could not be waited for */
}
