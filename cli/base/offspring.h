/* Finds and ends processes that a child started and left running when it ended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { OFFSPRING_MAX = 64 };

struct offspring {
  pid_t pid[OFFSPRING_MAX];
  size_t count;
};

/* Makes this process the parent of every descendant whose own parent ends (Linux: a child subreaper). *out gets the
 * children that this process has already; offspring_end leaves them alone. */
void offspring_adopt(struct offspring *out);

/* The number of children, at most OFFSPRING_MAX, that are not in `before`, with those that have ended; reaps these.
 */
size_t offspring_count(const struct offspring *before);

/* Waits until this process has no children but those in `before`. Kills those that have not ended after patience_s;
 * true when there were any. */
bool offspring_end(const struct offspring *before, double patience_s);
