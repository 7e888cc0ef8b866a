/* How far a measurement is, on stderr. On a terminal one line that is written over: cell, count, expected time left.
 * In a log a line of its own every few percent, or every half minute when that takes longer; nothing of a run that is
 * over in seconds. */
#ifndef ATTNBENCH_CLI_COMMAND_PROGRESS_H
#define ATTNBENCH_CLI_COMMAND_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

enum progress_form { PROGRESS_NONE, PROGRESS_TERMINAL, PROGRESS_LOG };

struct progress {
  enum progress_form form;
  size_t total, done;
  double start_s;
  size_t told; /* what was done at the last line of a log */
  double told_s;
};

struct progress progress_start(size_t total, bool is_quiet);
/* A cell begins. */
void progress_cell(struct progress *, const char *case_key, const char *variant);
void progress_end(struct progress *);

/* Is a line of a log due before the next cell, at this time? */
bool progress_is_due(const struct progress *, double now_s);
/* "45 s", "12 min", "3.5 h" */
enum { PROGRESS_TIME_MAX = 32 };
void progress_time(double seconds, char out[PROGRESS_TIME_MAX]);

#endif
