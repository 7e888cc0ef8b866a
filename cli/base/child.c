/* Starts a program in a process group of its own and watches it until it ends. */
#include "cli/base/child.h"
#include "cli/base/clock.h"
#include "cli/base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const double patience_s = 10.0; /* for a child that was asked to end: it has a report to write */
enum { POLL_US = 10000 };

static int spawn(char *const *argv, const struct child_watch *watch, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t defaults;
  const char *out = watch->stdout_path != NULL ? watch->stdout_path : "/dev/null";
  const char *err = watch->stderr_path != NULL ? watch->stderr_path : "/dev/null";
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE); /* ignored here, and that would be inherited */
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawn(pid, argv[0], &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

static bool has_ended(pid_t pid, int *wait_status) {
  const pid_t got = waitpid(pid, wait_status, WNOHANG);
  return got == pid || (got < 0 && errno != EINTR);
}

/* Asks first when there is a signal to ask with. */
static void end_child(pid_t pid, int signal_number, int *wait_status) {
  const double deadline_s = clock_now_s() + (signal_number != 0 ? patience_s : 0);
  bool ended = false;
  if (signal_number != 0) kill(pid, signal_number);
  while (!(ended = has_ended(pid, wait_status)) && clock_now_s() < deadline_s) usleep(POLL_US);
  kill(-pid, SIGKILL);
  while (!ended && waitpid(pid, wait_status, 0) < 0 && errno == EINTR) continue;
}

static off_t size_of(const char *path) {
  struct stat info;
  return path != NULL && stat(path, &info) == 0 ? info.st_size : 0;
}

/* Until it ended by itself, or why it had to be ended. */
static void watch_child(pid_t pid, const struct child_watch *watch, int *wait_status, struct child_end *out) {
  double deadline_s = clock_now_s() + watch->stall_s;
  off_t size = 0;
  while (!has_ended(pid, wait_status)) {
    const off_t now = size_of(watch->grows);
    if (now > size) deadline_s = clock_now_s() + watch->stall_s;
    size = now;
    out->stalled = clock_now_s() > deadline_s;
    if (out->stalled || signals_received() != 0) {
      end_child(pid, out->stalled ? 0 : signals_received(), wait_status);
      return;
    }
    usleep(POLL_US);
  }
}

struct status child_run(char *const *argv, const struct child_watch *watch, struct child_end *out) {
  pid_t pid = 0;
  int wait_status = 0;
  *out = (struct child_end){.stalled = false};
  TRY(signals_check());
  const int error = spawn(argv, watch, &pid);
  if (error != 0) return status_make(STATUS_USAGE, "%s: cannot be started: %s", argv[0], strerror(error));
  watch_child(pid, watch, &wait_status, out);
  TRY(signals_check());
  out->signal_number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  out->exit_status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
  return status_ok();
}

void child_describe(const struct child_end *end, double stall_s, char *out, int size) {
  if (end->stalled) {
    snprintf(out, (size_t)size, "no progress for %g s, killed", stall_s);
  } else if (end->signal_number != 0) {
    snprintf(out, (size_t)size, "killed by signal %d (%s)", end->signal_number, strsignal(end->signal_number));
  } else {
    snprintf(out, (size_t)size, "exit status %d", end->exit_status);
  }
}
