/* A signal that comes all the time and interrupts what waits, as a sampling profiler's does. */
#include <sys/time.h>

#define NAME "interrupts"
#define HOOKS                                                                                     \
  static void ignore(int signal_number) { (void)signal_number; }                                  \
  __attribute__((constructor)) static void opened(void) {                                         \
    const struct sigaction action = {.sa_handler = ignore};                                       \
    const struct itimerval often = {.it_interval = {.tv_usec = 50}, .it_value = {.tv_usec = 50}}; \
    sigaction(SIGALRM, &action, NULL);                                                            \
    setitimer(ITIMER_REAL, &often, NULL);                                                         \
  }
#include "tests/plugins/plugin.h"
