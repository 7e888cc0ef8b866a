/* Not for --load but for LD_PRELOAD: call number PIPE_AT of pipe2 sends PIPE_SIGNAL to the process, and fails when
 * PIPE_FAILS is set. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int pipe2(int fds[2], int flags) {
  static int calls;
  const char *at = getenv("PIPE_AT"), *signal_number = getenv("PIPE_SIGNAL");
  if (at != NULL && signal_number != NULL && ++calls == atoi(at)) {
    raise(atoi(signal_number));
    errno = EMFILE;
    if (getenv("PIPE_FAILS") != NULL) return -1;
  }
  return (int)syscall(SYS_pipe2, fds, flags);
}
