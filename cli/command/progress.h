/* Shows the progress of a measurement on stderr. On a terminal it is one line that is overwritten: cell, count,
 * expected time left. In a log it is a new line every few percent, at least every half minute, and none for a run of
 * a few seconds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum progress_form { PROGRESS_NONE, PROGRESS_TERMINAL, PROGRESS_LOG };

struct progress {
  enum progress_form form;
  size_t total, done;
  double start_s;
  size_t told;   /* `done` at the last line of a log */
  double told_s; /* time of that line */
};

struct progress progress_start(size_t total, bool is_quiet);
/* Shows that a cell begins. */
void progress_cell(struct progress *, const char *case_key, const char *variant);
void progress_end(struct progress *);

/* Whether a log gets a line before the next cell, at the time now_s. */
bool progress_is_due(const struct progress *, double now_s);
/* Writes a duration: "45 s", "12 min", "3.5 h". */
enum { PROGRESS_TIME_MAX = 32 };
void progress_time(double seconds, char out[PROGRESS_TIME_MAX]);
