/* A program of its own as a child: started without a shell, watched, ended. For the gate, which measures whole fresh
 * processes. */
#ifndef ATTNBENCH_CLI_BASE_CHILD_H
#define ATTNBENCH_CLI_BASE_CHILD_H

#include <stdbool.h>

#include "kernels/status.h"

struct child_watch {
  const char *stdout_path; /* created or emptied; NULL: what the child prints is dropped */
  const char *stderr_path; /* likewise */
  const char *grows;       /* file that grows while the child makes progress; NULL: none does */
  double stall_s;          /* killed when that file has not grown, nor the child ended, for so long */
};

struct child_end {
  bool stalled;
  int signal_number; /* that killed it, 0 when it exited */
  int exit_status;
  bool left_others; /* running behind it, out of its group too; they were killed */
};

/* Runs argv[0], a path, to its end. STATUS_USAGE when it cannot be started. When this process is asked to stop
 * (signals_received), so is the child, and the answer is STATUS_INTERRUPTED. A child of the child must not outlive
 * it: it stands in a process group of its own, which is killed if need be, and what left that group is found and
 * killed once the child has ended. When this process is killed, so is the
 * child. */
struct status child_run(char *const *argv, const struct child_watch *, struct child_end *out);

/* "exit status 2", "killed by signal 11 (Segmentation fault)", "no progress for 60 s". */
void child_describe(const struct child_end *, double stall_s, char *out, int size);

#endif
