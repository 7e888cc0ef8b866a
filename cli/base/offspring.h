/* Processes that a child left running behind it: they come to this process once it has asked for them. */
#ifndef ATTNBENCH_CLI_BASE_OFFSPRING_H
#define ATTNBENCH_CLI_BASE_OFFSPRING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { OFFSPRING_MAX = 64 };

struct offspring {
  pid_t pid[OFFSPRING_MAX];
  size_t count;
};

/* From now on what outlives a child becomes a child of this process. *out: the children that it has already, which
 * are nobody's but whoever started it. */
void offspring_adopt(struct offspring *out);

/* Waits until no child is left but those of `before`. What has not ended by itself after patience_s is killed, and
 * the answer is true. */
bool offspring_end(const struct offspring *before, double patience_s);

#endif
