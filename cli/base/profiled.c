/* Looks for tools' libraries in this process's memory map and environment. */
#include "cli/base/program.h"

#include <stdlib.h>
#include <string.h>

/* Most telling first: nsys brings a CUPTI of its own. Names are beginnings of file names; versions follow them. */
static const struct {
  const char *library, *tool;
} libraries[] = {
    {"libToolsInjection", "nsys"},
    {"libcuda-injection.", "ncu"},
    {"libsanitizer-collection.", "compute-sanitizer"},
    {"libcudadebugger.", "cuda-gdb"},
    {"libcupti.", "cupti"},
};
enum { LIBRARY_COUNT = sizeof libraries / sizeof *libraries };

/* What the CUDA driver and NVTX read. */
static const char *const variables[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"};

static size_t library_of(const char *line) {
  const char *slash = strrchr(line, '/');
  size_t i = 0;
  while (slash != NULL && i < LIBRARY_COUNT &&
         strncmp(slash + 1, libraries[i].library, strlen(libraries[i].library)) != 0)
    ++i;
  return slash != NULL ? i : LIBRARY_COUNT;
}

void profiled_find(FILE *maps, char *(*environment)(const char *name), char out[PROFILED_TEXT_MAX]) {
  char line[4352]; /* a path and the columns before it */
  size_t first = LIBRARY_COUNT;
  out[0] = '\0';
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    const size_t found = library_of(line);
    if (found < first) first = found;
  }
  if (first < LIBRARY_COUNT) {
    snprintf(out, PROFILED_TEXT_MAX, "%s", libraries[first].tool);
    return;
  }
  for (size_t i = 0; i < sizeof variables / sizeof *variables && out[0] == '\0'; ++i) {
    const char *value = environment(variables[i]);
    if (value != NULL && value[0] != '\0') snprintf(out, PROFILED_TEXT_MAX, "injection: %s", variables[i]);
  }
}

void profiled_tool(char out[PROFILED_TEXT_MAX]) {
  FILE *maps = fopen("/proc/self/maps", "re");
  profiled_find(maps, getenv, out);
  if (maps != NULL) fclose(maps);
}
