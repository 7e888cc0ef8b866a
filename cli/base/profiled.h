/* Is a profiler, sanitizer or debugger inside this process? Such tools load a library into the program that they
 * observe. Measured times then include the tool's own work, so a run records which tool it was. */
#pragma once

#include <stdio.h>

enum { PROFILED_TEXT_MAX = 64 };

/* Writes "nsys", "ncu", "compute-sanitizer", "cuda-gdb" or "cupti" for a tool whose library is mapped. When only the
 * environment asks for a tool, writes "injection: NAME" with the variable's name; "" when there is none. The driver
 * loads such libraries when it starts: call this in the process that owns the device, once the device is open. */
void profiled_tool(char out[PROFILED_TEXT_MAX]);

/* The same from a table of mappings in the form of /proc/self/maps (NULL: none known) and an environment. */
void profiled_find(FILE *maps, char *(*environment)(const char *name), char out[PROFILED_TEXT_MAX]);
