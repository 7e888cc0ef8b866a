/* What a process leaves is told by name, and what it tidied up is not. */
#include <fcntl.h>
#include <fenv.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/measure/worker.h"
#include "tests/unit.h"

enum { TEXT_MAX = 400 };

/* What `change` leaves, in a process of its own; its text comes through a pipe. */
static void left_by(void (*change)(void), char out[TEXT_MAX]) {
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  const pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    struct leftovers_state before;
    char text[TEXT_MAX] = "";
    leftovers_read(&before);
    change();
    leftovers_tell(&before, text, sizeof text);
    _exit(write(fds[1], text, sizeof text) == sizeof text ? 0 : 1);
  }
  int wait_status = 0;
  close(fds[1]);
  assert_int_equal(read(fds[0], out, TEXT_MAX), TEXT_MAX);
  close(fds[0]);
  assert_int_equal(waitpid(pid, &wait_status, 0), pid);
  assert_int_equal(wait_status, 0);
}

static void *end_at_once(void *unused) { return unused; }

static void *wait_for_ever(void *unused) {
  for (;;) pause();
  return unused;
}

static void nothing(void) {}

/* A joined thread may still be on its way out of the kernel. */
static void tidy(void) {
  for (int i = 0; i < 200; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, end_at_once, NULL);
    pthread_join(thread, NULL);
  }
  close(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, NULL, 0);
  umask(umask(0));
  fesetround(FE_UPWARD);
  fesetround(FE_TONEAREST);
}

TEST(what_was_tidied_up_is_not_told) {
  char text[TEXT_MAX];
  for (int i = 0; i < 20; ++i) {
    left_by(i % 2 == 0 ? tidy : nothing, text);
    assert_string_equal(text, "");
  }
}

static void leave_threads(void) {
  pthread_t thread;
  for (int i = 0; i < 2; ++i) pthread_create(&thread, NULL, wait_for_ever, NULL);
}

/* One that has ended and that nobody waited for is left too. */
static void leave_children(void) {
  const pid_t self = getpid();
  if (fork() == 0) _exit(0);
  const pid_t pid = fork();
  if (pid != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* make waits for whoever holds a descriptor of it */
  while (getppid() == self) pause();
  _exit(0);
}

static void leave_timer(void) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  const struct itimerspec late = {.it_value = {.tv_sec = 60}};
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &late, NULL);
}

static void leave_interval(void) {
  const struct itimerval late = {.it_value = {.tv_sec = 60}};
  setitimer(ITIMER_REAL, &late, NULL);
}

static void leave_limit(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  --limit.rlim_cur;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static void leave_descriptors(void) {
  (void)!dup(STDERR_FILENO);
  (void)!dup(STDERR_FILENO);
}

static void replace_descriptor(void) {
  int fds[2];
  (void)!pipe(fds);
  dup2(fds[0], STDIN_FILENO);
  close(fds[0]);
  close(fds[1]);
}

/* Named as those of CUDA's driver, which this process has not loaded. */
static void *wait_as_driver(void *unused) {
  prctl(PR_SET_NAME, "cuda00001400006");
  return wait_for_ever(unused);
}

static void leave_named_thread(void) {
  pthread_t thread;
  char name[16] = "";
  pthread_create(&thread, NULL, wait_as_driver, NULL);
  while (strncmp(name, "cuda", 4) != 0) pthread_getname_np(thread, name, sizeof name);
}

static int change_first_byte(struct dl_phdr_info *object, size_t size, void *unused) {
  (void)size, (void)unused;
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *begin = (unsigned char *)object->dlpi_addr + part->p_vaddr;
    if (part->p_type != PT_GNU_RELRO) continue;
    mprotect(begin - (uintptr_t)begin % page, page, PROT_READ | PROT_WRITE);
    *begin ^= 1;
  }
  return 1;
}
static void change_functions(void) { dl_iterate_phdr(change_first_byte, NULL); }

static void change_parent(void) {
  struct rlimit limit;
  prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit);
  --limit.rlim_cur;
  prlimit(getppid(), RLIMIT_NOFILE, &limit, NULL);
}

static void leave_several(void) {
  fesetround(FE_DOWNWARD);
  umask(umask(0) ^ 1);
  setenv("LEFTOVERS_TEST", "1", 1);
  signal(SIGUSR1, SIG_IGN);
}

TEST(what_is_left_is_told_by_name) {
  static const struct {
    void (*change)(void);
    const char *text;
  } cases[] = {
      {leave_threads, "left 2 threads running"},
      {leave_children, "left 2 child processes"},
      {leave_timer, "left 1 timer running (timer_create)"},
      {leave_interval, "set an interval timer"},
      {leave_limit, "changed resource limits"},
      {leave_descriptors, "left 2 descriptors open"},
      {replace_descriptor, "changed 1 descriptor"},
      {leave_named_thread, "left 1 thread running"},
      {change_functions, "changed the program's table of functions"},
      {change_parent, "saw a change of the priority, the CPU affinity or limits of the process that starts workers"},
      {leave_several,
       "changed the floating-point mode (rounding or denormals); changed the handler of signal 10; changed the "
       "umask; "
       "changed the environment"},
  };
  struct rlimit limit; /* of this process, which change_parent changes */
  getrlimit(RLIMIT_NOFILE, &limit);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char text[TEXT_MAX];
    if (cases[i].change == leave_timer && access("/proc/self/timers", R_OK) != 0) continue;
    left_by(cases[i].change, text);
    setrlimit(RLIMIT_NOFILE, &limit);
    assert_string_equal(text, cases[i].text);
  }
}
