/* The names of all cells that a run selected, in order. All shards of a run have the same selection, and a complete
 * run has a result for each name. */
#pragma once

#include "cli/base/hash.h"
#include "cli/sweep/sweep.h"

struct cells;

struct selection {
  char (*name)[CELL_NAME_MAX]; /* "KEY/VARIANT", filled up with zeros */
  size_t count;
};

/* On success the caller frees with selection_free. */
struct status selection_of(const struct cells *, struct selection *out);
/* Makes a selection of `count` empty names, which the caller fills and frees with selection_free. */
struct status selection_make(size_t count, struct selection *out);
void selection_free(struct selection *);

/* A hash of the names in their order. */
void selection_hash(const struct selection *, char out[HASH_TEXT_MAX]);

/* Writes the index of each of `names` in the selection to out; SIZE_MAX when it is not there. */
struct status selection_ranks(const struct selection *, const struct selection *names, size_t *out);

/* Part `index` of `count` parts of a run, counted from 1; count 0: the whole run. */
struct shard {
  uint32_t index, count;
};
enum { SHARD_TEXT_MAX = 24 };
/* Writes "2/4"; "" for the whole run. */
void selection_shard_text(const struct shard *, char out[SHARD_TEXT_MAX]);

/* Assigns each name to one of `shards` shards: out[i] is the shard of name i, from 1. Cells of one case get the same
 * shard, so that one process measures a row and its reference. Cases are sorted by the hashes of their keys and dealt
 * out in turn. So every node computes the same assignment, the numbers of cases differ by at most one, and neighbours
 * in the sweep, which take about as long, are spread. STATUS_USAGE when there are fewer cases than shards. */
struct status selection_deal(const struct selection *, uint32_t shards, uint32_t *out);

/* Removes the cells of other shards from `cells`, which must be the cells of the selection. */
struct status selection_keep_shard(const struct selection *, const struct shard *, struct cells *cells);
