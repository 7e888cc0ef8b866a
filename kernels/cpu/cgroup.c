/* Reads limits and use of memory from the files of control groups. */
#include "kernels/cpu/cgroup.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Where a version of control groups has what. A machine may have both; the one without memory then has no such files.
 */
static const struct version {
  const char *controller; /* second field of /proc/self/cgroup */
  const char *mount, *limit, *use, *cache;
} versions[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {"", "/sys/fs/cgroup/unified", "memory.max", "memory.current", "inactive_file "},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
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

/* "N:controllers:path" of the version; false when the line is another's. */
static bool take_group(char *line, const struct version *version, const char **group) {
  char *controllers = strchr(line, ':'), *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
  if (path == NULL) return false;
  *path++ = '\0';
  path[strcspn(path, "\n")] = '\0';
  *group = path;
  const size_t length = strlen(version->controller);
  for (const char *at = controllers + 1;; ++at) {
    const size_t name = strcspn(at, ",");
    if (name == length && memcmp(at, version->controller, length) == 0) return true;
    at += name;
    if (*at == '\0') return false;
  }
}

/* From the group up to the mount. In a container the path may be the host's, and only the last one is there. */
static uint64_t least_up(const char *root, const char *group, const struct version *version) {
  char folder[PATH_MAX];
  const int mount = snprintf(folder, sizeof folder, "%s%s", root, version->mount);
  uint64_t least = UINT64_MAX;
  if (mount + (int)strlen(group) >= PATH_MAX) group = "";
  snprintf(folder + mount, sizeof folder - (size_t)mount, "%s", group);
  for (;;) {
    const uint64_t here = free_in(folder, version);
    if (here < least) least = here;
    char *slash = strrchr(folder + mount, '/');
    if (slash == NULL) return least;
    *slash = '\0';
  }
}

uint64_t cgroup_memory_free(const char *root) {
  char path[PATH_MAX], line[PATH_MAX];
  const char *group;
  uint64_t least = UINT64_MAX;
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  for (size_t i = 0; i < sizeof versions / sizeof *versions; ++i) {
    FILE *file = fopen(path, "re");
    if (file == NULL) return least;
    while (fgets(line, sizeof line, file) != NULL) {
      if (!take_group(line, &versions[i], &group)) continue;
      const uint64_t left = least_up(root, group, &versions[i]);
      if (left < least) least = left;
    }
    fclose(file);
  }
  return least;
}
