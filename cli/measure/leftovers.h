/* What the code of a loaded object may leave in its worker: threads, child processes, timers, descriptors, and
 * settings that the next cell would inherit. A worker reads this state before a cell and compares it afterwards. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cli/base/offspring.h"

enum { LEFTOVERS_LISTED_MAX = 1024, LEFTOVERS_SETTINGS_MAX = 16 };

struct leftovers_list {
  size_t count;
  struct {
    uint64_t id, what; /* `what` differs when the same id means something else */
  } item[LEFTOVERS_LISTED_MAX];
};

struct leftovers_state {
  struct leftovers_list threads, descriptors;
  struct offspring children;
  size_t timers;
  uint64_t setting[LEFTOVERS_SETTINGS_MAX]; /* one hash for each kind of setting */
};

/* Reads the state of this process. It becomes the parent of every descendant whose own parent ends, and gets the
 * default floating-point mode back. */
void leftovers_read(struct leftovers_state *out);

/* Compares the state of now with `before`. Writes what changed, "left 4 threads running; changed the umask", or "".
 * Reaps children that have ended, which count as left. */
void leftovers_tell(const struct leftovers_state *before, char *out, size_t size);
