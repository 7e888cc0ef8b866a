/* Records signals that ask the program to stop. */
#include "cli/base/signals.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/base/clock.h"

static const struct {
  int number;
  enum exit_code exit_code;
} stops[] = {{SIGINT, EXIT_CODE_SIGINT}, {SIGTERM, EXIT_CODE_SIGTERM}, {SIGHUP, EXIT_CODE_SIGHUP}};
enum { STOPS = sizeof stops / sizeof *stops };

static const double insist_s = 0.3;

static atomic_int received; /* lock-free: a handler may write it, and any thread reads it */
static double received_at_s;
static int wake_fd = -1;

/* Makes wake_fd readable, which wakes every thread that polls it. Nothing reads wake_fd, so it stays readable. */
static void wake_all(void) {
  const uint64_t one = 1;
  const int error = errno;
  const ssize_t written = wake_fd >= 0 ? write(wake_fd, &one, sizeof one) : 0;
  (void)written;
  errno = error;
}

/* Ends the process at a second signal; worker processes end with it. */
static void on_signal(int signal_number) {
  if (received != 0 && clock_now_s() - received_at_s >= insist_s) _exit(128 + signal_number);
  if (received != 0) return;
  received_at_s = clock_now_s();
  received = signal_number;
  wake_all();
}

int signals_received(void) { return received; }

struct status signals_check(void) {
  return received == 0 ? status_ok() : status_make(STATUS_INTERRUPTED, "interrupted");
}

enum exit_code signals_exit_code(const struct status *failure) {
  for (size_t i = 0; i < STOPS && failure->code == STATUS_INTERRUPTED; ++i) {
    if (stops[i].number == received) return stops[i].exit_code;
  }
  return status_exit_code(failure->code);
}

void signals_fill(sigset_t *out) {
  sigemptyset(out);
  for (size_t i = 0; i < STOPS; ++i) sigaddset(out, stops[i].number);
}

static bool is_ignored(int signal_number) {
  struct sigaction before;
  return sigaction(signal_number, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
}

int signals_fd(void) { return wake_fd; }

void signals_watch(void) {
  struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: poll must wake up */
  if (wake_fd < 0) wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  signals_fill(&action.sa_mask);
  for (size_t i = 0; i < STOPS; ++i) {
    if (stops[i].number != SIGHUP || !is_ignored(SIGHUP)) sigaction(stops[i].number, &action, NULL);
  }
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGCHLD, SIG_DFL); /* ignored, as some runners leave it, a child's end could not be waited for */
}
