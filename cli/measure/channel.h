/* A child process of this program with a pipe each way: requests go to it, lines come back. Its standard output is
 * this program's standard error. */
#ifndef ATTNBENCH_CLI_MEASURE_CHANNEL_H
#define ATTNBENCH_CLI_MEASURE_CHANNEL_H

#include <stddef.h>
#include <sys/types.h>

#include "kernels/status.h"

/* What the pipes are in the child. */
enum { CHANNEL_REQUEST_FD = 3, CHANNEL_REPLY_FD = 4 };
enum { CHANNEL_END_MAX = 128 };

struct channel {
  pid_t pid; /* 0: no process is running */
  int request_fd, reply_fd;
  char *buffer; /* bytes of the reply pipe not yet taken as a line; freed by channel_free */
  size_t used, capacity;
  size_t taken; /* of them, those of the line that was given last: more lines may stand behind it */
};

enum channel_result { CHANNEL_LINE, CHANNEL_CLOSED, CHANNEL_DEADLINE };

struct channel_answer {
  enum channel_result result;
  char *line; /* without the newline; valid until the next answer */
  size_t length;
};

/* Starts this program with these arguments. signals_watch comes first. */
struct status channel_start(struct channel *, char *const *argv);
/* False when the child is gone. */
bool channel_send(struct channel *, const void *bytes, size_t size);
/* The next line. A failure is STATUS_INTERRUPTED or STATUS_MEMORY; the child then still runs. */
struct status channel_receive(struct channel *, double timeout_s, struct channel_answer *out);
/* Start and first line in one. When no line came the child was ended, and `end` says how it ended. */
struct status channel_ask(struct channel *, char *const *argv, double timeout_s, struct channel_answer *out,
                          char end[CHANNEL_END_MAX]);
/* Closes the pipes and waits for the child's end; kills its process group after `patience_s`. `end`, unless NULL,
 * says how it ended. */
void channel_end(struct channel *, double patience_s, char end[CHANNEL_END_MAX]);
/* Does this text hold an `end` of channel_end that says SIGKILL: was the process killed from outside? */
bool channel_was_killed(const char *text);
void channel_free(struct channel *);

#endif
