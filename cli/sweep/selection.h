/* The names of all cells that a run selected, in order: what the shards of a run have in common, and what there must
 * be in the end, whatever was measured where and in what order. */
#ifndef ATTNBENCH_CLI_SWEEP_SELECTION_H
#define ATTNBENCH_CLI_SWEEP_SELECTION_H

#include "cli/base/hash.h"
#include "cli/sweep/sweep.h"

struct cells;

struct selection {
  char (*name)[CELL_NAME_MAX]; /* "KEY/VARIANT"; zeros behind the text */
  size_t count;
};

/* On success the caller frees with selection_free. */
struct status selection_of(const struct cells *, struct selection *out);
/* `count` names without text, for the caller to fill and to free. */
struct status selection_make(size_t count, struct selection *out);
void selection_free(struct selection *);

/* Tells two selections, or two orders of one, apart. */
void selection_hash(const struct selection *, char out[HASH_TEXT_MAX]);

/* Where in the selection each of these names is; SIZE_MAX: nowhere. */
struct status selection_ranks(const struct selection *, const struct selection *names, size_t *out);

/* Part `index` of `count`, from 1; count 0: the whole. */
struct shard {
  uint32_t index, count;
};
enum { SHARD_TEXT_MAX = 24 };
/* "2/4"; "" for the whole. */
void selection_shard_text(const struct shard *, char out[SHARD_TEXT_MAX]);

/* Of each name, which of `shards` shards has it: out[i] is from 1. Cells of one case are in one shard, so that a row
 * and its reference are measured by one process. Cases are dealt in the order of their hashes: every node comes to
 * the same result, shards have the same number of cases or one more, and neighbours in the sweep, which take about
 * as long, are apart. STATUS_USAGE when there are fewer cases than shards. */
struct status selection_deal(const struct selection *, uint32_t shards, uint32_t *out);

/* Keeps the cells of the shard; `cells` are those of the selection. */
struct status selection_keep_shard(const struct selection *, const struct shard *, struct cells *cells);

#endif
