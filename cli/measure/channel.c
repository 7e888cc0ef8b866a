/* Starts this program once more with a pipe each way, reads its lines against a deadline, and ends it. */
#include "cli/measure/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/child.h"
#include "cli/base/clock.h"
#include "cli/base/output.h"
#include "cli/base/program.h"
#include "cli/base/signals.h"

extern char **environ;

/* ---- starting and ending ------------------------------------------------------------------------------------- */

/* A descriptor of the child may not be one it will be moved over. */
static int above_reserved(int fd) {
  if (fd > CHANNEL_REPLY_FD) return fd;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, CHANNEL_REPLY_FD + 1);
  close(fd);
  return moved;
}

static void close_pipe(const int fds[2]) {
  for (size_t i = 0; i < 2; ++i) {
    if (fds[i] >= 0) close(fds[i]);
  }
}

static struct status make_pipe(int fds[2]) {
  if (pipe2(fds, O_CLOEXEC) == 0) {
    fds[0] = above_reserved(fds[0]);
    fds[1] = above_reserved(fds[1]);
    if (fds[0] >= 0 && fds[1] >= 0) return status_ok();
    close_pipe(fds);
  }
  return status_make(STATUS_INTERNAL, "cannot make a pipe for the worker: %s", strerror(errno));
}

/* 0, or an error: the list of actions is allocated. */
static int add_streams(posix_spawn_file_actions_t *actions, int request_read, int reply_write) {
  int error = posix_spawn_file_actions_adddup2(actions, request_read, CHANNEL_REQUEST_FD);
  if (error == 0) error = posix_spawn_file_actions_adddup2(actions, reply_write, CHANNEL_REPLY_FD);
  /* What a kernel or a loaded object prints must not get among a report on stdout. */
  return error != 0 ? error : posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
}

/* ---- the family ---------------------------------------------------------------------------------------------- */

/* Whatever a worker's code starts, also in another group or session, becomes a child of this process once its own
 * parents have ended, and is ended with the worker. These children are not: the workers, and what was there before
 * the first one. */
static struct {
  pthread_mutex_t lock; /* of several cards each has a thread that starts and ends workers */
  bool is_begun;
  bool is_full; /* there are more than `kept` has room for: then none is ended */
  struct offspring kept;
} family = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Of a worker that has ended. */
static void family_remove(pid_t pid) {
  struct offspring *kept = &family.kept;
  pthread_mutex_lock(&family.lock);
  for (size_t i = 0; i < kept->count; ++i) {
    if (kept->pid[i] == pid) kept->pid[i] = kept->pid[--kept->count];
  }
  if (!family.is_full) offspring_end(kept, 0);
  pthread_mutex_unlock(&family.lock);
}

size_t channel_strays(void) {
  pthread_mutex_lock(&family.lock);
  const size_t count = family.is_begun && !family.is_full ? offspring_strays(&family.kept) : 0;
  pthread_mutex_unlock(&family.lock);
  return count;
}

static int spawn(char *const *argv, int request_read, int reply_write, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  int error = add_streams(&actions, request_read, reply_write);
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK); /* Ctrl-C reaches the parent only */
  if (error == 0) error = posix_spawn(pid, program_path(), &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/* Nobody ends strays between the start of a child and its entry in the family. */
static int start_child(char *const *argv, int request_read, int reply_write, pid_t *pid) {
  struct offspring *kept = &family.kept;
  pthread_mutex_lock(&family.lock);
  if (!family.is_begun) offspring_adopt(kept);
  family.is_begun = true;
  const int error = spawn(argv, request_read, reply_write, pid);
  if (error == 0 && kept->count < OFFSPRING_MAX) kept->pid[kept->count++] = *pid;
  family.is_full = family.is_full || kept->count == OFFSPRING_MAX;
  pthread_mutex_unlock(&family.lock);
  return error;
}

static struct status start(struct channel *c, char *const *argv) {
  int request[2], reply[2];
  TRY(make_pipe(request));
  const struct status status = make_pipe(reply);
  if (status_failed(&status)) close_pipe(request);
  TRY(status);
  const int error = start_child(argv, request[0], reply[1], &c->pid);
  close(request[0]);
  close(reply[1]);
  c->request_fd = request[1];
  c->reply_fd = reply[0];
  c->used = c->taken = 0;
  if (error == 0) return status_ok();
  c->pid = 0;
  close(c->request_fd);
  close(c->reply_fd);
  return status_make(STATUS_INTERNAL, "cannot start the worker process: %s", strerror(error));
}

/* A process that waits inside the driver of a lost device may not end at all. */
static const double kill_patience_s = 30.0;

static bool wait_child(pid_t pid, double seconds, int *wait_status) {
  const double deadline_s = clock_now_s() + seconds;
  for (;;) {
    const pid_t got = waitpid(pid, wait_status, WNOHANG);
    if (got != 0 && !(got < 0 && errno == EINTR)) return got == pid;
    if (clock_now_s() >= deadline_s) return false;
    usleep(2000);
  }
}

static void describe_kill(int signal_number, char out[CHANNEL_END_MAX]) {
  snprintf(out, CHANNEL_END_MAX, "the worker process was killed by signal %d (%s)", signal_number,
           strsignal(signal_number));
}

bool channel_was_killed(const char *text) {
  char end[CHANNEL_END_MAX];
  describe_kill(SIGKILL, end);
  return strstr(text, end) != NULL;
}

static void describe_end(int wait_status, char out[CHANNEL_END_MAX]) {
  if (WIFSIGNALED(wait_status)) {
    describe_kill(WTERMSIG(wait_status), out);
  } else {
    snprintf(out, CHANNEL_END_MAX, "the worker process ended with exit status %d before it answered",
             WEXITSTATUS(wait_status));
  }
}

void channel_end(struct channel *c, double patience_s, char end[CHANNEL_END_MAX]) {
  int wait_status = 0;
  close(c->request_fd);
  bool is_gone = wait_child(c->pid, patience_s, &wait_status);
  if (!is_gone) {
    kill(-c->pid, SIGKILL);
    kill(c->pid, SIGKILL); /* it may have left its group */
    is_gone = wait_child(c->pid, kill_patience_s, &wait_status);
  }
  close(c->reply_fd);
  if (is_gone) family_remove(c->pid);
  c->pid = 0;
  if (end == NULL) return;
  if (is_gone) describe_end(wait_status, end);
  if (!is_gone) snprintf(end, CHANNEL_END_MAX, "the worker process cannot be killed: it hangs inside the driver");
}

void channel_free(struct channel *c) {
  free(c->buffer);
  *c = (struct channel){.pid = 0};
}

/* ---- the child's side ---------------------------------------------------------------------------------------- */

/* A high number is one that other code does not hit by mistake, as when it closes a descriptor twice. */
static int hide(int fd) {
  enum { HIGH = 1000, ROOM = 16 };
  struct rlimit limit = {.rlim_cur = HIGH};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t most = limit.rlim_cur > HIGH + ROOM ? HIGH : limit.rlim_cur - limit.rlim_cur / 4;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, (int)most);
  if (moved < 0) return fd;
  close(fd);
  return moved;
}

