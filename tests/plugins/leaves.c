/* A variant that is right for one query and one key (the output is V) and leaves something in its process, once: what
 * the variable LEAVES says. */
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <link.h>
#include <locale.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/plugins/rest.h"

#define NAME "leaves"
#define HOOKS                                                                                              \
  static void leave(const char *place);                                                                    \
  static const char *leaves_supports(const struct attn_problem *shape UNUSED,                              \
                                     const struct attn_tuning *tuning UNUSED,                              \
                                     const struct device_info *device UNUSED) {                            \
    leave("supports");                                                                                     \
    return NULL;                                                                                           \
  }                                                                                                        \
  static void compute(void *o, const void *v, size_t bytes);                                               \
  static void leaves_run(const struct attn_problem *s, const struct attn_plan *planned UNUSED,             \
                         const struct attn_buffers *buffers, unsigned threads UNUSED) {                    \
    compute(buffers->o, buffers->v, (s->dtype == ATTN_F32 ? 4 : 2) * (size_t)s->B * s->Hq * s->Sq * s->D); \
    leave("run");                                                                                          \
  }                                                                                                        \
  __attribute__((constructor)) static void opened(void) { leave("opened"); }
#define SUPPORTS leaves_supports
#define RUN      leaves_run
#include "tests/plugins/plugin.h"

/* ---- threads ------------------------------------------------------------------------------------------------- */

static void start(void *(*body)(void *)) {
  pthread_t thread;
  pthread_create(&thread, NULL, body, NULL);
  pthread_detach(thread);
}

static void *wait_for_ever(void *unused) {
  for (;;) pause();
  return unused;
}

/* Ends after the cell, before the run. */
static void *wait_a_while(void *unused) {
  rest(300000);
  return unused;
}

/* The outputs of the last launch. The lock keeps those of the launch before from being written over them. */
static pthread_mutex_t outputs_lock = PTHREAD_MUTEX_INITIALIZER;
static void *output, *kept;
static size_t output_bytes;

static void compute(void *o, const void *v, size_t bytes) {
  pthread_mutex_lock(&outputs_lock);
  if (bytes != output_bytes) kept = realloc(kept, bytes);
  output = o, output_bytes = bytes;
  memcpy(output, v, bytes);
  memcpy(kept, v, bytes);
  pthread_mutex_unlock(&outputs_lock);
}

/* Writes the outputs of the last launch again and again: its own cell stays right, and the next cell's outputs may
 * lie there. */
static void *write_outputs(void *unused) {
  for (;;) {
    pthread_mutex_lock(&outputs_lock);
    memcpy(output, kept, output_bytes);
    pthread_mutex_unlock(&outputs_lock);
    rest(100);
  }
  return unused;
}

static void four_threads(void) {
  for (int i = 0; i < 4; ++i) start(wait_for_ever);
}
static void brief_thread(void) { start(wait_a_while); }
static void writing_thread(void) { start(write_outputs); }

/* Where a driver is loaded, a thread with a name such as the driver's own have. */
static void *wait_as_the_driver(void *unused) {
  prctl(PR_SET_NAME, "cuda-EvtHandlr");
  return wait_for_ever(unused);
}
static void drivers_thread(void) {
  if (dlopen(getenv("LEAVES_DRIVER"), RTLD_NOW) == NULL) abort();
  start(wait_as_the_driver);
  rest(50000);
}

/* ---- processes ----------------------------------------------------------------------------------------------- */

static void live_on(void) {
  for (;;) pause();
}

static void child(void) {
  if (fork() == 0) live_on();
}

static void stubborn_child(void) {
  if (fork() != 0) return;
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  live_on();
}

static void daemon_process(void) {
  if (fork() != 0) return;
  setsid();
  if (fork() == 0) live_on();
  _exit(0);
}

static void held_child(void) {
  child();
  live_on();
}

static void held_daemon(void) {
  daemon_process();
  live_on();
}

/* More than are listed at a time, each in a session of its own. */
static void many_children(void) {
  for (int i = 0; i < 300; ++i) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, 0);
    setsid();
    live_on();
  }
}

/* A child of the worker's parent. */
static void sibling(void) {
  if (syscall(SYS_clone, (long)CLONE_PARENT | SIGCHLD, 0L, 0L, 0L, 0L) == 0) live_on();
}

/* Both return. */
static void copy(void) { (void)!fork(); }

/* ---- timers -------------------------------------------------------------------------------------------------- */

static void interval_timer(void) {
  const struct itimerval soon = {.it_value = {.tv_usec = 400000}};
  setitimer(ITIMER_VIRTUAL, &soon, NULL);
  setitimer(ITIMER_REAL, &soon, NULL);
}

static void profile_timer(void) {
  const struct itimerval soon = {.it_value = {.tv_usec = 400000}};
  setitimer(ITIMER_PROF, &soon, NULL);
}

static void end_process(union sigval unused UNUSED) { _exit(3); }

