/* Reads and compares the state of a worker process. */
#include "cli/measure/worker.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/base/text.h"
#include "kernels/float_mode.h"

extern char **environ;

/* The first line of a file of the kernel; false and "": it cannot be read. */
static bool read_line(const char *path, char *out, int size) {
  FILE *file = fopen(path, "re");
  const bool is_read = file != NULL && fgets(out, size, file) != NULL;
  if (file != NULL) fclose(file);
  if (!is_read) out[0] = '\0';
  return is_read;
}

/* ---- settings ------------------------------------------------------------------------------------------------ */

#define MIX(hash, value) hash_add(hash, &(value), sizeof(value))

/* Without the time that is left, which runs down by itself. */
static uint64_t interval_timers(void) {
  static const __itimer_which_t kinds[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
  uint64_t hash = HASH_EMPTY;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    struct itimerval timer = {{0, 0}, {0, 0}};
    getitimer(kinds[i], &timer);
    const bool runs = timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0;
    hash = MIX(hash, runs);
    hash = MIX(hash, timer.it_interval.tv_sec);
    hash = MIX(hash, timer.it_interval.tv_usec);
  }
  return hash;
}

static uint64_t resource_limits(void) {
  uint64_t hash = HASH_EMPTY;
  for (int i = 0; i < RLIM_NLIMITS; ++i) {
    struct rlimit limit = {0, 0};
    getrlimit((__rlimit_resource_t)i, &limit);
    hash = MIX(hash, limit.rlim_cur);
    hash = MIX(hash, limit.rlim_max);
  }
  return hash;
}

static uint64_t signal_mask(void) {
  uint64_t hash = HASH_EMPTY;
  sigset_t mask;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  for (int number = 1; number < NSIG; ++number) {
    const int blocked = sigismember(&mask, number);
    hash = MIX(hash, blocked);
  }
  return hash;
}

static void read_handlers(struct sigaction handler[NSIG]) {
  memset(handler, 0, NSIG * sizeof *handler);
  for (int number = 1; number < NSIG; ++number) sigaction(number, NULL, &handler[number]); /* fails for libc's own */
}

/* The C library adds this flag to those of every action that it sets, so that it is not compared. Its headers do not
 * name it. */
enum { SA_OF_LIBC = 0x04000000 };

/* What signal() puts back where a library had a handler of its own for a while, as NVRTC has while it compiles, has
 * SA_RESTART, which says nothing where there is no function to run. */
static bool is_same_handler(const struct sigaction *a, const struct sigaction *b) {
  const bool is_function = a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
  const int ignored = SA_OF_LIBC | (is_function ? 0 : SA_RESTART);
  return a->sa_handler == b->sa_handler && ((a->sa_flags ^ b->sa_flags) & ~ignored) == 0;
}

static uint64_t locale_name(void) {
  const char *name = setlocale(LC_ALL, NULL);
  const locale_t of_thread = uselocale((locale_t)0);
  return name != NULL ? hash_add(MIX(HASH_EMPTY, of_thread), name, strlen(name)) : 0;
}

