/* Starts a program in a process group of its own and watches it until it ends. */
#include "cli/base/child.h"
#include "cli/base/clock.h"
#include "cli/base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const double patience_s = 10.0; /* for a child that was asked to end: it has a report to write */
static const double leaving_s = 2.0;   /* for what a child that has ended is still ending itself */
enum { POLL_US = 10000 };

/* Runs in the forked child, so it must not allocate memory. Returns only on failure, with errno set. PR_SET_PDEATHSIG
 * kills the child when its parent ends. */
static void become(char *const *argv, const struct child_watch *watch, pid_t parent) {
  const struct {
    int fd;
    const char *path;
    int flags;
  } streams[] = {{STDIN_FILENO, NULL, O_RDONLY},
                 {STDOUT_FILENO, watch->stdout_path, O_WRONLY | O_CREAT | O_TRUNC},
                 {STDERR_FILENO, watch->stderr_path, O_WRONLY | O_CREAT | O_TRUNC}};
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_CODE_INTERNAL);
  for (size_t i = 0; i < sizeof streams / sizeof *streams; ++i) {
    const int fd = open(streams[i].path != NULL ? streams[i].path : "/dev/null", streams[i].flags, 0644);
    if (fd < 0 || dup2(fd, streams[i].fd) < 0) return;
    if (fd > STDERR_FILENO) close(fd);
  }
  signal(SIGPIPE, SIG_DFL); /* ignored here, and that would be inherited */
  signal(SIGXFSZ, SIG_DFL);
  execve(argv[0], argv, environ);
}

/* Forks and starts the program; returns 0 or an errno. A child that fails writes its errno to the pipe; exec closes
 * the pipe when it succeeds. */
static int fork_child(char *const *argv, const struct child_watch *watch, const int pipe_fds[2], pid_t *pid) {
  const pid_t parent = getpid();
  int error = 0;
  *pid = fork();
  if (*pid < 0) return errno;
  if (*pid == 0) {
    become(argv, watch, parent);
    error = errno;
    const ssize_t written = write(pipe_fds[1], &error, sizeof error);
    _exit(written == sizeof error ? EXIT_CODE_USAGE : EXIT_CODE_INTERNAL);
  }
  close(pipe_fds[1]);
  ssize_t got;
  while ((got = read(pipe_fds[0], &error, sizeof error)) < 0 && errno == EINTR) continue;
  if (got != sizeof error) return 0;
  while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR) continue;
  return error;
}

static int spawn(char *const *argv, const struct child_watch *watch, pid_t *pid) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) return errno;
  const int error = fork_child(argv, watch, pipe_fds, pid);
  if (*pid < 0) close(pipe_fds[1]);
  close(pipe_fds[0]);
  return error;
}

static bool has_ended(pid_t pid, int *wait_status) {
  const pid_t got = waitpid(pid, wait_status, WNOHANG);
  return got == pid || (got < 0 && errno != EINTR);
}

/* Sends signal_number, unless it is 0, and waits patience_s for the child to end; then kills its process group. */
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

struct growth {
  off_t size;
  double first_s, last_s;
};

/* A file that is replaced by what it was has not grown. */
static void watch_growth(const char *path, struct growth *growth) {
  const off_t now = size_of(path);
  if (now <= growth->size) return;
  growth->last_s = clock_now_s();
  if (growth->size == 0) growth->first_s = growth->last_s;
  growth->size = now;
}

/* Waits until the child ends, and ends it when it stalls or this process receives a signal to stop. */
static void watch_child(pid_t pid, const struct child_watch *watch, int *wait_status, struct child_end *out) {
  struct growth growth = {.last_s = clock_now_s()};
  while (!has_ended(pid, wait_status)) {
    watch_growth(watch->grows, &growth);
    out->stalled = clock_now_s() > growth.last_s + watch->stall_s;
    if (out->stalled || signals_received() != 0) {
      end_child(pid, out->stalled ? 0 : signals_received(), wait_status);
      return;
    }
    usleep(POLL_US);
  }
  watch_growth(watch->grows, &growth);
  if (growth.size > 0) out->growth_s = growth.last_s - growth.first_s;
}

struct status child_run(char *const *argv, const struct child_watch *watch, struct child_end *out) {
  pid_t pid = 0;
  int wait_status = 0;
  struct offspring before;
  *out = (struct child_end){.stalled = false};
  TRY(signals_check());
  offspring_adopt(&before);
  const double started_s = clock_now_s();
  const int error = spawn(argv, watch, &pid);
  if (error != 0)
    return status_make(STATUS_USAGE, "%s: cannot be started: %s; give a program that you may execute", argv[0],
                       strerror(error));
  watch_child(pid, watch, &wait_status, out);
  out->wall_s = clock_now_s() - started_s;
  out->left_others = offspring_end(&before, signals_received() != 0 ? 0 : leaving_s);
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
