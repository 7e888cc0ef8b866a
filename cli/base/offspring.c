/* Becomes the parent of processes that children leave running, and ends them. */
#include "cli/base/child.h"
#include "cli/base/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_US = 5000, STAT_MAX = 512 };
static const double killing_s = 2; /* ends thousands of processes; one that the kernel holds does not end */

/* Reads the parent from /proc/PID/stat, where it follows the name, which may have any characters, and the state. 0
 * when the process is gone. */
static pid_t parent_of(const char *pid) {
  char path[64], text[STAT_MAX];
  int parent = 0;
  snprintf(path, sizeof path, "/proc/%.16s/stat", pid);
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  const char *name_end = strrchr(text, ')');
  if (name_end == NULL || sscanf(name_end, ") %*c %d", &parent) != 1) return 0;
  return parent;
}

/* A look at all processes takes milliseconds where there are many. */
static bool has_children(void) {
  siginfo_t unused;
  return waitid(P_ALL, 0, &unused, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

static void list(struct offspring *out) {
  out->count = 0;
  if (!has_children()) return;
  DIR *folder = opendir("/proc");
  for (const struct dirent *entry;
       folder != NULL && out->count < OFFSPRING_MAX && (entry = readdir(folder)) != NULL;) {
    if (!isdigit((unsigned char)entry->d_name[0]) || parent_of(entry->d_name) != getpid()) continue;
    out->pid[out->count++] = (pid_t)strtol(entry->d_name, NULL, 10);
  }
  if (folder != NULL) closedir(folder);
}

/* Of one thread, from a file that most kernels have. False: this one has not. */
static bool add_children(const char *thread, struct offspring *out) {
  char path[64];
  int pid;
  snprintf(path, sizeof path, "/proc/self/task/%.16s/children", thread);
  FILE *file = fopen(path, "re");
  if (file == NULL) return false;
  while (out->count < OFFSPRING_MAX && fscanf(file, "%d", &pid) == 1) out->pid[out->count++] = pid;
  fclose(file);
  return true;
}

/* A thread that ends meanwhile gives its children to another one, which the next call finds. */
static void list_quickly(struct offspring *out) {
  bool is_listed = true;
  DIR *threads = opendir("/proc/self/task");
  out->count = 0;
  for (const struct dirent *entry; threads != NULL && is_listed && (entry = readdir(threads)) != NULL;) {
    if (isdigit((unsigned char)entry->d_name[0])) is_listed = add_children(entry->d_name, out);
  }
  if (threads != NULL) closedir(threads);
  if (threads == NULL || !is_listed) list(out);
}

static bool is_in(const struct offspring *set, pid_t pid) {
  for (size_t i = 0; i < set->count; ++i) {
    if (set->pid[i] == pid) return true;
  }
  return false;
}

/* Lists the children that are not in `before` and returns their number. Children that have ended are reaped and not
 * listed. */
static size_t count_left(const struct offspring *before, struct offspring *left) {
  struct offspring now;
  bool has_more = true;
  left->count = 0;
  while (left->count == 0 && has_more) {
    size_t reaped = 0;
    list(&now);
    for (size_t i = 0; i < now.count; ++i) {
      if (is_in(before, now.pid[i])) continue;
      if (waitpid(now.pid[i], NULL, WNOHANG | __WALL) == now.pid[i])
        ++reaped;
      else
        left->pid[left->count++] = now.pid[i];
    }
    has_more = now.count == OFFSPRING_MAX && reaped > 0; /* those that have ended may have filled the list */
  }
  return left->count;
}

void offspring_adopt(struct offspring *out) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  list(out);
}

size_t offspring_count(const struct offspring *before) {
  struct offspring now;
  size_t count = 0;
  list(&now);
  for (size_t i = 0; i < now.count; ++i) count += !is_in(before, now.pid[i]);
  while (waitpid(-1, NULL, WNOHANG | __WALL) > 0) continue;
  return count;
}

size_t offspring_strays(const struct offspring *kept) {
  struct offspring now;
  size_t count = 0;
  list_quickly(&now);
  for (size_t i = 0; i < now.count; ++i) count += !is_in(kept, now.pid[i]);
  return count;
}

bool offspring_end(const struct offspring *before, double patience_s) {
  struct offspring left;
  const double deadline_s = clock_now_s() + patience_s;
  while (count_left(before, &left) > 0 && clock_now_s() < deadline_s) usleep(POLL_US);
  const bool any = left.count > 0;
  /* At most OFFSPRING_MAX are listed at a time, and the children of a process that is killed come here next. */
  for (const double end_s = clock_now_s() + killing_s; count_left(before, &left) > 0 && clock_now_s() < end_s;) {
    for (size_t k = 0; k < left.count; ++k) kill(left.pid[k], SIGKILL);
    usleep(POLL_US);
  }
  return any;
}
