/* Checks that the journals of a run's shards hold every cell of the run exactly once, and joins them. */
#pragma once

#include "cli/record/journal.h"

/* The parts of one run: path[i] and part[i] belong together. */
struct cover {
  const char *const *paths;
  struct journal_data *part;
  size_t count;
};

/* STATUS_INPUT when a journal is not that of a shard, or holds a cell that does not belong to its shard.
 * STATUS_NOT_COMPARABLE when the journals are not of one run, or, unless across_devices, not of like devices. */
struct status cover_check(const struct cover *, bool across_devices);

/* The cells that are missing, present twice or unfinished. */
enum { COVER_TOLD_MAX = 64, COVER_WHERE_MAX = 512 };
struct cover_gaps {
  size_t selected, missing, twice, unfinished; /* numbers of cells; an unfinished cell lacks rounds */
  size_t told_count;
  struct cover_gap {
    const char *cell; /* points into the selection of a part */
    char where[COVER_WHERE_MAX];
  } told[COVER_TOLD_MAX]; /* the first of these cells */
};
struct status cover_find_gaps(const struct cover *, struct cover_gaps *out);

/* Joins all parts, which must have passed cover_check and have no gaps (cover_find_gaps), into one journal. Rows that
 * were measured under other conditions than those of the first part are marked. The caller frees with journal_free.
 */
struct status cover_join(const struct cover *, struct journal_data *out);
