/* Errors as values. A failing function returns a struct status whose text says what went wrong, where, and
 * what to do about it, as one line without a final full stop. Only cli/main.c prints one and exits. */
#ifndef ATTNBENCH_KERNELS_STATUS_H
#define ATTNBENCH_KERNELS_STATUS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Process exit codes, the published table (README, --help). */
enum exit_code {
  EXIT_CODE_OK = 0,
  EXIT_CODE_REGRESSION = 1,
  EXIT_CODE_USAGE = 2,
  EXIT_CODE_WRONG = 3,
  EXIT_CODE_COVERAGE = 4,
  EXIT_CODE_INCONCLUSIVE = 5,
  EXIT_CODE_NOT_COMPARABLE = 6,
  EXIT_CODE_INPUT = 7,
  EXIT_CODE_OUTPUT = 8,
  EXIT_CODE_INTERNAL = 9,
  EXIT_CODE_NO_GPU = 77,
  EXIT_CODE_SIGINT = 130,
  EXIT_CODE_SIGTERM = 143,
};

/* STATUS(name, exit code): why a function failed. */
#define STATUS_MAP(X)                                                                                                \
  X(OK, EXIT_CODE_OK)                         /* no failure */                                                       \
  X(USAGE, EXIT_CODE_USAGE)                   /* the command line is at fault */                                     \
  X(INPUT, EXIT_CODE_INPUT)                   /* a file that was read is at fault */                                 \
  X(OUTPUT, EXIT_CODE_OUTPUT)                 /* a file could not be written */                                      \
  X(NOT_COMPARABLE, EXIT_CODE_NOT_COMPARABLE) /* two results cannot be compared */                                   \
  X(NO_GPU, EXIT_CODE_NO_GPU)                 /* a GPU was required and there is none */                             \
  X(MEMORY, EXIT_CODE_INTERNAL)               /* an allocation was refused */                                        \
  X(DEVICE, EXIT_CODE_INTERNAL)               /* a device call failed */                                             \
  X(UNSUPPORTED, EXIT_CODE_INTERNAL)          /* a library or GPU does not take the shape; the device is unharmed */ \
  X(INTERNAL, EXIT_CODE_INTERNAL)             /* the system or attnbench itself failed */

enum status_code {
#define STATUS_ENUM(name, exit) STATUS_##name,
  STATUS_MAP(STATUS_ENUM)
#undef STATUS_ENUM
      STATUS_COUNT
};

enum { STATUS_TEXT_MAX = 640 };

struct status {
  enum status_code code;
  char text[STATUS_TEXT_MAX]; /* empty when code is STATUS_OK; cut with "..." when too long; '?' for each control */
};

struct status status_ok(void);
struct status status_make(enum status_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool status_failed(const struct status *status);

/* The exit code a process ends with after this failure. */
enum exit_code status_exit_code(enum status_code code);

#ifdef __cplusplus
}
#endif
#endif
