/* Starts workers, hands them cells, and turns their deaths into records. */
#include "cli/measure/supervise.h"
#include "cli/base/clock.h"
#include "cli/base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/json.h"
#include "cli/base/output.h"
#include "cli/record/plan.h"
#include "kernels/plugin.h"

extern char **environ;

struct supervisor {
  char device_spec[32];
  double cell_timeout_s;
  pid_t pid; /* 0: no worker is running */
  int request_fd, reply_fd;
  char *buffer; /* bytes of the reply pipe not yet taken as a line */
  size_t used, capacity;
  struct worker_hello hello; /* of the last worker that started */
};

/* Objects that every worker opens. */
static const char *objects[ATTN_PLUGINS_MAX];
static size_t object_count;

/* ---- starting and ending ------------------------------------------------------------------------------------- */

/* A descriptor of the child may not be one it will be moved over. */
static int above_reserved(int fd) {
  if (fd > WORKER_REPLY_FD) return fd;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, WORKER_REPLY_FD + 1);
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

static int spawn_worker(char *const *argv, int request_read, int reply_write, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, request_read, WORKER_REQUEST_FD);
  posix_spawn_file_actions_adddup2(&actions, reply_write, WORKER_REPLY_FD);
  /* What a kernel or a loaded object prints must not get among a report on stdout. */
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); /* Ctrl-C reaches the parent only */
  const int error = posix_spawn(pid, "/proc/self/exe", &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

static struct status start_process(struct supervisor *s, char *const *argv) {
  int request[2], reply[2];
  struct status status = make_pipe(request);
  if (status_failed(&status)) return status;
  status = make_pipe(reply);
  if (status_failed(&status)) {
    close_pipe(request);
    return status;
  }
  const int error = spawn_worker(argv, request[0], reply[1], &s->pid);
  close(request[0]);
  close(reply[1]);
  s->request_fd = request[1];
  s->reply_fd = reply[0];
  s->used = 0;
  if (error == 0) return status_ok();
  s->pid = 0;
  close(s->request_fd);
  close(s->reply_fd);
  return status_make(STATUS_INTERNAL, "cannot start the worker process: %s", strerror(error));
}

static int wait_child(pid_t pid, double seconds, int *wait_status) {
  const double deadline_s = clock_now_s() + seconds;
  for (;;) {
    const pid_t got = waitpid(pid, wait_status, WNOHANG);
    if (got != 0 && !(got < 0 && errno == EINTR)) return got == pid;
    if (clock_now_s() >= deadline_s) return 0;
    usleep(2000);
  }
}

/* Closes the pipes and waits; kills the worker's process group when it has not ended after `patience_s`. Returns the
 * wait status. */
static int reap(struct supervisor *s, double patience_s) {
  int wait_status = 0;
  close(s->request_fd);
  if (!wait_child(s->pid, patience_s, &wait_status)) {
    kill(-s->pid, SIGKILL);
    while (waitpid(s->pid, &wait_status, 0) < 0 && errno == EINTR) continue;
  }
  close(s->reply_fd);
  s->pid = 0;
  return wait_status;
}

static void describe_death(int wait_status, char *out, size_t size) {
  if (WIFSIGNALED(wait_status)) {
    snprintf(out, size, "the worker process was killed by signal %d (%s)", WTERMSIG(wait_status),
             strsignal(WTERMSIG(wait_status)));
  } else {
    snprintf(out, size, "the worker process ended with exit status %d before it answered", WEXITSTATUS(wait_status));
  }
}

/* ---- lines --------------------------------------------------------------------------------------------------- */

/* LINE_UNREADABLE: something came that is no answer. */
enum line_result { LINE_GOT, LINE_EOF, LINE_DEADLINE, LINE_INTERRUPTED, LINE_NO_MEMORY, LINE_UNREADABLE };

static bool grow_buffer(struct supervisor *s) {
  if (s->used + 1 < s->capacity) return true;
  const size_t capacity = s->capacity != 0 ? 2 * s->capacity : 16384;
  char *buffer = realloc(s->buffer, capacity);
  if (buffer == NULL) return false;
  s->buffer = buffer;
  s->capacity = capacity;
  return true;
}

/* Waits for the reply pipe until the deadline. LINE_GOT: something can be read. */
static enum line_result wait_readable(const struct supervisor *s, double deadline_s) {
  struct pollfd poll_fd = {.fd = s->reply_fd, .events = POLLIN};
  sigset_t none, stop;
  sigemptyset(&none);
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  for (;;) {
    const double left_s = deadline_s - clock_now_s();
    if (left_s <= 0) return LINE_DEADLINE;
    const struct timespec left = {.tv_sec = (time_t)left_s, .tv_nsec = (long)(fmod(left_s, 1.0) * 1e9)};
    sigset_t old;
    sigprocmask(SIG_BLOCK, &stop, &old); /* a signal between the test and ppoll must not be missed */
    const int ready = signals_received() != 0 ? -1 : ppoll(&poll_fd, 1, &left, &none);
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (signals_received() != 0) return LINE_INTERRUPTED;
    if (ready > 0) return LINE_GOT;
  }
}

/* *line is valid until the next call. */
static enum line_result read_line(struct supervisor *s, double deadline_s, char **line, size_t *length) {
  size_t scanned = 0;
  for (;;) {
    char *end = s->used > scanned ? memchr(s->buffer + scanned, '\n', s->used - scanned) : NULL;
    if (end != NULL) {
      *end = '\0';
      *line = s->buffer;
      *length = (size_t)(end - s->buffer);
      s->used = 0; /* one answer per request: nothing follows the newline */
      return LINE_GOT;
    }
    scanned = s->used;
    if (!grow_buffer(s)) return LINE_NO_MEMORY;
    const enum line_result ready = wait_readable(s, deadline_s);
    if (ready != LINE_GOT) return ready;
    const ssize_t n = read(s->reply_fd, s->buffer + s->used, s->capacity - s->used);
    if (n <= 0) return LINE_EOF;
    s->used += (size_t)n;
  }
}

/* False when the worker is gone. */
static bool write_request(struct supervisor *s, const struct cell_request *request) {
  const struct status status =
      output_write_all(s->request_fd, "the pipe to the worker", (const char *)request, sizeof *request);
  return !status_failed(&status);
}

/* ---- the worker's first line --------------------------------------------------------------------------------- */

/* The failure that the line reports, if it is one. */
static struct status take_failure(const char *line, size_t length) {
  struct json_doc doc;
  struct status status = json_parse("worker", line, length, &doc);
  if (status_failed(&status)) return status;
  const cJSON *failed = json_get(doc.root, "failed");
  const cJSON *code = json_get(failed, "code"), *text = json_get(failed, "text");
  if (cJSON_IsNumber(code) && cJSON_IsString(text)) {
    status = status_make((enum status_code)code->valuedouble, "%s", text->valuestring);
  }
  json_free(&doc);
  return status;
}

static struct status take_hello(struct supervisor *s, const char *line, size_t length) {
  const struct status status = take_failure(line, length);
  return status_failed(&status) ? status : hello_from_line(line, length, &s->hello);
}

static struct status start_on_device(struct supervisor *s) {
  char *argv[2 * ATTN_PLUGINS_MAX + 5] = {"attnbench", "worker", "--device", s->device_spec};
  for (size_t i = 0; i < object_count; ++i) {
    argv[2 * i + 4] = "--load";
    argv[2 * i + 5] = (char *)objects[i];
  }
  return start_process(s, argv);
}

static struct status start_worker(struct supervisor *s) {
  const double open_timeout_s = 60.0;
  char *line, death[128];
  size_t length;
  struct status status = start_on_device(s);
  if (status_failed(&status)) return status;
  const enum line_result got = read_line(s, clock_now_s() + open_timeout_s, &line, &length);
  if (got == LINE_GOT) {
    status = take_hello(s, line, length);
    if (status_failed(&status)) reap(s, 2.0);
    return status;
  }
  describe_death(reap(s, got == LINE_EOF ? 2.0 : 0.0), death, sizeof death);
  if (got == LINE_INTERRUPTED) return status_make(STATUS_INTERNAL, "interrupted");
  if (got == LINE_DEADLINE) {
    return status_make(STATUS_DEVICE, "device %s did not open within %.0f s", s->device_spec, open_timeout_s);
  }
  return status_make(STATUS_DEVICE, "device %s could not be opened: %s", s->device_spec, death);
}

struct status supervise_open(const char *device_spec, double cell_timeout_s, struct supervisor **out) {
  struct supervisor *s = calloc(1, sizeof *s);
  if (s == NULL) return status_make(STATUS_MEMORY, "no memory for the supervisor");
  snprintf(s->device_spec, sizeof s->device_spec, "%s", device_spec);
  s->cell_timeout_s = cell_timeout_s;
  signals_watch();
  const struct status status = start_worker(s);
  if (status_failed(&status)) {
    supervise_close(s);
    return status;
  }
  *out = s;
  return status;
}

void supervise_close(struct supervisor *s) {
  if (s == NULL) return;
  if (s->pid != 0) reap(s, signals_received() != 0 ? 0.0 : 5.0);
  free(s->buffer);
  free(s);
}

const struct device_info *supervise_device(const struct supervisor *s) { return &s->hello.device; }
const struct device_policy *supervise_policy(const struct supervisor *s) { return &s->hello.policy; }
double supervise_event_overhead_us(const struct supervisor *s) { return s->hello.event_overhead_us; }
const char *supervise_profiled(const struct supervisor *s) { return s->hello.profiled; }

/* ---- the timer's self-test ----------------------------------------------------------------------------------- */

static struct status keep_line(const char *text, size_t length, char **line) {
  *line = strndup(text, length);
  return *line != NULL ? status_ok() : status_make(STATUS_MEMORY, "no memory for a process's answer");
}

static struct status no_selftest(struct supervisor *s, enum line_result why, double timeout_s) {
  char death[128];
  describe_death(reap(s, why == LINE_EOF ? 2.0 : 0.0), death, sizeof death);
  if (why == LINE_INTERRUPTED) return status_make(STATUS_INTERNAL, "interrupted");
  if (why == LINE_DEADLINE) {
    return status_make(STATUS_DEVICE, "the self-test of %s gave no answer within %g s (--timeout)", s->device_spec,
                       timeout_s);
  }
  return status_make(STATUS_DEVICE, "the self-test of %s failed: %s", s->device_spec, death);
}

struct status supervise_selftest(const char *device_spec, double timeout_s, char **line) {
  struct supervisor s = {.pid = 0};
  char *text;
  size_t length;
  snprintf(s.device_spec, sizeof s.device_spec, "%s", device_spec);
  char *const argv[] = {"attnbench", "measure-self", "--device", s.device_spec, NULL};
  signals_watch();
  struct status status = start_process(&s, argv);
  if (status_failed(&status)) return status;
  const enum line_result got = read_line(&s, clock_now_s() + timeout_s, &text, &length);
  if (got == LINE_GOT) {
    status = take_failure(text, length);
    if (!status_failed(&status)) status = keep_line(text, length, line);
    reap(&s, 2.0);
  } else {
    status = no_selftest(&s, got, timeout_s);
  }
  free(s.buffer);
  return status;
}

struct status supervise_renew(struct supervisor *s) {
  const struct device_info before = s->hello.device;
  if (s->pid != 0) reap(s, 5.0);
  struct status status = start_worker(s);
  const bool is_same =
      strcmp(before.uuid, s->hello.device.uuid) == 0 && strcmp(before.name, s->hello.device.name) == 0;
  if (!status_failed(&status) && !is_same) {
    status = status_make(STATUS_DEVICE, "a fresh process found another device: %s %s instead of %s %s",
                         s->hello.device.name, s->hello.device.uuid, before.name, before.uuid);
  }
  return status;
}

/* ---- loaded objects ------------------------------------------------------------------------------------------ */

/* Why no description came: the child is gone, or has to go. */
static struct status no_description(struct supervisor *s, const char *path, enum line_result why, double timeout_s) {
  char death[128];
  describe_death(reap(s, why == LINE_EOF ? 2.0 : 0.0), death, sizeof death);
  if (why == LINE_INTERRUPTED) return status_make(STATUS_INTERNAL, "interrupted");
  if (why == LINE_DEADLINE) {
    return status_make(STATUS_USAGE, "--load %s: opening it took more than %.0f s; look at its constructors", path,
                       timeout_s);
  }
  return status_make(STATUS_USAGE, "--load %s: opening it failed: %s; look at its constructors and its attn_plugin",
                     path, death);
}

struct status supervise_load(const char *path, char **line) {
  const double load_timeout_s = 10.0;
  char *const argv[] = {"attnbench", "describe", "--load", (char *)path, NULL};
  struct supervisor s = {0};
  char *text;
  size_t length;
  if (object_count == ATTN_PLUGINS_MAX) return status_make(STATUS_USAGE, "--load %s: one object too many", path);
  signals_watch();
  struct status status = start_process(&s, argv);
  if (status_failed(&status)) return status;
  const enum line_result got = read_line(&s, clock_now_s() + load_timeout_s, &text, &length);
  if (got == LINE_GOT) {
    status = keep_line(text, length, line);
    reap(&s, 2.0);
  } else {
    status = no_description(&s, path, got, load_timeout_s);
  }
  free(s.buffer);
  if (!status_failed(&status)) objects[object_count++] = path;
  return status;
}

/* ---- cells --------------------------------------------------------------------------------------------------- */

/* The record of a cell whose worker gave no answer, and has to go. */
static struct status lost_cell(struct supervisor *s, const struct cell_request *request, enum line_result why,
                               double started_s, struct record *out) {
  struct variant_spec spec;
  const struct status status = variant_spec_parse(request->variant, "request", STATUS_INTERNAL, &spec);
  if (status_failed(&status)) return status;
  plan_record(&request->attn_case, &spec, &s->hello.device, out);
  const int wait_status = reap(s, why == LINE_EOF ? 2.0 : 0.0);
  if (why == LINE_DEADLINE) {
    out->status = CELL_timeout;
    snprintf(out->reason, sizeof out->reason, "no answer within %g s (--timeout); the worker was killed",
             s->cell_timeout_s);
  } else if (why == LINE_UNREADABLE) {
    out->status = CELL_crashed;
    snprintf(
        out->reason, sizeof out->reason,
        "the worker process gave an answer that is none, and was killed: something in it wrote to its pipe, file "
        "descriptor %d, or over its memory",
        WORKER_REPLY_FD);
  } else {
    out->status = CELL_crashed;
    describe_death(wait_status, out->reason, sizeof out->reason);
  }
  out->wall_s = clock_now_s() - started_s;
  return status_ok();
}

/* STATUS_INPUT: the line is no record of what was asked for. */
static struct status read_answer(const struct cell_request *request, const char *line, size_t length,
                                 struct record *out) {
  const struct status status = record_from_line(line, length, out);
  const bool asked = status_failed(&status) || (strcmp(out->attn_case.key, request->attn_case.key) == 0 &&
                                                strcmp(out->variant, request->variant) == 0);
  return asked ? status : status_make(STATUS_INPUT, "%s of %s was not asked for", out->attn_case.key, out->variant);
}

struct status supervise_cell(struct supervisor *s, const struct cell_request *request, struct record *out) {
  char *line;
  size_t length;
  const double started_s = clock_now_s();
  if (s->pid == 0) {
    const struct status status = start_worker(s);
    if (status_failed(&status)) return status;
  }
  const enum line_result got =
      write_request(s, request) ? read_line(s, clock_now_s() + s->cell_timeout_s, &line, &length) : LINE_EOF;
  if (got == LINE_INTERRUPTED) return status_make(STATUS_INTERNAL, "interrupted");
  if (got == LINE_NO_MEMORY) return status_make(STATUS_MEMORY, "no memory for a worker's answer");
  if (got != LINE_GOT) return lost_cell(s, request, got, started_s, out);
  const struct status status = read_answer(request, line, length, out);
  if (status.code == STATUS_INPUT) return lost_cell(s, request, LINE_UNREADABLE, started_s, out);
  if (!status_failed(&status) && out->status == CELL_error) reap(s, 2.0); /* its device may be unusable */
  return status;
}
