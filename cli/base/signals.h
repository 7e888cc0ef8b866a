/* Signals that ask the program to stop: SIGINT, SIGTERM and SIGHUP. The first one is only noted; whoever measures
 * looks, and ends with what there is. One more, from 0.3 seconds later on, ends the process at once: what stopped it
 * (a shell, timeout) may send the first one twice. */
#ifndef ATTNBENCH_CLI_BASE_SIGNALS_H
#define ATTNBENCH_CLI_BASE_SIGNALS_H

#include <signal.h>

#include "kernels/status.h"

/* From here on those signals are noted, SIGHUP unless it was ignored (nohup). SIGPIPE and SIGXFSZ are ignored, so
 * that writing fails instead, and children can be waited for whatever was inherited for SIGCHLD. What measures or
 * starts a process does this first. */
void signals_watch(void);
/* The signals that ask to stop. */
void signals_fill(sigset_t *out);
/* The signal that asked the program to stop, 0 when none did. */
int signals_received(void);
/* Can be read from the moment on when one did: for poll, so that what waits for something else wakes up, whichever
 * thread took the signal. -1 before signals_watch, and where the system has no descriptor left. */
int signals_fd(void);
/* STATUS_INTERRUPTED when one did. */
struct status signals_check(void);
/* What the process ends with after this failure: 129, 130 or 143 when a signal is what failed. */
enum exit_code signals_exit_code(const struct status *failure);

#endif