static uint64_t file_mode_mask(void) {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

static uint64_t working_folder(void) {
  struct stat info;
  return stat(".", &info) == 0 ? MIX(MIX(HASH_EMPTY, info.st_dev), info.st_ino) : 0;
}

static uint64_t environment(void) {
  uint64_t hash = HASH_EMPTY;
  for (char **at = environ; at != NULL && *at != NULL; ++at) hash = hash_add(hash, *at, strlen(*at) + 1);
  return hash;
}

static uint64_t cpu_affinity(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? MIX(HASH_EMPTY, set) : 0;
}

static uint64_t scheduling(void) {
  const int priority = getpriority(PRIO_PROCESS, 0), policy = sched_getscheduler(0);
  return MIX(MIX(HASH_EMPTY, priority), policy);
}

static uint64_t attributes(void) {
  int kill_signal = 0, adopts = 0;
  prctl(PR_GET_PDEATHSIG, &kill_signal);
  prctl(PR_GET_CHILD_SUBREAPER, &adopts);
  const long others[] = {kill_signal,
                         adopts,
                         prctl(PR_GET_DUMPABLE),
                         prctl(PR_GET_TIMERSLACK),
                         prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
                         personality(0xffffffff),
                         getpgrp(),
                         getsid(0)};
  return MIX(HASH_EMPTY, others);
}

/* With autogroup, the kernel shares processor time between sessions by one nice value for each session, which all its
 * processes share. */
static const char session_file[] = "/proc/self/autogroup";
static int read_session_nice(void) {
  char line[128];
  int value;
  read_line(session_file, line, sizeof line);
  return sscanf(line, "/autogroup-%*d nice %d", &value) == 1 ? value : LEFTOVERS_NO_NICE;
}
/* False: it stays as it is. The kernel refuses more than one change in 0.1 s. */
static bool restore_session_nice(int value) {
  enum { ATTEMPTS = 5, WAIT_US = 120000 };
  for (int i = 0; i < ATTEMPTS && read_session_nice() != value; ++i) {
    FILE *file = fopen(session_file, "we");
    if (i > 0) usleep(WAIT_US);
    if (file != NULL) fprintf(file, "%d", value);
    if (file != NULL) fclose(file);
  }
  return read_session_nice() == value;
}

/* What the kernel grants and forbids the process, and where it looks for files, networks and other processes. */
static uint64_t grants(void) {
  static const char *const names[] = {"Seccomp:", "Cap", "THP_enabled:"};
  static const char *const spaces[] = {"cgroup", "ipc", "mnt", "net", "pid_for_children", "user", "uts"};
  char line[256], path[64];
  uint64_t hash = HASH_EMPTY;
  FILE *file = fopen("/proc/self/status", "re");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
      if (strncmp(line, names[i], strlen(names[i])) == 0) hash = hash_add(hash, line, strlen(line));
  }
  if (file != NULL) fclose(file);
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; ++i) {
    snprintf(path, sizeof path, "/proc/self/ns/%s", spaces[i]);
    const ssize_t length = readlink(path, line, sizeof line);
    if (length > 0) hash = hash_add(hash, line, (size_t)length);
  }
  const long io_of_process = 1, io_priority = syscall(SYS_ioprio_get, io_of_process, 0);
  return MIX(hash, io_priority);
}

/* After mlockall(MCL_FUTURE) a new page is in memory before anything is written to it, or is refused where the limit
 * of locked memory is reached. */
static bool locks_new_memory(void) {
  const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char is_resident = 0;
  void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return errno == EAGAIN;
  mincore(page, bytes, &is_resident);
  munmap(page, bytes);
  return (is_resident & 1) != 0;
}

/* The memory policy, whether new memory is locked, and oom_score_adj. */
static uint64_t memory_settings(void) {
  enum { NODES = 1024, WORD_BITS = 8 * sizeof(long) };
  unsigned long nodes[NODES / WORD_BITS] = {0};
  char oom_text[32];
  int policy = 0;
  syscall(SYS_get_mempolicy, &policy, nodes, (unsigned long)NODES, NULL, 0UL); /* not in every kernel */
  read_line("/proc/self/oom_score_adj", oom_text, sizeof oom_text);
  const long oom_score = strtol(oom_text, NULL, 10);
  const bool locks = locks_new_memory();
  return MIX(MIX(MIX(MIX(HASH_EMPTY, policy), nodes), oom_score), locks);
}

/* AddressSanitizer forbids the gaps that it leaves between constants. */
__attribute__((no_sanitize("address"))) static uint64_t hash_all(uint64_t hash, const uint64_t *words, size_t count) {
  for (size_t i = 0; i < count; ++i) hash = (hash ^ words[i] ^ hash >> 29) * UINT64_C(0x100000001b3);
  return hash;
}

