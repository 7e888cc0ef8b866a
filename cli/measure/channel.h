/* A child process that runs this program again, with two pipes: the parent writes requests, the child replies with
 * lines of text. The child's standard output is the parent's standard error. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "kernels/status.h"

/* The file descriptors of the pipes in the child, as it starts. */
enum { CHANNEL_REQUEST_FD = 3, CHANNEL_REPLY_FD = 4 };
enum { CHANNEL_END_MAX = 128 };

/* In the child: moves the pipes to descriptors that neither other code in the process nor the programs that it starts
 * use by mistake. */
struct channel_ends {
  int request_fd, reply_fd;
};
struct channel_ends channel_hide(void);

struct channel {
  pid_t pid; /* 0: no process is running */
  int request_fd, reply_fd;
  char *buffer; /* bytes of the reply pipe not yet taken as a line; freed by channel_free */
  size_t used, capacity;
  size_t taken; /* of the bytes used, those of the line that was returned last; further lines may follow them */
};

enum channel_result { CHANNEL_LINE, CHANNEL_CLOSED, CHANNEL_DEADLINE };

struct channel_answer {
  enum channel_result result;
  char *line; /* without the newline; valid until the next answer */
  size_t length;
  double absent_s; /* the last time (clock_now_s) at which the line is known not to have arrived, exact to 0.1 s; 0 if
                    * it came within the first 0.1 s. This process may have been stopped between this time and the
                    * reading of the line. */
};

/* Writes a request. False when the child has ended. */
bool channel_send(struct channel *, const void *bytes, size_t size);
/* Waits for the next line. A failure is STATUS_INTERRUPTED or STATUS_MEMORY; the child then still runs. */
struct status channel_receive(struct channel *, double timeout_s, struct channel_answer *out);
/* Starts this program with these arguments and receives its first line. Call signals_watch before. When no line
 * arrives, the child is ended, and `end` says how it ended. */
struct status channel_ask(struct channel *, char *const *argv, double timeout_s, struct channel_answer *out,
                          char end[CHANNEL_END_MAX]);
/* Closes the pipes and waits for the child to end; kills it and its process group after `patience_s` seconds. Then
 * kills every process that it started and left, also in another group or session. `end`, unless NULL, says how the
 * child ended. */
void channel_end(struct channel *, double patience_s, char end[CHANNEL_END_MAX]);
/* The number of children of this process that are neither a running child of a channel nor were there before the
 * first one: the code of a child can start a process beside itself (clone with CLONE_PARENT), or leave one by ending.
 * The next channel_end kills them. */
size_t channel_strays(void);
/* Whether this text contains an `end` of channel_end that says SIGKILL, so that the child was killed from outside. */
bool channel_was_killed(const char *text);
void channel_free(struct channel *);
