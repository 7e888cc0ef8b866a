/* LD_PRELOAD: a program that opens /proc/cpuinfo gets the file that ATTN_CPUINFO names. Linux with glibc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FILE *fopen(const char *path, const char *mode) {
  FILE *(*next)(const char *, const char *) = NULL;
  const char *other = getenv("ATTN_CPUINFO");
  *(void **)&next = dlsym(RTLD_NEXT, "fopen");
  return next(other != NULL && strcmp(path, "/proc/cpuinfo") == 0 ? other : path, mode);
}

FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }
