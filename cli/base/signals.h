/* Signals that ask the program to stop: SIGINT, SIGTERM and SIGHUP. The first signal is only recorded: code that
 * measures calls signals_check, and the run ends with the results so far. A second signal ends the process at once,
 * unless it comes within 0.3 seconds of the first: a shell or timeout(1) may send one signal twice. */
#pragma once

#include <signal.h>

#include "kernels/status.h"

/* Installs the handlers that record those signals. SIGHUP stays ignored when the process inherited it so (nohup).
 * SIGPIPE and SIGXFSZ are ignored, so that a write returns an error instead. SIGCHLD gets its default action, so that
 * waitpid works when the process inherited it as ignored. Call it before anything is measured and before any process
 * is started. */
void signals_watch(void);
/* The set of SIGINT, SIGTERM and SIGHUP. */
void signals_fill(sigset_t *out);
/* The number of the first signal that was recorded, 0 when there was none. */
int signals_received(void);
/* A descriptor for poll() that becomes readable with the first signal and stays so. It wakes every thread that polls
 * it, whichever thread took the signal. -1 before signals_watch, and when the system had no descriptor left. */
int signals_fd(void);
/* STATUS_INTERRUPTED once a signal was recorded, else ok. */
struct status signals_check(void);
/* The exit code of the process after this failure: 128 plus the signal's number (129, 130 or 143) for
 * STATUS_INTERRUPTED, else the code of the status. */
enum exit_code signals_exit_code(const struct status *failure);