/* What the loader made read-only in the program, its table of functions (GOT) included. */
static int add_read_only(struct dl_phdr_info *object, size_t size, void *hash) {
  (void)size;
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    const ElfW(Addr) page = (ElfW(Addr))sysconf(_SC_PAGESIZE),
                     begin = (object->dlpi_addr + part->p_vaddr + 7) / 8 * 8;
    if (part->p_type != PT_GNU_RELRO) continue;
    /* The loader protects whole pages: what lies behind the last one is written as usual. */
    const ElfW(Addr) end = (begin + part->p_memsz) / page * page;
    if (end > begin) *(uint64_t *)hash = hash_all(*(uint64_t *)hash, (const uint64_t *)begin, (end - begin) / 8);
  }
  return 1; /* the program comes first, and alone is read */
}
static uint64_t table_of_functions(void) {
  uint64_t hash = HASH_EMPTY;
  dl_iterate_phdr(add_read_only, &hash);
  return hash;
}

/* The first instructions of functions that tell the time or wait for it, wherever they lie. */
static uint64_t clock_code(void) {
  enum { WORDS = 8 };
  static const union {
    int (*tell)(clockid_t, struct timespec *);
    int (*tell_day)(struct timeval *, void *);
    time_t (*tell_seconds)(time_t *);
    int (*wait)(const struct timespec *, struct timespec *);
    int (*wait_until)(clockid_t, int, const struct timespec *, struct timespec *);
    int (*wait_us)(useconds_t);
    const uint64_t *code;
  } functions[] = {{.tell = clock_gettime}, {.tell_day = gettimeofday},      {.tell_seconds = time},
                   {.wait = nanosleep},     {.wait_until = clock_nanosleep}, {.wait_us = usleep}};
  uint64_t hash = HASH_EMPTY;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) hash = hash_all(hash, functions[i].code, WORDS);
  return hash;
}

/* Of the process that started this one: it starts the next workers, which inherit them. */
static uint64_t of_parent(void) {
  static const __rlimit_resource_t limits[] = {RLIMIT_AS,    RLIMIT_CORE,    RLIMIT_CPU,  RLIMIT_DATA,
                                               RLIMIT_FSIZE, RLIMIT_MEMLOCK, RLIMIT_NICE, RLIMIT_NOFILE,
                                               RLIMIT_NPROC, RLIMIT_STACK};
  const pid_t parent = getppid();
  const int priority = getpriority(PRIO_PROCESS, (id_t)parent), policy = sched_getscheduler(parent);
  uint64_t hash = MIX(MIX(HASH_EMPTY, priority), policy);
  cpu_set_t set;
  if (sched_getaffinity(parent, sizeof set, &set) == 0) hash = MIX(hash, set);
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    struct rlimit limit = {0, 0};
    prlimit(parent, limits[i], NULL, &limit);
    hash = MIX(MIX(hash, limit.rlim_cur), limit.rlim_max);
  }
  return hash;
}

static const struct {
  uint64_t (*read)(void);
  const char *changed;
} settings[] = {
    {interval_timers, "set an interval timer"},
    {resource_limits, "changed resource limits"},
    {signal_mask, "changed the signal mask"},
    {locale_name, "changed the locale"},
    {file_mode_mask, "changed the umask"},
    {working_folder, "changed the working folder"},
    {environment, "changed the environment"},
    {cpu_affinity, "changed the CPU affinity"},
    {scheduling, "changed the nice value or the scheduling policy"},
    {attributes, "changed its process group or attributes (prctl)"},
    {of_parent, "saw a change of the priority, the CPU affinity or limits of the process that starts workers"},
    {table_of_functions, "changed the program's table of functions"},
    {clock_code, "changed the code of a function that tells the time or waits"},
    {memory_settings, "changed its memory policy, locked memory (mlockall(MCL_FUTURE)) or oom_score_adj"},
    {grants, "changed its capabilities, namespaces, seccomp filter, huge pages or I/O priority"},
};
enum { SETTINGS = sizeof settings / sizeof *settings };
_Static_assert((int)SETTINGS <= (int)LEFTOVERS_SETTINGS_MAX, "a state has room for each");

/* ---- lists --------------------------------------------------------------------------------------------------- */

static const char threads_folder[] = "/proc/self/task", descriptors_folder[] = "/proc/self/fd";

/* What the descriptor is open on, and how. */
static uint64_t describe_descriptor(int fd) {
  struct stat info;
  const int flags[] = {fcntl(fd, F_GETFD), fcntl(fd, F_GETFL)};
  return fstat(fd, &info) == 0 ? MIX(MIX(MIX(MIX(HASH_EMPTY, info.st_dev), info.st_ino), info.st_rdev), flags) : 0;
}

/* The entries of a folder whose names are numbers. */
static void list(const char *path, struct leftovers_list *out) {
  out->count = 0;
  DIR *folder = opendir(path);
  for (const struct dirent *entry;
       folder != NULL && out->count < LEFTOVERS_LISTED_MAX && (entry = readdir(folder)) != NULL;) {
    const long id = strtol(entry->d_name, NULL, 10);
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    if (path == descriptors_folder && id == dirfd(folder)) continue;
    out->item[out->count].id = (uint64_t)id;
    out->item[out->count++].what = path == descriptors_folder ? describe_descriptor((int)id) : 0;
  }
  if (folder != NULL) closedir(folder);
}

static size_t count_timers(void) {
  char line[128];
  size_t count = 0;
  FILE *file = fopen("/proc/self/timers", "re"); /* kernels without checkpoint support lack it */
  while (file != NULL && fgets(line, sizeof line, file) != NULL) count += strncmp(line, "ID:", 3) == 0;
  if (file != NULL) fclose(file);
  return count;
}

/* A thread that was joined is listed until it has left the kernel; it runs no more code of its own. */
static bool is_exiting(uint64_t thread) {
  const unsigned exiting = 0x4; /* PF_EXITING, proc(5) */
  char path[64], text[512];
  unsigned flags = 0;
  snprintf(path, sizeof path, "%s/%llu/stat", threads_folder, (unsigned long long)thread);
  if (!read_line(path, text, sizeof text)) return true;
  const char *name_end = strrchr(text, ')');
  if (name_end == NULL || sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1) return false;
  return (flags & exiting) != 0;
}

static bool has_driver(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver != NULL) dlclose(driver);
  return driver != NULL;
}

/* The CUDA driver opens devices and starts named threads when it first needs them: usually when a device is opened,
 * but any cell may be the first. */
static bool is_drivers(const char *folder, uint64_t id) {
  char path[64], text[128] = "";
  if (!has_driver()) return false;
  if (folder == descriptors_folder) {
    snprintf(path, sizeof path, "%s/%llu", folder, (unsigned long long)id);
    return readlink(path, text, sizeof text - 1) > 0 && strncmp(text, "/dev/nvidia", 11) == 0;
  }
  snprintf(path, sizeof path, "%s/%llu/comm", folder, (unsigned long long)id);
  return read_line(path, text, sizeof text) && strncmp(text, "cuda", 4) == 0;
}

/* ---- shared with other processes ------------------------------------------------------------------------------ */

/* What outlives its process, and other processes find by a name or number. */
enum shared { SHARED_MEMORY_FILE, SHARED_QUEUE, SHARED_SYSV, SHARED_KEY, SHARED_KINDS };

static const struct {
  const char *one, *several;
} shared_names[SHARED_KINDS] = {
    [SHARED_MEMORY_FILE] = {"file in /dev/shm", "files in /dev/shm"},
    [SHARED_QUEUE] = {"POSIX message queue", "POSIX message queues"},
    [SHARED_SYSV] = {"System V object (shm, sem, msg)", "System V objects (shm, sem, msg)"},
    [SHARED_KEY] = {"key of the kernel's keyrings", "keys of the kernel's keyrings"},
};

static void add_shared(struct leftovers_list *out, enum shared kind, uint64_t id) {
  if (out->count == LEFTOVERS_LISTED_MAX) return;
  out->item[out->count].id = id;
  out->item[out->count++].what = kind;
}

/* The files of this user in a folder. */
static void list_shared_files(struct leftovers_list *out, enum shared kind, const char *path) {
  DIR *folder = opendir(path);
  for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    struct stat info;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    /* The CUDA driver shares memory with processes of other programs. */
    if (kind == SHARED_MEMORY_FILE && strncmp(entry->d_name, "cuda", 4) == 0 && has_driver()) continue;
    if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || info.st_uid != geteuid()) continue;
    add_shared(out, kind, MIX(MIX(HASH_EMPTY, info.st_dev), info.st_ino));
  }
  if (folder != NULL) closedir(folder);
}

