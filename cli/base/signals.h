/* Signals that ask the program to stop. They are only noted; whoever measures looks, and ends with what there is. */
#ifndef ATTNBENCH_CLI_BASE_SIGNALS_H
#define ATTNBENCH_CLI_BASE_SIGNALS_H

#include "kernels/status.h"

/* From here on SIGINT and SIGTERM are only noted, SIGPIPE is ignored, and children can be waited for whatever was
 * inherited for SIGCHLD; what starts a process does this first. */
void signals_watch(void);
/* The signal that asked the program to stop, 0 when none did. */
int signals_received(void);
/* STATUS_INTERRUPTED when one did. */
struct status signals_check(void);
/* What the process ends with after this failure: 130 or 143 when a signal is what failed. */
enum exit_code signals_exit_code(const struct status *failure);

#endif
