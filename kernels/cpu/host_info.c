/* Reads the CPU's name, cores, caches and clocks from the system. */
#include "kernels/cpu/host_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "kernels/cpu/cgroup.h"
#include "kernels/cpu/threads.h"

enum { CPU_CACHES_MAX = 8 };

static const uint64_t fallback_cache_bytes = UINT64_C(32) << 20;

/* Copies what follows "key<blanks>:<blanks>" on the first line of the file that begins with key, without newline. */
static bool cpu_info_field(const char *path, const char *key, char *out, size_t size) {
  char line[512];
  bool found = false;
  FILE *file = fopen(path, "re");
  if (!file) return false;
  while (!found && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (!colon || strncmp(line, key, strlen(key)) != 0) continue;
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
    found = true;
  }
  fclose(file);
  return found;
}

/* The number that a file consists of, with a K or M that sysfs writes after it; 0 when there is none. */
static uint64_t cpu_info_number(const char *path) {
  uint64_t value = 0;
  char unit = '\0';
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  const int fields = fscanf(file, "%15" SCNu64 "%c", &value, &unit);
  fclose(file);
  if (fields < 1) return 0;
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : value;
}

static uint64_t cpu_info_cache_bytes(void) {
  uint64_t largest = 0;
  for (unsigned i = 0; i < CPU_CACHES_MAX; ++i) {
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/size", i);
    const uint64_t bytes = cpu_info_number(path);
    if (bytes > largest) largest = bytes;
  }
  return largest ? largest : fallback_cache_bytes;
}

void cpu_info_name(char *out, size_t size) { cpu_info_field("/proc/cpuinfo", "model name", out, size); }

void cpu_info_read(struct device_info *out) {
  struct sysinfo system;
  *out = (struct device_info){.kind = DEVICE_CPU, .name = "unknown CPU"};
  cpu_info_name(out->name, sizeof out->name);
  out->sms = cpu_threads_available();
  out->l2_bytes = cpu_info_cache_bytes();
  if (sysinfo(&system) == 0) out->memory_bytes = (uint64_t)system.totalram * system.mem_unit;
  out->sm_clock_max_mhz = (double)cpu_info_number("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq") / 1000;
}

uint64_t cpu_info_memory_free(void) {
  char text[64];
  uint64_t kilobytes = 0;
  const uint64_t left = cgroup_memory_free("");
  if (!cpu_info_field("/proc/meminfo", "MemAvailable", text, sizeof text)) return left;
  if (sscanf(text, "%15" SCNu64, &kilobytes) != 1) return left;
  return kilobytes << 10 < left ? kilobytes << 10 : left;
}

double cpu_now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}
