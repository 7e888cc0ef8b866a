/* What is known of this program and of its process. */
#pragma once

#include <stdio.h>

/* The versions of this program and of its libraries. */

const char *version_string(void);     /* "0.1.0" */
const char *version_git_commit(void); /* short hash, or "unknown" outside a git checkout */
const char *version_cjson(void);      /* the version of the cJSON library loaded at run time */

/* The executable file of this process. */

/* A path for starting this program again, or for reading it. It names the file that this process runs, even when a
 * newer file has replaced it since. The text lives as long as the process. */
const char *program_path(void);

/* Is a profiler, sanitizer or debugger inside this process? Such tools load a library into the program that they
 * observe. Measured times then include the tool's own work, so a run records which tool it was. */

enum { PROFILED_TEXT_MAX = 64 };

/* Writes "nsys", "ncu", "compute-sanitizer", "cuda-gdb" or "cupti" for a tool whose library is mapped. When only the
 * environment asks for a tool, writes "injection: NAME" with the variable's name; "" when there is none. The driver
 * loads such libraries when it starts: call this in the process that owns the device, once the device is open. */
void profiled_tool(char out[PROFILED_TEXT_MAX]);

/* The same from a table of mappings in the form of /proc/self/maps (NULL: none known) and an environment. */
void profiled_find(FILE *maps, char *(*environment)(const char *name), char out[PROFILED_TEXT_MAX]);
