/* Errors as values. A failing function returns a struct status whose text says what went wrong, where, and
 * what to do about it, as one line without a final full stop. Only cli/main.c prints one and exits. */
#ifndef ATTNBENCH_KERNELS_STATUS_H
#define ATTNBENCH_KERNELS_STATUS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* EXIT(name, number, meaning): what the process ends with, as --help shows it and README repeats it. */
#define EXIT_CODE_MAP(X)                                                                      \
  X(OK, 0, "every selected cell is right, or skipped or planned with a reason")               \
  X(REGRESSION, 1, "a cell, or all cells together, became slower than the base")              \
  X(USAGE, 2, "the command line is not understood, or it selects nothing")                    \
  X(WRONG, 3, "a result did not match the oracle")                                            \
  X(COVERAGE, 4, "a cell has no result (missing, left out, failed, ...), or no base (added)") \
  X(INCONCLUSIVE, 5, "too noisy, or too few processes, to decide")                            \
  X(NOT_COMPARABLE, 6, "the two sides of a comparison are not comparable")                    \
  X(INPUT, 7, "a sweep, journal, report or baseline file is invalid")                         \
  X(OUTPUT, 8, "an output could not be written")                                              \
  X(INTERNAL, 9, "an internal error, an unusable device, or a timer that is not right")       \
  X(NO_GPU, 77, "a GPU was required and there is none")                                       \
  X(SIGHUP, 129, "hung up (SIGHUP); a report of what was measured so far is written")         \
  X(SIGINT, 130, "interrupted (Ctrl-C); a report of what was measured so far is written")     \
  X(SIGPIPE, 141, "the program that read the standard output closed it, as head does")        \
  X(SIGTERM, 143, "terminated (SIGTERM); a report of what was measured so far is written")

enum exit_code {
#define EXIT_CODE_ENUM(name, number, meaning) EXIT_CODE_##name = (number),
  EXIT_CODE_MAP(EXIT_CODE_ENUM)
#undef EXIT_CODE_ENUM
};

/* STATUS(name, exit code): why a function failed. */
#define STATUS_MAP(X)                                                                                                \
  X(OK, EXIT_CODE_OK)                         /* no failure */                                                       \
  X(USAGE, EXIT_CODE_USAGE)                   /* the command line is at fault */                                     \
  X(INPUT, EXIT_CODE_INPUT)                   /* a file that was read is at fault */                                 \
  X(OUTPUT, EXIT_CODE_OUTPUT)                 /* a file could not be written */                                      \
  X(CLOSED, EXIT_CODE_SIGPIPE)                /* whoever read the standard output has closed it */                   \
  X(NOT_COMPARABLE, EXIT_CODE_NOT_COMPARABLE) /* two results cannot be compared */                                   \
  X(COVERAGE, EXIT_CODE_COVERAGE)             /* cells are not there, or not once */                                 \
  X(NO_GPU, EXIT_CODE_NO_GPU)                 /* a GPU was required and there is none */                             \
  X(MEMORY, EXIT_CODE_INTERNAL)               /* an allocation was refused */                                        \
  X(DEVICE, EXIT_CODE_INTERNAL)               /* a device call failed */                                             \
  X(UNSUPPORTED, EXIT_CODE_INTERNAL)          /* a library or GPU does not take the shape; the device is unharmed */ \
  X(INTERNAL, EXIT_CODE_INTERNAL)             /* the system or attnbench itself failed */                            \
  X(INTERRUPTED, EXIT_CODE_SIGINT)            /* a signal asked to stop (cli/base/signals.h says which) */

enum status_code {
#define STATUS_ENUM(name, exit) STATUS_##name,
  STATUS_MAP(STATUS_ENUM)
#undef STATUS_ENUM
      STATUS_COUNT
};

enum { STATUS_TEXT_MAX = 640 };

struct status {
  enum status_code code;
  char text[STATUS_TEXT_MAX]; /* empty when code is STATUS_OK; "..." in the middle of one that is too long; '?'
                                 replaces control characters */
};

struct status status_ok(void);
struct status status_make(enum status_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool status_failed(const struct status *status);

/* The exit code a process ends with after this failure. */
enum exit_code status_exit_code(enum status_code code);

/* The published table of exit codes, row by row; NULL past the last. */
struct status_exit {
  enum exit_code code;
  const char *name, *meaning;
};
const struct status_exit *status_exit_at(size_t index);

/* Returns from the calling function, which returns a struct status, when the call failed. A function that must free
 * or close something first is split in two: the outer one opens, calls the inner one and closes whatever came of it.
 */
#define TRY(call)                                      \
  do {                                                 \
    const struct status try_status = (call);           \
    if (status_failed(&try_status)) return try_status; \
  } while (0)

#ifdef __cplusplus
}
#endif
#endif
