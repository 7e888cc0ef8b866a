/* Files that are either whole or not there: a temporary file beside the target, synced, then renamed over it, with
 * the permissions of a file that is replaced. Where the file system can do it the temporary file has no name before
 * it is whole. A descriptor of this process (/dev/stdout, /dev/fd/5), whatever it leads to, and what is no regular
 * file are written directly, and "-" is the standard output. A pipe with a name is waited for until it has a reader,
 * for ten seconds at most. A link that leads to nothing is followed, and stays. Failures are STATUS_OUTPUT naming the
 * path and the system's reason, or STATUS_INTERRUPTED. */
#ifndef ATTNBENCH_CLI_BASE_OUTPUT_H
#define ATTNBENCH_CLI_BASE_OUTPUT_H

#include <limits.h>
#include <stdio.h>

#include "kernels/status.h"

struct output {
  FILE *stream;
  char target[PATH_MAX];         /* symbolic links resolved; what messages name */
  char temporary[PATH_MAX + 32]; /* "" when stream is written directly, or has no name yet */
  bool is_nameless;
  int fd; /* of a temporary file */
};

/* On success the caller ends the output with exactly one of end, commit and abandon. */
struct status output_open(const char *path, struct output *out);
/* Flushes, checks, syncs and renames. On failure nothing is left behind and the old file stands. */
struct status output_commit(struct output *);
void output_abandon(struct output *);
/* Commits what was written, or abandons it when `written` is a failure, which is then returned. */
struct status output_end(struct output *, struct status written);

/* Could output_open write there? Leaves nothing behind, and opens no pipe: its reader would take that for the whole.
 */
struct status output_probe(const char *path);

/* Writes all bytes to fd, whatever the signals and short writes. `path` is for the message. */
struct status output_write_all(int fd, const char *path, const char *bytes, size_t length);

/* Do both paths name one regular file, there or yet to be written? Devices and pipes may be named twice. */
bool output_is_same_file(const char *a, const char *b);

/* Syncs the directory that holds `path`, so that a new name in it survives a power loss. */
struct status output_sync_parent(const char *path);

#endif