struct channel_ends channel_hide(void) {
  return (struct channel_ends){.request_fd = hide(CHANNEL_REQUEST_FD), .reply_fd = hide(CHANNEL_REPLY_FD)};
}

/* ---- lines --------------------------------------------------------------------------------------------------- */

static bool grow_buffer(struct channel *c) {
  if (c->used + 1 < c->capacity) return true;
  const size_t capacity = c->capacity != 0 ? 2 * c->capacity : 16384;
  char *buffer = realloc(c->buffer, capacity);
  if (buffer == NULL) return false;
  c->buffer = buffer;
  c->capacity = capacity;
  return true;
}

/* Waits for the reply pipe until the deadline. CHANNEL_LINE: something can be read. `absent_s`: as channel_answer. */
static struct status wait_readable(const struct channel *c, double deadline_s, enum channel_result *result,
                                   double *absent_s) {
  static const double slice_s = 0.1; /* `absent_s` is so exact, where this process is not stopped */
  struct pollfd poll_fds[] = {{.fd = c->reply_fd, .events = POLLIN}, {.fd = signals_fd(), .events = POLLIN}};
  for (;;) {
    const double now_s = clock_now_s(), left_s = deadline_s - now_s, wait_s = left_s < slice_s ? left_s : slice_s;
    *result = left_s > 0 ? CHANNEL_LINE : CHANNEL_DEADLINE;
    if (left_s <= 0) return status_ok();
    const struct timespec wait = {.tv_nsec = (long)(wait_s * 1e9)};
    const int ready = ppoll(poll_fds, 2, &wait, NULL);
    TRY(signals_check());
    if (ready > 0 && poll_fds[0].revents != 0) return status_ok();
    if (ready == 0) *absent_s = now_s;
  }
}

/* The line that the buffer holds, if it is whole. One answer per request: nothing follows the newline. */
static bool take_line(struct channel *c, size_t scanned, struct channel_answer *out) {
  char *end = c->used > scanned ? memchr(c->buffer + scanned, '\n', c->used - scanned) : NULL;
  if (end == NULL) return false;
  *end = '\0';
  *out = (struct channel_answer){.result = CHANNEL_LINE, .line = c->buffer, .length = (size_t)(end - c->buffer)};
  c->taken = out->length + 1;
  return true;
}

/* An answer may be of several lines, and they may come together. */
static void drop_taken(struct channel *c) {
  if (c->taken > 0) memmove(c->buffer, c->buffer + c->taken, c->used - c->taken);
  c->used -= c->taken;
  c->taken = 0;
}

struct status channel_receive(struct channel *c, double timeout_s, struct channel_answer *out) {
  const double deadline_s = clock_now_s() + timeout_s;
  double absent_s = 0;
  drop_taken(c);
  for (size_t scanned = 0; !take_line(c, scanned, out);) {
    scanned = c->used;
    if (!grow_buffer(c)) return status_make(STATUS_MEMORY, "no memory for the answer of a worker");
    TRY(wait_readable(c, deadline_s, &out->result, &absent_s));
    if (out->result != CHANNEL_LINE) return status_ok();
    const ssize_t n = read(c->reply_fd, c->buffer + c->used, c->capacity - c->used);
    if (n < 0 && errno == EINTR) continue;
    out->result = CHANNEL_CLOSED;
    if (n <= 0) return status_ok();
    c->used += (size_t)n;
  }
  out->absent_s = absent_s;
  return status_ok();
}

bool channel_send(struct channel *c, const void *bytes, size_t size) {
  c->used = c->taken = 0; /* what came behind the last answer was not asked for */
  const struct status status = output_write_all(c->request_fd, "the pipe to the worker", bytes, size);
  return !status_failed(&status);
}

struct status channel_ask(struct channel *c, char *const *argv, double timeout_s, struct channel_answer *out,
                          char end[CHANNEL_END_MAX]) {
  TRY(start(c, argv));
  const struct status status = channel_receive(c, timeout_s, out);
  if (status_failed(&status) || out->result == CHANNEL_DEADLINE) channel_end(c, 0.0, end);
  if (!status_failed(&status) && out->result == CHANNEL_CLOSED) {
    channel_end(c, 2.0, end);
    return signals_check(); /* Ctrl-C reaches a child that has no process group of its own yet */
  }
  return status;
}
