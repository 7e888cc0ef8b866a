/* Output files that are either complete or absent.
 *
 * The output is written to a temporary file in the folder of the target, synced, and put in the target's place. Where
 * the file system allows it, the temporary file has no name until it is complete, so that a kill leaves no file
 * behind; the one exception is a kill between the two calls that put it in the place of an older file. A new file
 * takes the permissions of the file that it replaces. A symbolic link stays, even a dangling one: the output goes to
 * its target.
 *
 * "-" is the standard output. A descriptor of this process (/dev/stdout, /dev/fd/5) and anything but a regular file
 * are written directly. For a named pipe, output_open waits up to ten seconds for a reader.
 *
 * Failures are STATUS_OUTPUT with the path and the system's reason, STATUS_INTERRUPTED, or STATUS_CLOSED where
 * whoever read the standard output has closed it. */
#pragma once

#include <limits.h>
#include <stdio.h>

#include "kernels/status.h"

struct output {
  FILE *stream;
  char target[PATH_MAX];         /* after following symbolic links; messages name it */
  char temporary[PATH_MAX + 32]; /* the temporary file's path; "" when it has no name or there is none */
  bool is_nameless;              /* the temporary file was made without a name */
  int fd;                        /* of the temporary file */
};

/* On success the caller ends the output with exactly one of end, commit and abandon. */
struct status output_open(const char *path, struct output *out);
/* Flushes, checks, syncs and renames. On failure nothing is left behind and the old file stands. */
struct status output_commit(struct output *);
void output_abandon(struct output *);
/* Commits what was written, or abandons it when `written` is a failure, which is then returned. */
struct status output_end(struct output *, struct status written);

/* Opens the output at `path`, evaluates the expression `write`, and ends the output. `write` may use the variable
 * `out`, a FILE *, and has the type struct status. The first failure is returned, as with TRY. */
#define OUTPUT_TRY(path, out, write)       \
  do {                                     \
    struct output try_output;              \
    TRY(output_open((path), &try_output)); \
    FILE *const out = try_output.stream;   \
    TRY(output_end(&try_output, (write))); \
  } while (0)

/* Can output_open write there? Leaves no file behind. Does not open a pipe, since its reader would take the close for
 * the end of the output. */
struct status output_probe(const char *path);

/* Writes all bytes to fd, continuing after signals and short writes. `path` is for the message. */
struct status output_write_all(int fd, const char *path, const char *bytes, size_t length);

/* Do both paths name one regular file, which need not exist yet? False for devices and pipes, which may be named
 * twice. */
bool output_is_same_file(const char *a, const char *b);

/* The part of a path behind its last slash; the path where it has none. */
const char *output_name_in(const char *path);

/* Does the path name a descriptor of this process (/dev/stdout, /dev/fd/5)? It is written to, never replaced. */
bool output_is_descriptor(const char *path);

/* Syncs the directory that holds `path`, so that a new name in it survives a power loss. */
struct status output_sync_parent(const char *path);
