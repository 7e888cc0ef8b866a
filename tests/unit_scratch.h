/* Names in the temporary folder for the files of unit tests, which remove them. */
#ifndef ATTNBENCH_TESTS_UNIT_SCRATCH_H
#define ATTNBENCH_TESTS_UNIT_SCRATCH_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* A name for mkstemp and mkdtemp. */
static inline void scratch_name(char out[PATH_MAX]) {
  const char *folder = getenv("TMPDIR");
  snprintf(out, PATH_MAX, "%s/attnbench-unit-XXXXXX", folder != NULL && *folder != '\0' ? folder : "/tmp");
}

#endif