/* Lines that begin with a key and an id. Only shared memory tells its maker. It is listed if this process made it, or
 * if its maker no longer exists, which may have been a child. Semaphores and queues are always listed. */
static void list_sysv(struct leftovers_list *out, const char *kind) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/sysvipc/%s", kind);
  FILE *file = fopen(path, "re");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    long key, id, size;
    unsigned mode;
    int maker = getpid();
    if (sscanf(line, "%ld %ld %o", &key, &id, &mode) != 3) continue; /* the line of titles */
    if (strcmp(kind, "shm") == 0) sscanf(line, "%*d %*d %*o %ld %d", &size, &maker);
    const bool is_gone = kill(maker, 0) != 0 && errno == ESRCH;
    if (maker == getpid() || is_gone) add_shared(out, SHARED_SYSV, hash_add(MIX(HASH_EMPTY, id), kind, strlen(kind)));
  }
  if (file != NULL) fclose(file);
}

/* Of the types that programs make, owned by this user. The kernel makes others by itself, as when it looks up a name.
 */
static void list_keys(struct leftovers_list *out) {
  char line[512], type[16];
  FILE *file = fopen("/proc/keys", "re"); /* kernels without keyrings lack it */
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    unsigned long serial;
    unsigned owner;
    if (sscanf(line, "%lx %*s %*s %*s %*s %u %*s %15[a-z_]", &serial, &owner, type) != 3 || owner != geteuid())
      continue;
    const bool is_programs = strcmp(type, "user") == 0 || strcmp(type, "logon") == 0 || strcmp(type, "big_key") == 0;
    if (is_programs) add_shared(out, SHARED_KEY, serial);
  }
  if (file != NULL) fclose(file);
}

static void list_shared(struct leftovers_list *out) {
  out->count = 0;
  list_shared_files(out, SHARED_MEMORY_FILE, "/dev/shm");
  list_shared_files(out, SHARED_QUEUE, "/dev/mqueue"); /* the kernel lists queues only where this is mounted */
  list_sysv(out, "shm");
  list_sysv(out, "sem");
  list_sysv(out, "msg");
  list_keys(out);
}

/* ---- telling ------------------------------------------------------------------------------------------------- */

static void add(char *out, size_t size, const char *text) {
  text_append(out, size, "%s%s", out[0] != '\0' ? "; " : "", text);
}

/* "left 2 threads running", "left at least 64 child processes" */
static void add_count(char *out, size_t size, const char *verb, size_t count, size_t most, const char *one,
                      const char *several) {
  char text[96];
  snprintf(text, sizeof text, "%s %s%zu %s", verb, count >= most ? "at least " : "", count,
           count == 1 ? one : several);
  if (count > 0) add(out, size, text);
}

enum difference { SAME, MISSING, OTHER };

static enum difference look_up(const struct leftovers_list *in, uint64_t id, uint64_t what) {
  for (size_t i = 0; i < in->count; ++i) {
    if (in->item[i].id == id) return in->item[i].what == what ? SAME : OTHER;
  }
  return MISSING;
}

/* How many of `these` are missing in the other list, or are other ones there. */
static size_t count_unlike(const struct leftovers_list *these, const struct leftovers_list *in,
                           enum difference difference, const char *folder) {
  size_t count = 0;
  for (size_t i = 0; i < these->count; ++i) {
    const uint64_t id = these->item[i].id;
    if (look_up(in, id, these->item[i].what) != difference || is_drivers(folder, id)) continue;
    count += folder != threads_folder || !is_exiting(id);
  }
  return count;
}

/* The file that a handler lies in, without its folder; NULL: there is none, or it is unknown. */
static const char *object_of_handler(const struct sigaction *action) {
  void *address = NULL;
  Dl_info info;
  if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN) return NULL;
  memcpy(&address, &action->sa_handler, sizeof address);
  if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return NULL;
  return output_name_in(info.dli_fname);
}

