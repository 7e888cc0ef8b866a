/* Not for --load but for LD_PRELOAD: call number PIPE_AT of pipe2 interrupts the process and then fails. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int pipe2(int fds[2], int flags) {
  static int calls;
  const char *at = getenv("PIPE_AT");
  if (at != NULL && ++calls == atoi(at)) {
    raise(SIGINT);
    errno = EMFILE;
    return -1;
  }
  return (int)syscall(SYS_pipe2, fds, flags);
}
