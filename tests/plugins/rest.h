/* For variants that take as long as the environment says. */
#include <stdlib.h>
#include <time.h>

__attribute__((unused)) static long number_of(const char *name) {
  const char *text = getenv(name);
  return text != NULL ? strtol(text, NULL, 10) : 0;
}

/* Asleep, not spinning: other processes of a busy machine then change the time least. */
static void rest(long us) {
  const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
  nanosleep(&time, NULL);
}
