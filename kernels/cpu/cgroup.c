/* Reads memory and processor time from the files of control groups. */
#include "kernels/cpu/cgroup.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* Where a version of control groups has a controller. A machine may have both; the one without this controller then
 * has no such files. */
struct place {
  const char *controller; /* second field of /proc/self/cgroup */
  const char *mount;
};

static const struct version {
  struct place place;
  const char *limit, *use, *cache;
} versions[] = {
    {{"", "/sys/fs/cgroup"}, "memory.max", "memory.current", "inactive_file "},
    {{"", "/sys/fs/cgroup/unified"}, "memory.max", "memory.current", "inactive_file "},
    {{"memory", "/sys/fs/cgroup/memory"}, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
};

static const struct account {
  struct place place;
  const char *file, *key;
  double unit_s;
} accounts[] = {
    {{"", "/sys/fs/cgroup"}, "cpu.stat", "usage_usec ", 1e-6},
    {{"", "/sys/fs/cgroup/unified"}, "cpu.stat", "usage_usec ", 1e-6},
    {{"cpuacct", "/sys/fs/cgroup/cpuacct"}, "cpuacct.usage", "", 1e-9},
};

/* The number behind `key` at the beginning of a line; with "" of the first line. False when there is none: no such
 * file, or no limit ("max"). */
static bool read_number(const char *folder, const char *name, const char *key, uint64_t *out) {
  char path[PATH_MAX], line[160];
  bool found = false;
  const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = length < PATH_MAX ? fopen(path, "re") : NULL;
  if (file == NULL) return false;
  while (!found && fgets(line, sizeof line, file) != NULL)
    found = strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%19" SCNu64, out) == 1;
  fclose(file);
  return found;
}

static uint64_t free_in(const char *folder, const struct version *version) {
  uint64_t limit = 0, use = 0, cache = 0;
  if (!read_number(folder, version->limit, "", &limit) || !read_number(folder, version->use, "", &use))
    return UINT64_MAX;
  read_number(folder, "memory.stat", version->cache, &cache);
  const uint64_t kept = use > cache ? use - cache : 0;
  return limit > kept ? limit - kept : 0;
}

/* "N:controllers:path" of the controller; false when the line is another's. */
static bool take_group(char *line, const char *controller, const char **group) {
  char *controllers = strchr(line, ':'), *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
  if (path == NULL) return false;
  *path++ = '\0';
  path[strcspn(path, "\n")] = '\0';
  *group = path;
  const size_t length = strlen(controller);
  for (const char *at = controllers + 1;; ++at) {
    const size_t name = strcspn(at, ",");
    if (name == length && memcmp(at, controller, length) == 0) return true;
    at += name;
    if (*at == '\0') return false;
  }
}

/* The folders of the group and of those above it, the group's first. */
struct way_up {
  char folder[PATH_MAX];
  size_t mount; /* length of the last one, which is the mount */
};

/* In a container the path may be the host's, and only the mount is there. False: the place has no group of this
 * process. */
static bool begin_way(const char *root, const struct place *place, struct way_up *way) {
  char path[PATH_MAX], line[PATH_MAX];
  const char *group = NULL;
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *file = fopen(path, "re");
  if (file == NULL) return false;
  while (group == NULL && fgets(line, sizeof line, file) != NULL) {
    if (!take_group(line, place->controller, &group)) group = NULL;
  }
  fclose(file);
  if (group == NULL) return false;
  const int mount = snprintf(way->folder, sizeof way->folder, "%s%s", root, place->mount);
  if (mount >= PATH_MAX) return false;
  way->mount = (size_t)mount;
  if (way->mount + strlen(group) >= PATH_MAX) group = "";
  snprintf(way->folder + way->mount, sizeof way->folder - way->mount, "%s", group);
  return true;
}

static bool go_up(struct way_up *way) {
  char *slash = strrchr(way->folder + way->mount, '/');
  if (slash != NULL) *slash = '\0';
  return slash != NULL;
}

uint64_t cgroup_memory_free(const char *root) {
  uint64_t least = UINT64_MAX;
  struct way_up way;
  for (size_t i = 0; i < sizeof versions / sizeof *versions; ++i) {
    if (!begin_way(root, &versions[i].place, &way)) continue;
    do {
      const uint64_t here = free_in(way.folder, &versions[i]);
      if (here < least) least = here;
    } while (go_up(&way));
  }
  return least;
}

static double seconds_of(int who) {
  struct rusage use = {.ru_maxrss = 0};
  getrusage(who, &use);
  return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

struct cgroup_seconds cgroup_seconds_used(const char *root) {
  struct way_up way;
  uint64_t used;
  /* First: the kernel then brings the time of the thread that runs here up to date in the account, too. */
  struct cgroup_seconds out = {seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN), NAN};
  for (size_t i = 0; i < sizeof accounts / sizeof *accounts; ++i) {
    const struct account *account = &accounts[i];
    if (!begin_way(root, &account->place, &way)) continue;
    do {
      if (!read_number(way.folder, account->file, account->key, &used)) continue;
      out.others = account->unit_s * (double)used - out.own;
      return out;
    } while (go_up(&way));
  }
  return out;
}