static void make_timer(struct sigevent *event) {
  const struct itimerspec soon = {.it_value = {.tv_nsec = 400000000}};
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, event, &timer);
  timer_settime(timer, 0, &soon, NULL);
}

static void thread_timer(void) {
  make_timer(&(struct sigevent){.sigev_notify = SIGEV_THREAD, .sigev_notify_function = end_process});
}
static void signal_timer(void) {
  make_timer(&(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1});
}

/* ---- shared with other processes --------------------------------------------------------------------------------
 */

/* The test removes it. */
static void memory_file(void) {
  const int fd = open(getenv("LEAVES_SHARED"), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd >= 0) close(fd);
}

/* The test removes it. */
static void message_queue(void) {
  const mqd_t queue = mq_open(getenv("LEAVES_SHARED"), O_RDWR | O_CREAT | O_EXCL, 0600, NULL);
  if (queue >= 0) mq_close(queue);
}

/* Gone with the process, as the key below. */
static void shared_memory(void) {
  const int id = shmget(IPC_PRIVATE, 4096, 0600);
  shmat(id, NULL, 0);
  shmctl(id, IPC_RMID, NULL);
}

/* Only for whoever possesses it, or tests that run at the same time would find it in their workers. */
static void kernel_key(void) {
  const long process_keyring = -2, setperm = 5, possessor = 0x3f000000; /* of linux/keyctl.h */
  const long key = syscall(SYS_add_key, "user", "attnbench-leaves", "1", 1L, process_keyring);
  syscall(SYS_keyctl, setperm, key, possessor);
}

/* ---- settings ------------------------------------------------------------------------------------------------ */

static void limit(void) {
  struct rlimit most;
  getrlimit(RLIMIT_FSIZE, &most);
  most.rlim_cur = 0;
  setrlimit(RLIMIT_FSIZE, &most);
}

static void mask(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
}

static void handler(void) { signal(SIGUSR2, SIG_IGN); }
static void do_nothing(int number) { (void)number; }
static void own_handler(void) { signal(SIGUSR2, do_nothing); }
static void handler_put_back(void) {
  own_handler();
  signal(SIGUSR2, SIG_DFL);
}
static void rounding(void) { fesetround(FE_UPWARD); }
static void new_locale(void) { setlocale(LC_ALL, "C.UTF-8"); }
static void new_umask(void) { umask(umask(0) ^ 1); }
static void folder(void) { (void)!chdir(getenv("LEAVES_FOLDER")); }
static void descriptors(void) {
  for (int i = 0; i < 3; ++i) (void)!open("/dev/null", O_RDONLY);
}
static void closing(void) { close(STDIN_FILENO); }
/* That the worker reads: those with lower numbers may be the test's own. */
static int highest_pipe(void) {
  for (int fd = 1023; fd > STDERR_FILENO; --fd) {
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) return fd;
  }
  return -1;
}
static void not_blocking(void) { fcntl(highest_pipe(), F_SETFL, O_NONBLOCK); }
static void variable(void) { setenv("LEAVES_MORE", "1", 1); }
static void affinity(void) {
  cpu_set_t set;
  int cpu = 0;
  sched_getaffinity(0, sizeof set, &set);
  while (!CPU_ISSET(cpu, &set)) ++cpu;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}
