/* A variant that is right for one query and one key (the output is V) and takes STEADY_US microseconds, eight times
 * as long where B is STEADY_SLOW_B, for tests of what several processes measure. STEADY_FILE counts the processes
 * that ran it; number STEADY_AT does what STEADY_HOW says: wrong, crash or hang. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/variant.h"
#include "tests/plugins/rest.h"

#define HOOKS                                                                                                        \
  static long process_number(void) {                                                                                 \
    static long number;                                                                                              \
    const char *path = getenv("STEADY_FILE");                                                                        \
    const int file = number == 0 && path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1; \
    if (file < 0) return number;                                                                                     \
    /* An appending write moves the offset behind its own byte, whatever other processes append at that moment. */   \
    if (write(file, ".", 1) == 1) number = (long)lseek(file, 0, SEEK_CUR);                                           \
    close(file);                                                                                                     \
    return number;                                                                                                   \
  }                                                                                                                  \
  static void steady(const struct attn_problem *s, const struct attn_plan *planned UNUSED,                           \
                     const struct attn_buffers *buffers, unsigned threads UNUSED) {                                  \
    const char *how = process_number() == number_of("STEADY_AT") ? getenv("STEADY_HOW") : NULL;                      \
    if (how != NULL && strcmp(how, "crash") == 0) raise(SIGSEGV);                                                    \
    if (how != NULL && strcmp(how, "hang") == 0) pause();                                                            \
    rest(number_of("STEADY_US") * (s->B == number_of("STEADY_SLOW_B") ? 8 : 1));                                     \
    const size_t bytes = s->dtype == ATTN_F32 ? 4 : 2;                                                               \
    if (how == NULL || strcmp(how, "wrong") != 0)                                                                    \
      memcpy(buffers->o, buffers->v, bytes * s->B * s->Hq * s->Sq * s->D);                                           \
  }
#define NAME "steady"
#define RUN  steady
#include "tests/plugins/plugin.h"
