#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cpu/cgroup.h"
#include "tests/unit.h"
#include "tests/unit_scratch.h"

#define V1 "/sys/fs/cgroup/memory"
#define V2 "/sys/fs/cgroup"

static char root[PATH_MAX];

/* Makes the folders above too. */
static void put(const char *name, const char *text) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s%s", root, name);
  for (char *at = path + 1; (at = strchr(at, '/')) != NULL; ++at) {
    *at = '\0';
    mkdir(path, 0755);
    *at = '/';
  }
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static int make_root(void **state) {
  (void)state;
  scratch_name(root);
  return mkdtemp(root) == NULL;
}

static int remove_root(void **state) {
  (void)state;
  char command[PATH_MAX + 16];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  return system(command);
}

TEST_WITH(without_groups_there_is_no_limit, make_root, remove_root) {
  assert_true(cgroup_memory_free(root) == UINT64_MAX);
  put("/proc/self/cgroup", "0::/user.slice\n");
  assert_true(cgroup_memory_free(root) == UINT64_MAX);
  put(V2 "/user.slice/memory.max", "max\n");
  put(V2 "/user.slice/memory.current", "4096\n");
  assert_true(cgroup_memory_free(root) == UINT64_MAX);
}

TEST_WITH(version_2_counts_what_the_cache_gives_back, make_root, remove_root) {
  put("/proc/self/cgroup", "0::/job/step\n");
  put(V2 "/job/step/memory.max", "max\n");
  put(V2 "/job/step/memory.current", "1000\n");
  put(V2 "/job/memory.max", "1000000\n");
  put(V2 "/job/memory.current", "700000\n");
  assert_true(cgroup_memory_free(root) == 300000);
  put(V2 "/job/memory.stat", "anon 5\ninactive_anon 17\ninactive_file 200000\n");
  assert_true(cgroup_memory_free(root) == 500000);
  put(V2 "/job/step/memory.max", "1500\n");
  assert_true(cgroup_memory_free(root) == 500);
  put(V2 "/job/step/memory.current", "1600\n");
  assert_true(cgroup_memory_free(root) == 0);
}

TEST_WITH(version_1_is_found_among_other_controllers, make_root, remove_root) {
  put("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/docker/0123\n1:name=systemd:/\n0::/\n");
  put(V1 "/memory.limit_in_bytes", "9223372036854771712\n");
  put(V1 "/memory.usage_in_bytes", "5000000\n");
  assert_true(cgroup_memory_free(root) > UINT64_C(1) << 62);
  put(V1 "/docker/0123/memory.limit_in_bytes", "3000000\n");
  put(V1 "/docker/0123/memory.usage_in_bytes", "2000000\n");
  put(V1 "/docker/0123/memory.stat", "inactive_file 1\ntotal_inactive_file 500000\n");
  assert_true(cgroup_memory_free(root) == 1500000);
}

/* The path is the host's; the container sees its own group as the mount. */
TEST_WITH(a_group_seen_from_inside_is_the_mount_itself, make_root, remove_root) {
  put("/proc/self/cgroup", "4:memory:/docker/0123\n");
  put(V1 "/memory.limit_in_bytes", "1000\n");
  put(V1 "/memory.usage_in_bytes", "10\n");
  assert_true(cgroup_memory_free(root) == 990);
}

/* What this process uses meanwhile is subtracted, and little. */
static void expect_seconds(double from_s, double seconds) {
  const double more_s = cgroup_seconds_used(root).others - from_s;
  assert_true(more_s > seconds - 0.5 && more_s < seconds + 0.01);
}

TEST_WITH(others_are_what_the_group_used_without_this_process, make_root, remove_root) {
  assert_true(isnan(cgroup_seconds_used(root).others));
  put("/proc/self/cgroup", "0::/job/step\n");
  assert_true(isnan(cgroup_seconds_used(root).others));
  put(V2 "/cpu.stat", "usage_usec 90000000\nuser_usec 5\n");
  const double mount_s = cgroup_seconds_used(root).others;
  put(V2 "/cpu.stat", "usage_usec 95000000\nuser_usec 5\n");
  expect_seconds(mount_s, 5);
  put(V2 "/job/step/cpu.stat", "usage_usec 1000000\n");
  const double step_s = cgroup_seconds_used(root).others;
  put(V2 "/job/step/cpu.stat", "usage_usec 3000000\n");
  expect_seconds(step_s, 2);
}

TEST_WITH(others_of_version_1_are_found_beside_version_2, make_root, remove_root) {
  put("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/docker/0123\n0::/\n");
  put("/sys/fs/cgroup/cpuacct/a/cpuacct.usage", "7000000000\n");
  const double before_s = cgroup_seconds_used(root).others;
  put("/sys/fs/cgroup/cpuacct/a/cpuacct.usage", "9000000000\n");
  expect_seconds(before_s, 2);
  put("/sys/fs/cgroup/cpuacct/a/cpuacct.usage", "many\n");
  assert_true(isnan(cgroup_seconds_used(root).others));
}

TEST_WITH(the_account_of_this_machine_counts_a_child_that_runs, make_root, remove_root) {
  if (isnan(cgroup_seconds_used("").others)) skip();
  const pid_t child = fork();
  if (child == 0)
    for (;;) continue;
  const double before_s = cgroup_seconds_used("").others;
  usleep(400000);
  const double used_s = cgroup_seconds_used("").others - before_s;
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  assert_true(used_s > 0.05); /* a busy machine gives it less than it asks for, but others use more then */
}

TEST_WITH(damaged_files_limit_nothing, make_root, remove_root) {
  static const char *const lines[] = {"", "\n", ":", "::", "4:memory", "no colons at all\n", "4:memorymemory:/a\n"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
    put("/proc/self/cgroup", lines[i]);
    put(V1 "/memory.limit_in_bytes", "many\n");
    put(V1 "/memory.usage_in_bytes", "10\n");
    assert_true(cgroup_memory_free(root) == UINT64_MAX);
  }
}
