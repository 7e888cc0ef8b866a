/* Is a tool inside this process? Profilers, sanitizers and debuggers put a library into the program they look at; its
 * times then hold the tool's own work, so a run says which tool it was under. */
#ifndef ATTNBENCH_CLI_BASE_PROFILED_H
#define ATTNBENCH_CLI_BASE_PROFILED_H

#include <stdio.h>

enum { PROFILED_TEXT_MAX = 64 };

/* Writes "nsys", "ncu", "compute-sanitizer", "cuda-gdb" or "cupti" for a tool whose library is mapped; when only the
 * environment asks for one, "injection: NAME" with the variable's name; "" when there is none. Ask in the process
 * that owns the device and once the device is open: drivers load such libraries when they start. */
void profiled_tool(char out[PROFILED_TEXT_MAX]);

/* The same from a table of mappings in the form of /proc/self/maps (NULL: none known) and an environment. */
void profiled_find(FILE *maps, char *(*environment)(const char *name), char out[PROFILED_TEXT_MAX]);

#endif