static void niceness(void) { (void)!nice(1); }
static void session_nice(void) {
  FILE *file = fopen("/proc/self/autogroup", "w");
  if (file == NULL) return;
  fprintf(file, "7");
  fclose(file);
}
static void locked_memory(void) { syscall(SYS_mlockall, MCL_FUTURE); } /* AddressSanitizer replaces mlockall */
static void memory_nodes(void) {
  const unsigned long preferred = 1, nodes = 1;
  syscall(SYS_set_mempolicy, preferred, &nodes, 8UL);
}
static void sacrificed(void) {
  FILE *file = fopen("/proc/self/oom_score_adj", "w");
  if (file == NULL) return;
  fprintf(file, "999");
  fclose(file);
}
static void no_huge_pages(void) { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
static void no_end_with_parent(void) { prctl(PR_SET_PDEATHSIG, 0); }

/* Takes the requests to come. */
static void *read_requests(void *unused) {
  char bytes[65536];
  while (read(highest_pipe(), bytes, sizeof bytes) > 0) continue;
  return unused;
}
static void thief(void) { start(read_requests); }

/* ---- the program's functions ----------------------------------------------------------------------------------- */

/* A clock that runs at an eighth of its speed from the first call on. */
static int slow_clock_gettime(clockid_t clock, struct timespec *out) {
  static long long first_ns;
  const long failed = syscall(SYS_clock_gettime, clock, out);
  const long long ns = out->tv_sec * 1000000000LL + out->tv_nsec;
  if (failed != 0 || clock != CLOCK_MONOTONIC) return (int)failed;
  if (first_ns == 0) first_ns = ns;
  const long long slow_ns = first_ns + (ns - first_ns) / 8;
  out->tv_sec = slow_ns / 1000000000, out->tv_nsec = slow_ns % 1000000000;
  return 0;
}

/* Finds the program's entry for clock_gettime in its table of functions, which is read-only. */
static void slow_clock(void) {
  struct link_map *program = NULL;
  ElfW(Addr) part[DT_NUM] = {0};
  dlinfo(dlopen(NULL, RTLD_LAZY), RTLD_DI_LINKMAP, &program);
  for (const ElfW(Dyn) *entry = program->l_ld; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag < DT_NUM) part[entry->d_tag] = entry->d_un.d_ptr;
  const ElfW(Sym) *symbols = (const ElfW(Sym) *)part[DT_SYMTAB];
  const struct {
    ElfW(Addr) begin, bytes;
  } tables[] = {{part[DT_JMPREL], part[DT_PLTRELSZ]}, {part[DT_RELA], part[DT_RELASZ]}};
  for (size_t t = 0; t < 2; ++t) {
    const ElfW(Rela) *relocations = (const ElfW(Rela) *)tables[t].begin;
    for (size_t i = 0; i < tables[t].bytes / sizeof *relocations; ++i) {
      const char *name = (const char *)part[DT_STRTAB] + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name;
      const size_t page = (size_t)sysconf(_SC_PAGESIZE);
      const ElfW(Addr) at = program->l_addr + relocations[i].r_offset;
      if (strcmp(name, "clock_gettime") != 0) continue;
      mprotect((void *)(at / page * page), page, PROT_READ | PROT_WRITE);
      *(int (**)(clockid_t, struct timespec *))at = slow_clock_gettime;
    }
  }
}

/* A clock that is as right as the one that it stands for, where x86-64 jumps to it. */
static int own_clock_gettime(clockid_t clock, struct timespec *out) {
  return (int)syscall(SYS_clock_gettime, clock, out);
}
static void clock_code(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const uintptr_t at = (uintptr_t)clock_gettime, to = (uintptr_t)own_clock_gettime;
  unsigned char jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; /* mov rax, to; jmp rax */
  memcpy(jump + 2, &to, sizeof to);
  if (mprotect((void *)(at / page * page), 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) abort();
  memcpy((void *)at, jump, sizeof jump);
}

static const struct {
  const char *name, *place;
  void (*leave)(void);
} kinds[] = {
    {"threads", "run", four_threads},
    {"threads_opened", "opened", four_threads},
    {"brief_thread", "run", brief_thread},
    {"writing_thread", "run", writing_thread},
    {"drivers_thread", "run", drivers_thread},
    {"child", "run", child},
    {"child_opened", "opened", child},
    {"stubborn_child", "run", stubborn_child},
    {"daemon", "run", daemon_process},
    {"held_child", "run", held_child},
    {"held_daemon", "run", held_daemon},
    {"many_children", "run", many_children},
    {"sibling", "run", sibling},
    {"copy", "run", copy},
    {"copy_supports", "supports", copy},
    {"copy_opened", "opened", copy},
    {"interval_timer", "run", interval_timer},
    {"thread_timer", "run", thread_timer},
    {"signal_timer", "run", signal_timer},
    {"memory_file", "run", memory_file},
    {"message_queue", "run", message_queue},
    {"profile_timer", "run", profile_timer},
    {"shared_memory", "run", shared_memory},
    {"kernel_key", "run", kernel_key},
    {"limit", "run", limit},
    {"mask", "run", mask},
    {"handler", "run", handler},
    {"own_handler", "run", own_handler},
    {"handler_put_back", "run", handler_put_back},
    {"rounding", "run", rounding},
    {"rounding_supports", "supports", rounding},
    {"locale", "run", new_locale},
    {"umask", "run", new_umask},
    {"folder", "run", folder},
    {"descriptors", "run", descriptors},
    {"closing", "run", closing},
    {"not_blocking", "run", not_blocking},
    {"variable", "run", variable},
    {"affinity", "run", affinity},
    {"nice", "run", niceness},
    {"outliving", "run", no_end_with_parent},
    {"session", "run", session_nice},
    {"huge_pages", "run", no_huge_pages},
    {"locked_memory", "run", locked_memory},
    {"memory_nodes", "run", memory_nodes},
    {"sacrificed", "run", sacrificed},
    {"thief", "run", thief},
    {"clock", "run", slow_clock},
    {"clock_code", "run", clock_code},
};

/* A byte for each process that opens the object. */
static void count_process(void) {
  const char *path = getenv("LEAVES_FILE");
  const int fd = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (fd < 0) return;
  (void)!write(fd, ".", 1);
  close(fd);
}

static void leave(const char *place) {
  static bool has_left;
  if (strcmp(place, "opened") == 0) count_process();
  const char *name = getenv("LEAVES");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && name != NULL && !has_left; ++i) {
    if (strcmp(kinds[i].name, name) != 0 || strcmp(kinds[i].place, place) != 0) continue;
    has_left = true;
    kinds[i].leave();
  }
}
