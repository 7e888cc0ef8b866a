/* Preloaded into a program: a monotonic clock at half speed. What the program times takes half as long by its
 * account. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *out) {
  const long failed = syscall(SYS_clock_gettime, clock, out);
  if (failed != 0 || clock != CLOCK_MONOTONIC) return (int)failed;
  const long long half_ns = (out->tv_sec * 1000000000LL + out->tv_nsec) / 2;
  out->tv_sec = half_ns / 1000000000;
  out->tv_nsec = half_ns % 1000000000;
  return 0;
}
