/* Do the journals of a run's shards have every cell of the run, and each once? Then they are put together. */
#ifndef ATTNBENCH_CLI_COMMAND_COVER_H
#define ATTNBENCH_CLI_COMMAND_COVER_H

#include "cli/record/journal.h"

/* Parts of one run: paths and journals, in one order. */
struct cover {
  const char *const *paths;
  struct journal_data *part;
  size_t count;
};

/* STATUS_INPUT: a journal is not of a shard, or has a cell that it cannot have; STATUS_NOT_COMPARABLE: they are not
 * of one run, or, unless across_devices, not of like devices. */
struct status cover_check(const struct cover *, bool across_devices);

/* What is not there, or not once. */
enum { COVER_TOLD_MAX = 64, COVER_WHERE_MAX = 512 };
struct cover_gaps {
  size_t selected, missing, twice, unfinished; /* cells; of an unfinished one rounds are missing */
  size_t told_count;
  struct cover_gap {
    const char *cell; /* in the selection of a part */
    char where[COVER_WHERE_MAX];
  } told[COVER_TOLD_MAX]; /* the first ones */
};
struct status cover_find_gaps(const struct cover *, struct cover_gaps *out);

/* One journal of all parts, which cover_check and cover_find_gaps found to be whole. Rows that were not measured as
 * those of the first part say so. The caller frees with journal_free. */
struct status cover_join(const struct cover *, struct journal_data *out);

#endif
