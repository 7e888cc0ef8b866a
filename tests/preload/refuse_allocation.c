/* LD_PRELOAD: refuses one allocation of a program, as a machine without memory would. Linux with glibc.
 *
 *   REFUSE_IN    the second word of the command line of the process that is meant ("worker", say); unset: the process
 *                whose parent does not have this library, so not what it starts
 *   REFUSE_AT    the allocation to refuse, counted from 1; unset: none
 *   REFUSE_LIST  file that gets a line per allocation: a number that is the same for the same chain of callers
 *   REFUSE_SAID  file that is made when an allocation was refused
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

enum { EARLY_BYTES = 1 << 16 };

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);

static bool meant;
static __thread bool inside;
static unsigned long count, refused_at;
static int list_fd = -1;
static uintptr_t program_begin, program_end;

/* What dlsym itself asks for while the functions behind are looked up. It is never freed. */
static char early[EARLY_BYTES];
static size_t early_used;

static void *early_allocation(size_t size) {
  void *here = early + early_used;
  early_used += (size + 15) / 16 * 16;
  if (early_used > sizeof early) _exit(120);
  return here;
}

static bool is_early(const void *pointer) {
  return (const char *)pointer >= early && (const char *)pointer < early + sizeof early;
}

/* The program itself comes first. */
static int remember_program(struct dl_phdr_info *info, size_t size, void *out) {
  (void)size, (void)out;
  program_begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && end > program_end) program_end = end;
  }
  return 1;
}

static bool is_meant(void) {
  static char line[4096];
  const char *word = getenv("REFUSE_IN");
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t length = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
  if (fd >= 0) close(fd);
  if (length <= 0) return false;
  const char *second = line + strlen(line) + 1;
  if (word == NULL) {
    const bool first = getenv("REFUSE_STARTED") == NULL;
    setenv("REFUSE_STARTED", "1", 1);
    return first;
  }
  return second < line + length && strcmp(second, word) == 0;
}

__attribute__((constructor)) static void begin(void) {
  const char *at = getenv("REFUSE_AT"), *list = getenv("REFUSE_LIST");
  inside = true;
  dl_iterate_phdr(remember_program, NULL);
  if (is_meant()) {
    if (list != NULL) list_fd = open(list, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    refused_at = at != NULL ? strtoul(at, NULL, 10) : 0;
    meant = true;
  }
  inside = false;
}

/* The program's own frames decide: libraries lie elsewhere in each process. */
static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *out) {
  uint64_t *hash = out;
  const uintptr_t place = _Unwind_GetIP(context);
  if (place >= program_begin && place < program_end) *hash = (*hash ^ (place - program_begin)) * 1099511628211u;
  return _URC_NO_REASON;
}

static void list_callers(void) {
  char line[32];
  uint64_t hash = 14695981039346656037u;
  _Unwind_Backtrace(add_frame, &hash);
  const int length = snprintf(line, sizeof line, "%016llx\n", (unsigned long long)hash);
  if (write(list_fd, line, (size_t)length) != length) _exit(121);
}

static bool is_refused(void) {
  if (!meant || inside) return false;
  inside = true;
  const unsigned long number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  if (list_fd >= 0) list_callers();
  const bool refused = number == refused_at;
  if (refused && getenv("REFUSE_SAID") != NULL)
    close(open(getenv("REFUSE_SAID"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  inside = false;
  if (refused) errno = ENOMEM;
  return refused;
}

static void find_next(void) {
  static bool looking;
  if (looking) return;
  looking = true;
  next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
  next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
  next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
  next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
}

void *malloc(size_t size) {
  if (next_malloc == NULL) find_next();
  if (next_malloc == NULL) return early_allocation(size);
  return is_refused() ? NULL : next_malloc(size);
}

void *calloc(size_t items, size_t size) {
  if (next_malloc == NULL) find_next();
  if (next_malloc == NULL) return early_allocation(items * size);
  return is_refused() ? NULL : next_calloc(items, size);
}

void *realloc(void *old, size_t size) {
  if (next_malloc == NULL) find_next();
  if (is_early(old)) {
    void *moved = malloc(size);
    if (moved != NULL) memcpy(moved, old, size);
    return moved;
  }
  return is_refused() ? NULL : next_realloc(old, size);
}

void free(void *pointer) {
  if (pointer != NULL && !is_early(pointer)) next_free(pointer);
}