/* "changed the handlers of signals 2, 17 (libexample.so)": where the first of them lies now. */
static void add_handlers(char *out, size_t size, const struct sigaction before[NSIG],
                         const struct sigaction now[NSIG]) {
  char numbers[NSIG * 4] = "", text[sizeof numbers + 160];
  const char *object = NULL;
  size_t count = 0;
  for (int number = 1; number < NSIG; ++number) {
    if (is_same_handler(&now[number], &before[number])) continue;
    text_append(numbers, sizeof numbers, "%s%d", count++ > 0 ? ", " : "", number);
    if (object == NULL) object = object_of_handler(&now[number]);
  }
  snprintf(text, sizeof text, "changed the %s %s%s%.80s%s", count == 1 ? "handler of signal" : "handlers of signals",
           numbers, object != NULL ? " (" : "", object != NULL ? object : "", object != NULL ? ")" : "");
  if (count > 0) add(out, size, text);
}

/* "left 2 files in /dev/shm, unless another process of this user made them" */
static void add_shared_counts(char *out, size_t size, const struct leftovers_list *before,
                              const struct leftovers_list *now) {
  size_t count[SHARED_KINDS] = {0};
  for (size_t i = 0; i < now->count; ++i)
    count[now->item[i].what] += look_up(before, now->item[i].id, now->item[i].what) != SAME;
  for (enum shared kind = 0; kind < SHARED_KINDS; ++kind) {
    if (count[kind] == 0) continue;
    add_count(out, size, "left", count[kind], SIZE_MAX, shared_names[kind].one, shared_names[kind].several);
    text_append(out, size, ", unless another process of this user made %s", count[kind] == 1 ? "it" : "them");
  }
}

void leftovers_read(struct leftovers_state *out) {
  memset(out, 0, sizeof *out);
  offspring_adopt(&out->children);
  list(threads_folder, &out->threads);
  list(descriptors_folder, &out->descriptors);
  list_shared(&out->shared);
  out->timers = count_timers();
  for (size_t i = 0; i < SETTINGS; ++i) out->setting[i] = settings[i].read();
  out->session_nice = read_session_nice();
  read_handlers(out->handler);
  float_mode_strayed();
}

void leftovers_tell(const struct leftovers_state *before, char *out, size_t size) {
  const bool strayed = float_mode_strayed();
  const size_t children = offspring_count(&before->children);
  struct leftovers_state now;
  leftovers_read(&now);
  const size_t threads = count_unlike(&now.threads, &before->threads, MISSING, threads_folder);
  const size_t opened = count_unlike(&now.descriptors, &before->descriptors, MISSING, descriptors_folder);
  const size_t closed = count_unlike(&before->descriptors, &now.descriptors, MISSING, descriptors_folder);
  const size_t changed = count_unlike(&now.descriptors, &before->descriptors, OTHER, descriptors_folder);
  const size_t timers = now.timers > before->timers ? now.timers - before->timers : 0;
  out[0] = '\0';
  add_count(out, size, "left", threads, LEFTOVERS_LISTED_MAX - 1, "thread running", "threads running");
  add_count(out, size, "left", children, OFFSPRING_MAX, "child process", "child processes");
  add_count(out, size, "left", timers, SIZE_MAX, "timer running (timer_create)", "timers running (timer_create)");
  add_count(out, size, "left", opened, LEFTOVERS_LISTED_MAX - 1, "descriptor open", "descriptors open");
  add_count(out, size, "closed", closed, SIZE_MAX, "descriptor", "descriptors");
  add_count(out, size, "changed", changed, SIZE_MAX, "descriptor", "descriptors");
  if (strayed) add(out, size, "changed the floating-point mode (rounding or denormals)");
  add_shared_counts(out, size, &before->shared, &now.shared);
  add_handlers(out, size, before->handler, now.handler);
  for (size_t i = 0; i < SETTINGS; ++i) {
    if (now.setting[i] != before->setting[i]) add(out, size, settings[i].changed);
  }
  if (now.session_nice != before->session_nice)
    add(out, size,
        restore_session_nice(before->session_nice)
            ? "changed the priority of its session (autogroup), which was put back"
            : "changed the priority of its session (autogroup), which stays changed");
}

void leftovers_restore_interrupts(const struct leftovers_state *before) {
  sigaction(SIGINT, &before->handler[SIGINT], NULL);
  sigaction(SIGTERM, &before->handler[SIGTERM], NULL);
}
