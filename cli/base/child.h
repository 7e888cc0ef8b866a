/* Runs a program as a child process without a shell, and ends it when it stalls. The gate uses it to measure in fresh
 * processes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "kernels/status.h"

/* Finds and ends processes that a child started and left running when it ended. */

enum { OFFSPRING_MAX = 64 };

struct offspring {
  pid_t pid[OFFSPRING_MAX];
  size_t count;
};

/* Makes this process the parent of every descendant whose own parent ends (Linux: a child subreaper). *out gets the
 * children that this process has already; offspring_end leaves them alone. */
void offspring_adopt(struct offspring *out);

/* The number of children, at most OFFSPRING_MAX, that are not in `before`, with those that have ended; reaps these.
 */
size_t offspring_count(const struct offspring *before);

/* The same for a process that always has children, in less time: none is reaped. */
size_t offspring_strays(const struct offspring *kept);

/* Waits until this process has no children but those in `before`. Kills those that have not ended after patience_s;
 * true when there were any. */
bool offspring_end(const struct offspring *before, double patience_s);

struct child_watch {
  const char *stdout_path; /* created or emptied; NULL: the output is discarded */
  const char *stderr_path; /* likewise */
  const char *grows;       /* a file that grows while the child makes progress; NULL: there is none */
  double stall_s;          /* the child is killed when `grows` has not grown for so many seconds */
};

struct child_end {
  bool stalled;      /* the child was killed because it made no progress */
  int signal_number; /* the signal that killed the child; 0 when it exited */
  int exit_status;
  double wall_s;    /* from its start until it had ended, by this process's clock */
  double growth_s;  /* from the first growth of `grows` to its last one; 0 when it did not grow */
  bool left_others; /* processes that the child had started outlived it and were killed */
};

/* Runs the program at the path argv[0] and waits until it ends. STATUS_USAGE when it cannot be started.
 *
 * When this process receives a signal to stop (signals.h), it sends the same signal to the child and returns
 * STATUS_INTERRUPTED. The child is killed when this process is killed. Processes that the child started do not
 * outlive it: the child has a process group of its own, and processes that left the group are found and killed once
 * the child has ended. */
struct status child_run(char *const *argv, const struct child_watch *, struct child_end *out);

/* Writes "exit status 2", "killed by signal 11 (Segmentation fault)", "no progress for 60 s, killed". */
void child_describe(const struct child_end *, double stall_s, char *out, int size);
