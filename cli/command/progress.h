/* One line on stderr that is written over: cell, count, expected time left. Nothing at all when stderr is no
 * terminal. */
#ifndef ATTNBENCH_CLI_COMMAND_PROGRESS_H
#define ATTNBENCH_CLI_COMMAND_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
  bool shown;
  size_t total, done;
  double start_s;
};

struct progress progress_start(size_t total);
/* A cell begins. */
void progress_cell(struct progress *, const char *case_key, const char *variant);
void progress_end(struct progress *);

#endif
